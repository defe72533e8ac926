/* answer.c - answers of servers on their way to the guest: framing (RFC 9112), and scrubbing. */
#include "net/exchange.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { HEAD_MAX = 64 << 10, LINE_MAX_LEN = 4096 };

/* The request, and the connection with it, end here. */
bool net_exchange_refuse(net_exchange *x, int status, const char *words, const char *why) {
  char body[400];
  int len = snprintf(body, sizeof body, "The network of this sandbox refuses the request to %.200s: %.150s\n",
                     x->host, why);
  x->closed = true;
  x->in_body = x->taking = false;
  x->state = NET_ANSWER_NONE;
  return buf_appendf(
             &x->answer_out,
             "HTTP/1.1 %d %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\nConnection: close\r\n"
             "X-Cay-Policy: denied\r\n\r\n%s",
             status, words, len, body) == CAY_OK;
}

/* A fault in the middle of an answer leaves it cut. */
static bool answer_fail(net_exchange *x, const char *why) {
  if (x->state == NET_ANSWER_HEAD) return net_exchange_refuse(x, 502, "Bad Gateway", why);
  x->closed = true;
  return true;
}

/* ---- the head ---- */

typedef struct answer_head {
  int status;
  bool length, chunked, encoded, odd;
  uint64_t len;
} answer_head;

static bool answer_number(const net_line *l, uint64_t *out) {
  uint64_t n = 0;
  if (l->value_len == 0 || l->value_len > 18) return false;
  for (size_t i = 0; i < l->value_len; i++) {
    if (l->value[i] < '0' || l->value[i] > '9') return false;
    n = 10 * n + (uint64_t)(l->value[i] - '0');
  }
  *out = n;
  return true;
}

static bool answer_value_is(const net_line *l, const char *value) {
  return l->value_len == strlen(value) && strncasecmp(l->value, value, l->value_len) == 0;
}

static void answer_field(const net_line *l, answer_head *h) {
  uint64_t n = 0;
  if (l->name == NULL || *l->at == ' ' || *l->at == '\t') h->odd = true;
  if (net_line_is(l, "content-length")) {
    if (!answer_number(l, &n) || (h->length && n != h->len)) h->odd = true;
    h->length = true;
    h->len = n;
  } else if (net_line_is(l, "transfer-encoding")) {
    h->odd = h->odd || h->chunked || !answer_value_is(l, "chunked");
    h->chunked = true;
  } else if (net_line_is(l, "content-encoding")) {
    h->encoded = h->encoded || !answer_value_is(l, "identity");
  }
}

static bool answer_status(const net_line *l, answer_head *h) {
  if (l->len < 12 || strncmp(l->at, "HTTP/1.", 7) != 0 || l->at[8] != ' ') return false;
  for (int i = 9; i < 12; i++) {
    if (l->at[i] < '0' || l->at[i] > '9') return false;
    h->status = 10 * h->status + (l->at[i] - '0');
  }
  return h->status >= 100;
}

static int64_t answer_now_s(void) { return clock_real_ns() / NS_PER_SEC; }

/* What the guest gets, for the tape or the cache. An answer that ends with its connection may have been cut: no cache keeps it. */
static bool answer_take_head(net_exchange *x, const answer_head *h, const buf *clean) {
  const char *at = buf_text(clean), *end = at + clean->len - 2;
  net_line l;
  if (!x->taking || h->status < 200) return true;
  if (!net_line_next(&at, end, &l)) return false;
  x->take.status = h->status;
  size_t skip = l.len < 13 ? l.len : 13;
  bool fine = buf_append(&x->take.reason, l.at + skip, l.len - skip) == CAY_OK &&
              buf_append(&x->take.answer_fields, at, (size_t)(end - at)) == CAY_OK;
  if (x->cache == NULL) return fine;
  net_cache_drop(x->cache, &x->take);
  x->taking = fine && (h->length || h->chunked) && net_cache_wants(&x->take, x->credentials);
  return fine;
}

