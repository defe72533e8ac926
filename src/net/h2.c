/* h2.c - requests of HTTP/1.1 as streams of nghttp2, and the server's frames as answers (h2.h). */
#include "net/h2.h"

#include "base/alloc.h"
#include "net/exchange.h"
#include "net/nghttp2.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
  STREAM_WINDOW = 1 << 20,
  CONNECTION_WINDOW = 4 << 20,
  FIELDS_MAX = 256,
  HEAD_MAX = 64 << 10,
  NONE = -1
};

struct net_h2 {
  const net_nghttp2 *n;
  nghttp2_session *session;
  net_hello hello;
  net_flow flow;   /* of the request */
  bool in_request; /* its body is not over */
  buf body;        /* that the server did not take yet */
  bool body_ended;
  int32_t stream; /* NONE: no answer is open */
  bool head_only; /* the answer to HEAD */
  bool failed;    /* an answer was cut */
  /* the answer */
  buf *answer; /* while bytes are read */
  buf lines;   /* fields of the head that is being read */
  int status;
  bool has_length, chunked, begun, in_trailer;
};

/* ---- memory that held values of secrets ---- */

enum { HEADER = 16 };

static void *wiped_malloc(size_t len, void *ctx) {
  (void)ctx;
  uint8_t *p = len < SIZE_MAX - HEADER ? mem_alloc(len + HEADER) : NULL;
  if (p == NULL) return NULL;
  memcpy(p, &len, sizeof len);
  return p + HEADER;
}

static size_t wiped_len(const void *p) {
  size_t len;
  memcpy(&len, (const uint8_t *)p - HEADER, sizeof len);
  return len;
}

static void wiped_free(void *p, void *ctx) {
  (void)ctx;
  if (p == NULL) return;
  explicit_bzero(p, wiped_len(p));
  mem_free((uint8_t *)p - HEADER);
}

static void *wiped_calloc(size_t count, size_t len, void *ctx) {
  if (len != 0 && count > SIZE_MAX / 2 / len) return NULL;
  void *p = wiped_malloc(count * len, ctx);
  if (p != NULL) memset(p, 0, count * len);
  return p;
}

static void *wiped_realloc(void *old, size_t len, void *ctx) {
  void *p = wiped_malloc(len, ctx);
  if (p == NULL || old == NULL) return p;
  memcpy(p, old, wiped_len(old) < len ? wiped_len(old) : len);
  wiped_free(old, ctx);
  return p;
}

/* ---- answers ---- */

/* What nghttp2's callbacks answer. */
enum { FINE = 0, FATAL = NGHTTP2_ERR_CALLBACK_FAILURE };

static int h2_fine(bool fine) { return fine ? FINE : FATAL; }

static int h2_on_begin(nghttp2_session *session, const nghttp2_frame *frame, void *ctx) {
  net_h2 *h = ctx;
  (void)session;
  if (frame->hd.stream_id != h->stream) return FINE;
  h->in_trailer = h->begun;
  buf_clear(&h->lines);
  h->status = 0;
  h->has_length = false;
  return FINE;
}

static int h2_on_field(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                       size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags, void *ctx) {
  net_h2 *h = ctx;
  (void)session, (void)flags;
  if (frame->hd.stream_id != h->stream || h->in_trailer) return FINE;
  if (name_len == 7 && memcmp(name, ":status", 7) == 0) {
    for (size_t i = 0; i < value_len && i < 3; i++) h->status = 10 * h->status + (value[i] - '0');
    return FINE;
  }
  if (name_len == 14 && memcmp(name, "content-length", 14) == 0) h->has_length = true;
  if (h->lines.len + name_len + value_len + 4 > HEAD_MAX) return FATAL;
  return h2_fine(
      buf_append(&h->lines, name, name_len) == CAY_OK && buf_append_text(&h->lines, ": ") == CAY_OK &&
      buf_append(&h->lines, value, value_len) == CAY_OK && buf_append_text(&h->lines, "\r\n") == CAY_OK);
}

