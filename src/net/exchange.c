/* exchange.c - requests on their way to the server: head checked, secrets put in, body sent (exchange.h). */
#include "net/exchange.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

void net_exchange_init(net_exchange *x, const net_secrets *secrets, const char *host, uint16_t port) {
  *x = (net_exchange){ .secrets = secrets, .port = port };
  (void)snprintf(x->host, sizeof x->host, "%s", host);
  x->request_in = x->request_out = x->answer_in = x->answer_out = BUF_INIT(BUF_UNLIMITED);
  x->head = x->body = x->held = x->conditions = BUF_INIT(BUF_UNLIMITED);
  net_take_init(&x->take);
}

void net_exchange_free(net_exchange *x) {
  buf *all[] = { &x->request_in, &x->request_out, &x->answer_in, &x->answer_out,
                 &x->head,       &x->body,        &x->held,      &x->conditions };
  for (size_t i = 0; i < COUNT_OF(all); i++) {
    net_wipe(all[i]);
    buf_free(all[i]);
  }
  net_take_free(&x->take);
}

/* Memory is kept only while there is something in it: an idle connection has none. */
void net_buf_drop(buf *b, size_t len) {
  size_t rest = b->len - len;
  if (b->data == NULL) return;
  if (rest != 0) memmove(b->data, b->data + len, rest);
  explicit_bzero(b->data + rest, b->len - rest);
  b->len = rest;
  if (rest == 0) buf_free(b);
}

/* ---- lines ---- */

bool net_line_next(const char **at, const char *end, net_line *out) {
  const char *lf = memchr(*at, '\n', (size_t)(end - *at));
  if (lf == NULL || lf - *at < 2) return false;
  *out = (net_line){ .at = *at, .len = (size_t)(lf - *at) - (lf[-1] == '\r' ? 1 : 0) };
  *at = lf + 1;
  const char *colon = memchr(out->at, ':', out->len);
  if (colon == NULL) return true;
  out->name = out->at;
  out->name_len = (size_t)(colon - out->at);
  out->value = colon + 1;
  out->value_len = out->len - out->name_len - 1;
  while (out->value_len > 0 && (*out->value == ' ' || *out->value == '\t')) out->value++, out->value_len--;
  while (out->value_len > 0 && strchr(" \t", out->value[out->value_len - 1]) != NULL) out->value_len--;
  return true;
}

bool net_line_is(const net_line *l, const char *name) {
  return l->name != NULL && l->name_len == strlen(name) && strncasecmp(l->name, name, l->name_len) == 0;
}

/* ---- the head of a request ---- */

/* What would make the answer one that cannot be scrubbed, or frame the request anew. */
static bool request_drops(const net_exchange *x, const net_line *l) {
  static const char *const dropped[] = { "accept-encoding", "range",          "if-range",
                                         "expect",          "upgrade",        "te",
                                         "trailer",         "http2-settings", "keep-alive" };
  bool all = net_secrets_count(x->secrets) > 0;
  for (size_t i = 0; i < COUNT_OF(dropped); i++)
    if ((all || i == 0 || i > 2) && net_line_is(l, dropped[i]))
      return true; /* pieces hide nothing where there are no secrets */
  return x->collecting && (net_line_is(l, "content-length") || net_line_is(l, "transfer-encoding"));
}

static cay_status request_line(net_secret_use *use, const net_line *l, buf *out) {
  const char *query = memchr(l->at, '?', l->len), *last = memrchr(l->at, ' ', l->len);
  if (query == NULL || last < query) query = last;
  S_TRY(net_secret_substitute(use, 0, NET_FORM_PLAIN, l->at, (size_t)(query - l->at), out));
  S_TRY(net_secret_substitute(use, NET_SECRET_IN_QUERY, NET_FORM_URL, query, (size_t)(last - query), out));
  S_TRY(buf_append(out, last, l->len - (size_t)(last - l->at)));
  return buf_append_text(out, "\r\n");
}

static cay_status request_field(net_secret_use *use, const net_line *l, buf *out) {
  S_TRY(net_secret_substitute(use, 0, NET_FORM_PLAIN, l->name, l->name_len, out));
  S_TRY(buf_append_text(out, ": "));
  S_TRY(net_secret_substitute_field(use, l->value, l->value_len, out));
  return buf_append_text(out, "\r\n");
}

/* "Connection: Upgrade" names fields that are gone. */
static cay_status request_connection(const net_line *l, buf *out) {
  bool close = memmem(l->value, l->value_len, "close", 5) != NULL ||
               memmem(l->value, l->value_len, "Close", 5) != NULL;
  return close ? buf_append_text(out, "Connection: close\r\n") : CAY_OK;
}