/* The server says that the cache's answer holds. */
static bool answer_from_cache(net_exchange *x, const buf *clean) {
  OWNED(buf_free) buf fields = BUF_INIT(BUF_UNLIMITED);
  const char *at = buf_text(clean), *end = at + clean->len - 2;
  net_line l;
  bool fine = net_line_next(&at, end, &l) && buf_append(&fields, at, (size_t)(end - at)) == CAY_OK;
  x->revalidates = x->taking = false;
  if (fine && net_cache_freshen(x->cache, &x->take, &fields, answer_now_s())) return net_exchange_replay(x);
  return net_exchange_refuse(x, 502, "Bad Gateway", "the cache has lost the answer that still holds");
}

/* The scrubbed head; its framing is written anew. */
static bool answer_clean_head(const net_exchange *x, size_t len, const answer_head *h, buf *clean) {
  OWNED(buf_free) buf plain = BUF_INIT(BUF_UNLIMITED), none = BUF_INIT(BUF_UNLIMITED);
  const char *at = (const char *)x->answer_in.data, *end = at + len;
  net_line l;
  bool fine = true;
  while (fine && net_line_next(&at, end, &l)) {
    bool framing = net_line_is(&l, "transfer-encoding") || net_line_is(&l, "trailer") ||
                   net_line_is(&l, "upgrade") || net_line_is(&l, "alt-svc") ||
                   (h->chunked && net_line_is(&l, "content-length"));
    if (!framing)
      fine = buf_append(&plain, l.at, l.len) == CAY_OK && buf_append_text(&plain, "\r\n") == CAY_OK;
  }
  if (fine && h->chunked) fine = buf_append_text(&plain, "Transfer-Encoding: chunked\r\n") == CAY_OK;
  fine = fine && buf_append_text(&plain, "\r\n") == CAY_OK &&
         net_scrub(x->secrets, &none, plain.data, plain.len, true, clean) == CAY_OK;
  net_wipe(&plain);
  net_wipe(&none);
  return fine;
}

static bool answer_write_head(net_exchange *x, const answer_head *h, const buf *clean) {
  return answer_take_head(x, h, clean) && buf_append(&x->answer_out, clean->data, clean->len) == CAY_OK;
}

static enum net_answer_state answer_body_of(net_exchange *x, const answer_head *h) {
  x->chunked = false;
  x->left = h->len;
  if (x->head_only || h->status == 204 || h->status == 304) return NET_ANSWER_NONE;
  x->chunked = h->chunked;
  if (h->chunked) return NET_ANSWER_SIZE;
  if (!h->length) return NET_ANSWER_TO_END;
  return h->len > 0 ? NET_ANSWER_LENGTH : NET_ANSWER_NONE;
}

static bool answer_on_head(net_exchange *x, bool ended, bool *moved) {
  const uint8_t *end =
      x->answer_in.len == 0 ? NULL : memmem(x->answer_in.data, x->answer_in.len, "\r\n\r\n", 4);
  if (end == NULL) {
    if (x->answer_in.len > HEAD_MAX) return answer_fail(x, "the head of the answer is too long");
    return !ended || answer_fail(x, "the server ended without an answer");
  }
  size_t len = (size_t)(end - x->answer_in.data) + 4;
  const char *at = (const char *)x->answer_in.data, *stop = at + len;
  answer_head h = { 0 };
  net_line l;
  bool fine = len <= HEAD_MAX && memchr(at, '\0', len) == NULL && net_line_next(&at, stop, &l) &&
              answer_status(&l, &h);
  while (fine && net_line_next(&at, stop, &l)) answer_field(&l, &h);
  if (!fine || h.odd || h.status == 101 || (h.length && h.chunked))
    return answer_fail(x, "the answer is no HTTP/1.1 that has one meaning");
  if (h.encoded && net_secrets_count(x->secrets) > 0)
    return answer_fail(x, "the answer is compressed, so that it cannot be searched for secrets");
  OWNED(buf_free) buf clean = BUF_INIT(BUF_UNLIMITED);
  if (!answer_clean_head(x, len, &h, &clean)) return false;
  net_buf_drop(&x->answer_in, len);
  *moved = true;
  if (h.status == 304 && x->revalidates) return answer_from_cache(x, &clean);
  if (!answer_write_head(x, &h, &clean)) return false;
  if (h.status >= 200) x->state = answer_body_of(x, &h);
  return true;
}