/* HTTP/1.1 needs a framing where HTTP/2 has the end of a stream. */
static bool h2_write_head(net_h2 *h, bool last) {
  const char *framing = "";
  bool bodiless = h->head_only || h->status == 204 || h->status == 304 || h->status < 200;
  h->chunked = !bodiless && !h->has_length && !last;
  if (h->chunked) framing = "transfer-encoding: chunked\r\n";
  if (!bodiless && !h->has_length && last) framing = "content-length: 0\r\n";
  h->begun = h->status >= 200;
  return buf_appendf(h->answer, "HTTP/1.1 %03d \r\n", h->status) == CAY_OK &&
         buf_append(h->answer, h->lines.data, h->lines.len) == CAY_OK &&
         buf_append_text(h->answer, framing) == CAY_OK && buf_append_text(h->answer, "\r\n") == CAY_OK;
}

static bool h2_end_answer(net_h2 *h) {
  bool fine = !h->chunked || buf_append_text(h->answer, "0\r\n\r\n") == CAY_OK;
  h->chunked = false;
  return fine;
}

static int h2_on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *ctx) {
  net_h2 *h = ctx;
  (void)session;
  if (frame->hd.stream_id != h->stream || h->stream == NONE) return FINE;
  bool last = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
  if (frame->hd.type == NGHTTP2_HEADERS && !h->in_trailer && !h2_write_head(h, last)) return FATAL;
  bool of_answer = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
  return h2_fine(!of_answer || !last || h2_end_answer(h));
}

static int h2_on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *data,
                      size_t len, void *ctx) {
  net_h2 *h = ctx;
  (void)session, (void)flags;
  if (stream != h->stream || len == 0) return FINE;
  if (!h->chunked) return h2_fine(buf_append(h->answer, data, len) == CAY_OK);
  return h2_fine(buf_appendf(h->answer, "%zx\r\n", len) == CAY_OK &&
                 buf_append(h->answer, data, len) == CAY_OK && buf_append_text(h->answer, "\r\n") == CAY_OK);
}

/* The answer is whole, or it was reset: then the exchange sees a connection that ended. */
static int h2_on_close(nghttp2_session *session, int32_t stream, uint32_t error, void *ctx) {
  net_h2 *h = ctx;
  (void)session;
  if (stream != h->stream) return FINE;
  if (error != NGHTTP2_NO_ERROR || h->chunked || !h->begun) h->failed = true;
  h->stream = NONE;
  net_buf_drop(&h->body, h->body.len);
  return FINE;
}

/* ---- requests ---- */

static ssize_t h2_on_body(nghttp2_session *session, int32_t stream, uint8_t *out, size_t cap, uint32_t *flags,
                          nghttp2_data_source *source, void *ctx) {
  net_h2 *h = ctx;
  (void)session, (void)stream, (void)source;
  size_t n = h->body.len < cap ? h->body.len : cap;
  if (n == 0 && !h->body_ended) return NGHTTP2_ERR_DEFERRED;
  if (n != 0) {
    memcpy(out, h->body.data, n);
    net_buf_drop(&h->body, n);
  }
  if (h->body_ended && h->body.len == 0) *flags |= NGHTTP2_DATA_FLAG_EOF;
  return (ssize_t)n;
}

typedef struct h2_fields {
  nghttp2_nv list[FIELDS_MAX + 4];
  size_t count;
} h2_fields;

/* nghttp2 copies both; values of secrets must not be in tables that outlive the request. */
static void h2_add(h2_fields *f, const char *name, size_t name_len, const char *value, size_t value_len) {
  f->list[f->count++] = (nghttp2_nv){ .name = (uint8_t *)(uintptr_t)name,
                                      .namelen = name_len,
                                      .value = (uint8_t *)(uintptr_t)value,
                                      .valuelen = value_len,
                                      .flags = NGHTTP2_NV_FLAG_NO_INDEX };
}

/* Fields of a connection of HTTP/1.1 (RFC 9113, 8.2.2). */
static bool h2_drops(const net_line *l) {
  static const char *const dropped[] = { "host",       "connection",    "transfer-encoding",
                                         "keep-alive", "upgrade",       "proxy-connection",
                                         "te",         "http2-settings" };
  for (size_t i = 0; i < COUNT_OF(dropped); i++)
    if (net_line_is(l, dropped[i])) return true;
  return false;
}