static cay_status request_head(net_exchange *x, net_secret_use *use, size_t len, buf *out) {
  const char *at = (const char *)x->request_in.data, *end = at + len;
  net_line l;
  /* Room for the whole, with the body that may be in the window: growing would leave a copy of the value behind. */
  size_t more = x->conditions.len + (x->collecting ? 100 : 2 * NET_EXCHANGE_WINDOW);
  if (buf_room(out, net_secret_bound(x->secrets, at, len) + more) == NULL) return CAY_NO_MEMORY;
  if (!net_line_next(&at, end, &l)) return CAY_INVALID;
  S_TRY(request_line(use, &l, out));
  while (net_line_next(&at, end, &l)) {
    if (net_line_is(&l, "connection"))
      S_TRY(request_connection(&l, out));
    else if (!request_drops(x, &l))
      S_TRY(request_field(use, &l, out));
  }
  S_TRY(buf_append(out, x->conditions.data, x->conditions.len));
  return buf_append_text(out, "Accept-Encoding: identity\r\n");
}

static void request_tell(const net_exchange *x, uint64_t bits, bool put) {
  for (size_t i = 0; i < net_secrets_count(x->secrets); i++)
    if (bits >> i & 1) x->ops->tell(x->ctx, net_secret_name(x->secrets, i), put);
}

static net_secret_use request_use(const net_exchange *x) {
  return (net_secret_use){ .secrets = x->secrets, .host = x->plain ? "" : x->host, .port = x->port };
}

/* ---- what a request is ---- */

static bool request_has_body(const net_hello *h) { return h->body == NET_BODY_CHUNKED || h->body_len > 0; }

static bool request_collects(const net_exchange *x, const net_hello *h) {
  if (net_tape_replays(x->tape)) return true;
  for (size_t i = 0; !x->plain && i < net_secrets_count(x->secrets); i++)
    if (net_secret_fits(x->secrets, i, x->host, x->port, NET_SECRET_IN_BODY)) return request_has_body(h);
  return false;
}

/* How the body is written, and whether its sender waits to be asked for it. */
static void request_look(net_exchange *x, size_t len, bool *expects) {
  const char *at = (const char *)x->request_in.data, *end = at + len;
  net_line l;
  x->form = NET_FORM_PLAIN;
  *expects = false;
  while (net_line_next(&at, end, &l)) {
    if (net_line_is(&l, "expect")) *expects = true;
    if (!net_line_is(&l, "content-type")) continue;
    if (memmem(l.value, l.value_len, "json", 4) != NULL) x->form = NET_FORM_JSON;
    if (memmem(l.value, l.value_len, "urlencoded", 10) != NULL) x->form = NET_FORM_URL;
  }
}

static const char *request_fault(const net_exchange *x, const net_hello *h) {
  const char *target = memchr(x->request_in.data, ' ', x->request_in.len);
  if (h->kind != NET_HELLO_HTTP) return "it is no HTTP/1.1 request that has one meaning";
  if (!h->has_name || strcmp(h->name, x->host) != 0 || (h->name_port != 0 && h->name_port != x->port))
    return "its Host is not the server of this connection";
  if (target == NULL || (target[1] != '/' && target[1] != '*')) return "its target is no path";
  return NULL;
}

/* The request as the guest wrote it. */
static bool request_take_head(net_exchange *x, const net_hello *h) {
  net_take *t = &x->take;
  const char *at = (const char *)x->request_in.data, *end = at + h->head_len - 2;
  net_line l;
  net_take_free(t);
  x->taking = x->tape != NULL || x->cache != NULL;
  if (!x->taking) return true;
  if (!net_line_next(&at, end, &l)) return false;
  const char *target = memchr(l.at, ' ', l.len), *last = memrchr(l.at, ' ', l.len);
  return buf_append_text(&t->method, h->method) == CAY_OK &&
         buf_appendf(&t->url, "%s://%s:%u", x->plain ? "http" : "https", x->host, x->port) == CAY_OK &&
         buf_append(&t->url, target + 1, (size_t)(last - target) - 1) == CAY_OK &&
         buf_append(&t->request_fields, at, (size_t)(end - at)) == CAY_OK;
}

/* The answer that the cache has, where it is fresh. *given: it was written. */
static bool request_from_cache(net_exchange *x, const net_hello *h, bool *given) {
  *given = x->revalidates = false;
  net_buf_drop(&x->conditions, x->conditions.len);
  if (x->cache == NULL || request_has_body(h)) return true;
  enum net_cache_found found =
      net_cache_find(x->cache, &x->take, x->credentials, clock_real_ns() / NS_PER_SEC, &x->conditions);
  x->revalidates = found == NET_CACHE_STALE;
  *given = found == NET_CACHE_FRESH;
  return !*given || net_exchange_replay(x);
}

static cay_status request_write_head(net_exchange *x, net_secret_use *use, const net_hello *h) {
  if (net_tape_replays(x->tape)) return CAY_OK; /* it goes nowhere */
  buf *out = x->collecting ? &x->head : &x->request_out;
  S_TRY(request_head(x, use, h->head_len, out));
  return x->collecting ? CAY_OK : buf_append_text(out, "\r\n");
}

