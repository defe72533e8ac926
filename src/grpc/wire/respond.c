/* respond.c - what of a call is written: header fields once, messages as the client takes them, the status last. */
#include "grpc/wire/inner.h"

#include "base/clock.h"
#include "grpc/wire/header.h"

#include <stdio.h>
#include <string.h>

enum { STATUS_TEXT = 12, MESSAGE_TEXT = 3 * 512 };

static nghttp2_nv field(const char *name, const char *value, size_t len) {
  return (nghttp2_nv){ (uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name), len,
                       NGHTTP2_NV_FLAG_NONE };
}

typedef struct last_fields {
  char status[STATUS_TEXT], message[MESSAGE_TEXT];
} last_fields;

/* call.mu. The status and, if there is one, its text. */
static size_t status_fields(const call *c, last_fields *text, nghttp2_nv out[static 2]) {
  int len = snprintf(text->status, sizeof text->status, "%d", (int)c->code);
  size_t message_len = header_escape(c->text, text->message, sizeof text->message);
  out[0] = field("grpc-status", text->status, (size_t)len);
  out[1] = field("grpc-message", text->message, message_len);
  return message_len != 0 ? 2 : 1;
}

/* call.mu. Copies what fits of the messages; frees those that are done. */
static size_t take_out(call *c, uint8_t *to, size_t cap) {
  size_t len = 0;
  while (len < cap && !list_empty(&c->out)) {
    call_message *m = CONTAINER_OF(c->out.next, call_message, node);
    bool in_head = m->at < FRAME_HEAD;
    const uint8_t *from = in_head ? m->head + m->at : m->bytes.data + (m->at - FRAME_HEAD);
    size_t left = in_head ? FRAME_HEAD - m->at : m->bytes.len + FRAME_HEAD - m->at;
    size_t part = left < cap - len ? left : cap - len;
    if (part != 0) memcpy(to + len, from, part);
    len += part;
    m->at += part;
    c->out_len -= part;
    if (m->at == m->bytes.len + FRAME_HEAD) call_message_free(c, m);
  }
  return len;
}

static int64_t stall_moment(const call *c) {
  return clock_mono_ns() + c->server->options.stall_ms * NS_PER_MS;
}

static ssize_t read_out(nghttp2_session *h2, int32_t id, uint8_t *to, size_t cap, uint32_t *flags,
                        nghttp2_data_source *source, void *ctx) {
  (void)ctx;
  call *c = source->ptr;
  last_fields text;
  nghttp2_nv fields[2];
  (void)pthread_mutex_lock(&c->mu);
  size_t len = take_out(c, to, cap);
  bool end = c->finished && list_empty(&c->out);
  size_t count = end ? status_fields(c, &text, fields) : 0;
  if (c->out_len <= CALL_OUT_HIGH) (void)pthread_cond_broadcast(&c->room);
  bool rest = c->finished && !end;
  (void)pthread_mutex_unlock(&c->mu);
  if (end) {
    *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    return nghttp2_submit_trailer(h2, id, fields, count) == 0 ? (ssize_t)len
                                                              : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  }
  /* Of a finished call the client has stall_ms for each further piece. */
  if (rest && !timers_set(&c->server->timers, &c->timer, stall_moment(c)))
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  return len != 0 ? (ssize_t)len : NGHTTP2_ERR_DEFERRED;
}

static void respond_first(call *c) {
  nghttp2_nv fields[6] = { field(":status", "200", 3), field("content-type", "application/grpc", 16),
                           field("grpc-accept-encoding", "identity,gzip", 13) };
  size_t count = 3;
  if (c->accepts_gzip) fields[count++] = field("grpc-encoding", "gzip", 4);
  last_fields text;
  (void)pthread_mutex_lock(&c->mu);
  bool end = c->finished && list_empty(&c->out);
  if (end) count += status_fields(c, &text, fields + count);
  (void)pthread_mutex_unlock(&c->mu);
  nghttp2_data_provider body = { .source.ptr = c, .read_callback = read_out };
  if (nghttp2_submit_response(c->conn->h2, c->id, fields, count, end ? NULL : &body) != 0)
    (void)nghttp2_submit_rst_stream(c->conn->h2, NGHTTP2_FLAG_NONE, c->id, NGHTTP2_INTERNAL_ERROR);
}

/* The client gets window again for what the handler of a stream has taken. */
static void respond_window(call *c) {
  (void)pthread_mutex_lock(&c->mu);
  size_t consumed = c->consumed;
  c->consumed = 0;
  (void)pthread_mutex_unlock(&c->mu);
  if (consumed != 0 && c->method->stream_in && !c->failed)
    (void)nghttp2_session_consume_stream(c->conn->h2, c->id, consumed);
}

static bool has_response(call *c, bool *finished) {
  (void)pthread_mutex_lock(&c->mu);
  *finished = c->finished;
  bool has = c->finished || !list_empty(&c->out);
  (void)pthread_mutex_unlock(&c->mu);
  return has;
}

void respond(call *c) {
  if (c->conn == NULL) return;
  if (c->method != NULL) respond_window(c);
  conn_touch(c->conn);
  bool finished;
  if (!has_response(c, &finished)) return;
  if (finished && !timers_set(&c->server->timers, &c->timer, stall_moment(c))) c->conn->dead = true;
  if (c->responded)
    (void)nghttp2_session_resume_data(c->conn->h2, c->id);
  else
    respond_first(c);
  c->responded = true;
}

/* ---- requests that are no gRPC ---- */

static const char plain_text[] = "This is a server of gRPC.\n";

static ssize_t read_plain(nghttp2_session *h2, int32_t id, uint8_t *to, size_t cap, uint32_t *flags,
                          nghttp2_data_source *source, void *ctx) {
  (void)h2, (void)id, (void)ctx;
  call *c = source->ptr;
  size_t left = sizeof plain_text - 1 - c->plain_at, len = left < cap ? left : cap;
  memcpy(to, plain_text + c->plain_at, len);
  c->plain_at += len;
  if (len == left) *flags |= NGHTTP2_DATA_FLAG_EOF;
  return (ssize_t)len;
}

void respond_plain(call *c) {
  nghttp2_nv fields[2] = { field(":status", c->plain, strlen(c->plain)),
                           field("content-type", "text/plain", 10) };
  nghttp2_data_provider body = { .source.ptr = c, .read_callback = read_plain };
  if (c->responded) return;
  c->responded = true;
  timers_stop(&c->server->timers, &c->timer);
  if (nghttp2_submit_response(c->conn->h2, c->id, fields, COUNT_OF(fields), &body) != 0)
    (void)nghttp2_submit_rst_stream(c->conn->h2, NGHTTP2_FLAG_NONE, c->id, NGHTTP2_INTERNAL_ERROR);
  conn_touch(c->conn);
}

/* A client that still sends when all is answered gets a reset (RFC 9113, 8.1). */
void respond_sent(conn *c, const nghttp2_frame *frame) {
  bool ends = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
  if ((frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) || !ends) return;
  if (nghttp2_session_get_stream_remote_close(c->h2, frame->hd.stream_id) == 0)
    (void)nghttp2_submit_rst_stream(c->h2, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_NO_ERROR);
}