static bool h2_add_fields(h2_fields *f, const char *at, const char *end) {
  net_line l;
  while (net_line_next(&at, end, &l)) {
    if (net_line_is(&l, "host")) h2_add(f, ":authority", 10, l.value, l.value_len);
    if (f->count > FIELDS_MAX) return false;
  }
  return true;
}

static bool h2_submit(net_h2 *h, const buf *request, size_t head_len) {
  OWNED(buf_free) buf names = BUF_INIT(BUF_UNLIMITED);
  h2_fields f = { .count = 0 };
  const char *at = (const char *)request->data, *end = at + head_len;
  net_line l;
  if (!net_line_next(&at, end, &l)) return false;
  const char *target = memchr(l.at, ' ', l.len), *last = memrchr(l.at, ' ', l.len);
  if (target == NULL || target == last || buf_room(&names, head_len) == NULL) return false;
  h2_add(&f, ":method", 7, l.at, (size_t)(target - l.at));
  h2_add(&f, ":scheme", 7, "https", 5);
  h2_add(&f, ":path", 5, target + 1, (size_t)(last - target) - 1);
  if (!h2_add_fields(&f, at, end)) return false;
  while (net_line_next(&at, end, &l)) {
    if (h2_drops(&l)) continue;
    if (l.name == NULL || f.count >= FIELDS_MAX) return false;
    char *small = (char *)names.data + names.len;
    if (buf_append(&names, l.name, l.name_len) != CAY_OK) return false; /* there is room: nothing moves */
    for (size_t i = 0; i < l.name_len; i++)
      if (small[i] >= 'A' && small[i] <= 'Z') small[i] = (char)(small[i] - 'A' + 'a');
    h2_add(&f, small, l.name_len, l.value, l.value_len);
  }
  nghttp2_data_provider body = { .read_callback = h2_on_body };
  bool has_body = h->hello.body == NET_BODY_CHUNKED || h->hello.body_len > 0;
  h->stream = h->n->nghttp2_submit_request(h->session, NULL, f.list, f.count, has_body ? &body : NULL, NULL);
  return h->stream >= 0;
}

static bool h2_begin(net_h2 *h, buf *request, bool *moved) {
  if (!h->n->nghttp2_session_check_request_allowed(h->session)) return false;
  net_hello_read(request->data, request->len, &h->hello);
  if (h->hello.kind == NET_HELLO_MORE) return true;
  if (h->hello.kind != NET_HELLO_HTTP) return false;
  size_t len = h->hello.head_len;
  h->hello.upgrade = false;
  h->head_only = strcmp(h->hello.method, "HEAD") == 0;
  h->begun = h->chunked = h->body_ended = false;
  bool fine = h2_submit(h, request, len);
  net_buf_drop(request, len);
  net_flow_begin(&h->flow, &h->hello);
  h->in_request = true;
  *moved = true;
  return fine;
}

/* The contents of the body without its framing; bytes after the answer are left out. */
static bool h2_body(net_h2 *h, buf *request, bool *moved) {
  const net_hello *head;
  enum net_flow_state was = h->flow.state;
  if (was == NET_FLOW_HEAD) {
    h->in_request = false;
    h->body_ended = true;
    *moved = true;
    return true;
  }
  int64_t n = request->len != 0 ? net_flow_pass(&h->flow, request->data, request->len, &h->hello, &head) : 0;
  if (n < 0) return false;
  *moved = n > 0;
  bool contents = was == NET_FLOW_BODY || was == NET_FLOW_DATA;
  if (n > 0 && contents && h->stream != NONE && buf_append(&h->body, request->data, (size_t)n) != CAY_OK)
    return false;
  if (n > 0) net_buf_drop(request, (size_t)n);
  return true;
}