static bool request_begin(net_exchange *x) {
  net_hello *h = x->scratch;
  bool expects = false;
  net_hello_read(x->request_in.data, x->request_in.len, h);
  if (h->kind == NET_HELLO_MORE && x->request_in.len < NET_HELLO_MAX) return true;
  const char *why = request_fault(x, h);
  if (why != NULL) return net_exchange_refuse(x, 400, "Bad Request", why);
  if (!x->ops->check(x->ctx, h, &why)) return net_exchange_refuse(x, 403, "Forbidden", why);
  if (x->broken != NULL) return net_exchange_refuse(x, 502, "Bad Gateway", x->broken);
  request_look(x, h->head_len, &expects);
  h->upgrade = false; /* it does not go on */
  x->head_only = strcmp(h->method, "HEAD") == 0;
  x->collecting = request_collects(x, h);
  net_secret_use use = request_use(x);
  bool given;
  x->credentials = net_secrets_are_in(x->secrets, x->request_in.data, h->head_len);
  if (!request_take_head(x, h) || !request_from_cache(x, h, &given)) return false;
  if (given) {
    net_buf_drop(&x->request_in, h->head_len);
    return true;
  }
  if (request_write_head(x, &use, h) != CAY_OK) return false;
  if (expects && buf_append_text(&x->answer_out, "HTTP/1.1 100 Continue\r\n\r\n") != CAY_OK) return false;
  request_tell(x, use.put, true);
  request_tell(x, use.left, false);
  size_t head_len = h->head_len;
  net_flow_begin(&x->flow, h);
  net_buf_drop(&x->request_in, head_len);
  x->sighting.len = 0;
  x->in_body = true;
  x->state = NET_ANSWER_HEAD;
  return true;
}

/* ---- the body of a request ---- */

static bool request_finish(net_exchange *x) {
  x->in_body = false;
  if (!x->collecting) return true;
  if (net_tape_replays(x->tape)) {
    net_buf_drop(&x->body, x->body.len);
    if (net_tape_find(x->tape, x->secrets, &x->take)) return net_exchange_replay(x);
    return net_exchange_refuse(x, 502, "Bad Gateway",
                               "this request is not on the tape, or was answered from it before");
  }
  OWNED(buf_free) buf body = BUF_INIT(BUF_UNLIMITED);
  net_secret_use use = request_use(x);
  bool fine =
      buf_room(&body, net_secret_bound(x->secrets, x->body.data, x->body.len)) != NULL &&
      net_secret_substitute(&use, NET_SECRET_IN_BODY, x->form, x->body.data, x->body.len, &body) == CAY_OK &&
      buf_appendf(&x->head, "Content-Length: %zu\r\n\r\n", body.len) == CAY_OK &&
      buf_room(&x->request_out, x->head.len + body.len) != NULL &&
      buf_append(&x->request_out, x->head.data, x->head.len) == CAY_OK &&
      buf_append(&x->request_out, body.data, body.len) == CAY_OK;
  net_wipe(&body);
  net_buf_drop(&x->head, x->head.len);
  net_buf_drop(&x->body, x->body.len);
  request_tell(x, use.put, true);
  request_tell(x, use.left, false);
  return fine;
}

/* Bytes of the flow: framing and contents. */
static bool request_take(net_exchange *x, enum net_flow_state was, size_t n) {
  bool contents = was == NET_FLOW_BODY || was == NET_FLOW_DATA;
  const uint8_t *data = x->request_in.data;
  if (contents && x->taking && x->tape != NULL && buf_append(&x->take.request_body, data, n) != CAY_OK)
    return false;
  if (contents && x->collecting && x->body.len + n > NET_EXCHANGE_BODY_MAX)
    return net_exchange_refuse(x, 413, "Content Too Large",
                               "a body in which secrets are looked for has at most 8 MiB");
  if (contents && !x->collecting) request_tell(x, net_secrets_see(x->secrets, &x->sighting, data, n), false);
  buf *to = x->collecting ? &x->body : &x->request_out;
  if ((contents || !x->collecting) && buf_append(to, data, n) != CAY_OK) return false;
  net_buf_drop(&x->request_in, n);
  return true;
}

/* False: no memory. *moved: whether something was done. */
static bool request_body(net_exchange *x, bool *moved) {
  const net_hello *head;
  enum net_flow_state was = x->flow.state;
  *moved = true;
  if (was == NET_FLOW_HEAD) return request_finish(x);
  int64_t n = x->request_in.len != 0
                  ? net_flow_pass(&x->flow, x->request_in.data, x->request_in.len, x->scratch, &head)
                  : 0;
  if (n < 0) return net_exchange_refuse(x, 400, "Bad Request", "its chunks are not as RFC 9112 has them");
  *moved = n > 0;
  return n == 0 || request_take(x, was, (size_t)n);
}

bool net_exchange_is_idle(const net_exchange *x) { return x->state == NET_ANSWER_NONE && !x->in_body; }

bool net_exchange_request(net_exchange *x) {
  for (bool moved = true; moved && !x->closed;) {
    size_t before = x->request_in.len;
    if (x->in_body) {
      if (!request_body(x, &moved)) return false;
    } else {
      if (x->state != NET_ANSWER_NONE || before == 0) return true; /* one at a time */
      if (!request_begin(x)) return false;
      moved = x->request_in.len != before;
    }
  }
  return true;
}