/* ---- the body ---- */

/* Scrubbed bytes of the body; `last`: it ends with them. */
static bool answer_put(net_exchange *x, const void *data, size_t len, bool last) {
  OWNED(buf_free) buf clean = BUF_INIT(BUF_UNLIMITED);
  if (net_scrub(x->secrets, &x->held, data, len, last, &clean) != CAY_OK) return false;
  if (x->cache != NULL && x->take.answer_body.len + clean.len > NET_CACHE_ANSWER_MAX) x->taking = false;
  if (x->taking && buf_append(&x->take.answer_body, clean.data, clean.len) != CAY_OK) return false;
  if (!x->chunked) return buf_append(&x->answer_out, clean.data, clean.len) == CAY_OK;
  if (clean.len == 0) return true;
  return buf_appendf(&x->answer_out, "%zx\r\n", clean.len) == CAY_OK &&
         buf_append(&x->answer_out, clean.data, clean.len) == CAY_OK &&
         buf_append_text(&x->answer_out, "\r\n") == CAY_OK;
}

static bool answer_data(net_exchange *x, enum net_answer_state after, bool *moved) {
  size_t n = x->answer_in.len < x->left ? x->answer_in.len : (size_t)x->left;
  if (n == 0) return true;
  x->left -= n;
  bool last = x->left == 0 && !x->chunked;
  if (!answer_put(x, x->answer_in.data, n, last)) return false;
  net_buf_drop(&x->answer_in, n);
  if (x->left == 0) x->state = after;
  *moved = true;
  return true;
}

/* The length of a line with its end; 0: more bytes; -1: too long. */
static int64_t answer_line(const net_exchange *x) {
  const uint8_t *data = x->answer_in.data;
  const uint8_t *lf = x->answer_in.len != 0 ? memchr(data, '\n', x->answer_in.len) : NULL;
  if (lf == NULL) return x->answer_in.len > LINE_MAX_LEN ? -1 : 0;
  int64_t n = lf - data + 1;
  return n < 2 || lf[-1] != '\r' || n > LINE_MAX_LEN ? -1 : n;
}

static bool answer_chunk_size(const uint8_t *at, size_t len, uint64_t *out) {
  size_t i = 0;
  *out = 0;
  for (; i < len && i < 16; i++) {
    int d = at[i] >= '0' && at[i] <= '9'   ? at[i] - '0'
            : at[i] >= 'a' && at[i] <= 'f' ? at[i] - 'a' + 10
            : at[i] >= 'A' && at[i] <= 'F' ? at[i] - 'A' + 10
                                           : -1;
    if (d < 0) break;
    *out = *out << 4 | (uint64_t)d;
  }
  return i > 0 && i < 16 && (at[i] == '\r' || at[i] == ';' || at[i] == ' ');
}

/* A line between chunks: a size, the end of a chunk, a trailer, which is dropped. */
static bool answer_frame(net_exchange *x, bool *moved) {
  int64_t n = answer_line(x);
  if (n == 0) return true;
  if (n < 0) return answer_fail(x, "");
  *moved = true;
  if (x->state == NET_ANSWER_SIZE) {
    if (!answer_chunk_size(x->answer_in.data, (size_t)n, &x->left)) return answer_fail(x, "");
    x->state = x->left != 0 ? NET_ANSWER_CHUNK : NET_ANSWER_TRAILER;
  } else if (x->state == NET_ANSWER_CHUNK_END) {
    if (n != 2) return answer_fail(x, "");
    x->state = NET_ANSWER_SIZE;
  } else if (n == 2) {
    x->state = NET_ANSWER_NONE;
    if (!answer_put(x, "", 0, true) || buf_append_text(&x->answer_out, "0\r\n\r\n") != CAY_OK) return false;
  }
  net_buf_drop(&x->answer_in, (size_t)n);
  return true;
}