bool net_h2_put(net_h2 *h, buf *request) {
  for (bool moved = true; moved && (request->len > 0 || h->in_request);) {
    moved = false;
    if (!h->in_request && h->stream != NONE) break;
    if (!(h->in_request ? h2_body(h, request, &moved) : h2_begin(h, request, &moved))) return false;
  }
  if (h->stream != NONE)
    (void)h->n->nghttp2_session_resume_data(h->session, h->stream); /* it may wait for none */
  return true;
}

/* ---- bytes ---- */

bool net_h2_read(net_h2 *h, const void *data, size_t len, buf *answer) {
  h->answer = answer;
  ssize_t n = h->n->nghttp2_session_mem_recv(h->session, data, len);
  h->answer = NULL;
  return n == (ssize_t)len;
}

bool net_h2_write(net_h2 *h, buf *out) {
  const uint8_t *data;
  ssize_t n;
  buf unread = BUF_INIT(HEAD_MAX); /* closing a stream writes nothing */
  h->answer = &unread;
  while ((n = h->n->nghttp2_session_mem_send(h->session, &data)) > 0)
    if (buf_append(out, data, (size_t)n) != CAY_OK) break;
  h->answer = NULL;
  buf_free(&unread);
  return n == 0;
}

size_t net_h2_waiting(const net_h2 *h) { return h->body.len; }

bool net_h2_is_over(const net_h2 *h) {
  bool alive =
      h->n->nghttp2_session_want_read(h->session) != 0 || h->n->nghttp2_session_want_write(h->session) != 0;
  bool open = h->stream != NONE || h->n->nghttp2_session_check_request_allowed(h->session) != 0;
  return h->failed || !alive || !open;
}

/* ---- life ---- */

bool net_h2_is_there(void) { return net_nghttp2_load() != NULL; }

static bool h2_open(net_h2 *h) {
  const net_nghttp2 *n = h->n;
  nghttp2_mem memory = { NULL, wiped_malloc, wiped_free, wiped_calloc, wiped_realloc };
  nghttp2_session_callbacks *c = NULL;
  nghttp2_option *o = NULL;
  if (n->nghttp2_session_callbacks_new(&c) != 0) return false;
  n->nghttp2_session_callbacks_set_on_begin_headers_callback(c, h2_on_begin);
  n->nghttp2_session_callbacks_set_on_header_callback(c, h2_on_field);
  n->nghttp2_session_callbacks_set_on_frame_recv_callback(c, h2_on_frame);
  n->nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, h2_on_data);
  n->nghttp2_session_callbacks_set_on_stream_close_callback(c, h2_on_close);
  bool fine = n->nghttp2_option_new(&o) == 0;
  if (fine) n->nghttp2_option_set_max_send_header_block_length(o, 2 * HEAD_MAX);
  fine = fine && n->nghttp2_session_client_new3(&h->session, c, h, o, &memory) == 0;
  n->nghttp2_session_callbacks_del(c);
  if (o != NULL) n->nghttp2_option_del(o);
  nghttp2_settings_entry settings[] = { { NGHTTP2_SETTINGS_ENABLE_PUSH, 0 },
                                        { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW },
                                        { NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HEAD_MAX } };
  return fine &&
         n->nghttp2_submit_settings(h->session, NGHTTP2_FLAG_NONE, settings, COUNT_OF(settings)) == 0 &&
         n->nghttp2_session_set_local_window_size(h->session, NGHTTP2_FLAG_NONE, 0, CONNECTION_WINDOW) == 0;
}

net_h2 *net_h2_new(void) {
  const net_nghttp2 *n = net_nghttp2_load();
  net_h2 *h = n != NULL ? mem_zalloc(sizeof *h) : NULL;
  if (h == NULL) return NULL;
  *h = (net_h2){ .n = n, .stream = NONE };
  h->body = h->lines = BUF_INIT(BUF_UNLIMITED);
  if (h2_open(h)) return h;
  net_h2_free(h);
  return NULL;
}

void net_h2_free(net_h2 *h) {
  if (h == NULL) return;
  if (h->session != NULL) h->n->nghttp2_session_del(h->session);
  net_wipe(&h->body);
  buf_free(&h->body);
  buf_free(&h->lines);
  mem_free(h);
}