static bool answer_to_end(net_exchange *x, bool ended, bool *moved) {
  size_t n = x->answer_in.len;
  if (n == 0 && !ended) return true;
  if (!answer_put(x, x->answer_in.data, n, ended)) return false;
  if (n != 0) net_buf_drop(&x->answer_in, n);
  *moved = n != 0;
  if (ended) {
    x->state = NET_ANSWER_NONE;
    x->closed = true;
  }
  return true;
}

static bool answer_step(net_exchange *x, bool ended, bool *moved) {
  switch (x->state) {
  case NET_ANSWER_HEAD: return answer_on_head(x, ended, moved);
  case NET_ANSWER_LENGTH: return answer_data(x, NET_ANSWER_NONE, moved);
  case NET_ANSWER_CHUNK: return answer_data(x, NET_ANSWER_CHUNK_END, moved);
  case NET_ANSWER_SIZE:
  case NET_ANSWER_CHUNK_END:
  case NET_ANSWER_TRAILER: return answer_frame(x, moved);
  case NET_ANSWER_TO_END: return answer_to_end(x, ended, moved);
  case NET_ANSWER_NONE: break;
  }
  /* Bytes that no request asked for: the server is not to be trusted with the next one. */
  if (x->answer_in.len != 0) x->closed = true;
  return true;
}

/* ---- the tape ---- */

static bool answer_write_body(net_exchange *x, bool chunked) {
  const buf *body = &x->take.answer_body;
  if (!chunked || body->len == 0)
    return buf_append(&x->answer_out, body->data, body->len) == CAY_OK &&
           (!chunked || buf_append_text(&x->answer_out, "0\r\n\r\n") == CAY_OK);
  return buf_appendf(&x->answer_out, "%zx\r\n", body->len) == CAY_OK &&
         buf_append(&x->answer_out, body->data, body->len) == CAY_OK &&
         buf_append_text(&x->answer_out, "\r\n0\r\n\r\n") == CAY_OK;
}

/* The length is that of the body as it is now: names of secrets in it have become placeholders. */
bool net_exchange_replay(net_exchange *x) {
  const net_take *t = &x->take;
  bool bodiless = x->head_only || t->status == 204 || t->status == 304, chunked = false, length = false,
       fine = true;
  const char *at = buf_text(&t->answer_fields), *end = at + t->answer_fields.len;
  net_line l;
  fine = buf_appendf(&x->answer_out, "HTTP/1.1 %d %s\r\n", t->status, buf_text(&t->reason)) == CAY_OK;
  while (fine && net_line_next(&at, end, &l)) {
    chunked = chunked || net_line_is(&l, "transfer-encoding");
    bool is_length = net_line_is(&l, "content-length");
    length = length || is_length;
    fine = is_length && !bodiless
               ? buf_appendf(&x->answer_out, "Content-Length: %zu\r\n", t->answer_body.len) == CAY_OK
               : buf_append(&x->answer_out, l.at, (size_t)(at - l.at)) == CAY_OK;
  }
  fine = fine && buf_append_text(&x->answer_out, "\r\n") == CAY_OK &&
         (bodiless || answer_write_body(x, chunked));
  x->state = NET_ANSWER_NONE;
  x->taking = false;
  x->closed = !bodiless && !chunked && !length;
  return fine;
}

/* The answer is whole. */
static bool answer_over(net_exchange *x) {
  bool fine = true;
  if (x->taking && x->cache != NULL)
    net_cache_put(x->cache, &x->take, answer_now_s());
  else if (x->taking)
    fine = net_tape_put(x->tape, x->secrets, &x->take);
  x->taking = false;
  return fine;
}

bool net_exchange_answer(net_exchange *x, bool ended) {
  for (bool moved = true; moved && !x->closed;) {
    enum net_answer_state was = x->state;
    moved = false;
    if (!answer_step(x, ended, &moved)) return false;
    if (was != NET_ANSWER_NONE && x->state == NET_ANSWER_NONE && !answer_over(x)) return false;
  }
  if (ended && !x->closed && x->answer_in.len == 0) x->closed = true;
  return true;
}
