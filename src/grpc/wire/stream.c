/* stream.c - what nghttp2 reports, handed to calls. */
#include "grpc/wire/inner.h"

#include "base/alloc.h"
#include "base/error.h"

#include <string.h>

/* Streams that a client may reset at once, and in a second from then on. */
enum { RESET_BURST = 1000, RESET_RATE = 100 };

static call *stream_call(nghttp2_session *h2, int32_t id) {
  return nghttp2_session_get_stream_user_data(h2, id);
}

static int on_begin(nghttp2_session *h2, const nghttp2_frame *frame, void *ctx) {
  if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
  call *c = call_new(ctx, frame->hd.stream_id);
  if (c == NULL) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  return nghttp2_session_set_stream_user_data(h2, frame->hd.stream_id, c);
}

static int on_header(nghttp2_session *h2, const nghttp2_frame *frame, const uint8_t *name, size_t name_len,
                     const uint8_t *value, size_t value_len, uint8_t flags, void *ctx) {
  (void)flags, (void)ctx;
  call *c = stream_call(h2, frame->hd.stream_id);
  if (c == NULL || c->begun) return 0; /* trailers of a client mean nothing */
  return request_header(c, (cay_slice){ name, name_len }, (cay_slice){ value, value_len });
}

static int on_data(nghttp2_session *h2, uint8_t flags, int32_t id, const uint8_t *data, size_t len,
                   void *ctx) {
  (void)flags, (void)ctx;
  call *c = stream_call(h2, id);
  if (c == NULL) return nghttp2_session_consume_connection(h2, len);
  request_data(c, (cay_slice){ data, len });
  return 0;
}

/* Frames that cost a client next to nothing. */
static bool is_cheap(const nghttp2_frame *frame) {
  switch (frame->hd.type) {
  case NGHTTP2_DATA: return frame->hd.length == 0 && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0;
  case NGHTTP2_PING:
  case NGHTTP2_SETTINGS: return (frame->hd.flags & NGHTTP2_FLAG_ACK) == 0;
  case NGHTTP2_PRIORITY:
  case NGHTTP2_RST_STREAM: return true;
  default: return false;
  }
}

/* Clients measure the connection by a PING after each piece that they receive (grpc-go and grpcio do): one PING
 * between two frames that were sent to them is part of the protocol, and costs no more than these frames. */
static bool is_measuring(conn *c, const nghttp2_frame *frame) {
  bool free = c->ping_free && frame->hd.type == NGHTTP2_PING;
  if (free) c->ping_free = false;
  return free;
}

static void on_ack(conn *c, const nghttp2_frame *frame) {
  bool of_drain = frame->ping.opaque_data[0] == 'd';
  c->ping_ns = 0;
  if (of_drain && c->draining && !c->settled) {
    c->settled = true;
    (void)nghttp2_submit_goaway(c->h2, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(c->h2),
                                NGHTTP2_NO_ERROR, NULL, 0);
  }
}

static int on_frame(nghttp2_session *h2, const nghttp2_frame *frame, void *ctx) {
  conn *c = ctx;
  c->greeted = true; /* SETTINGS is the first frame, or nghttp2 ends the session */
  if (is_cheap(frame) && !is_measuring(c, frame) && !conn_pay(c))
    return nghttp2_session_terminate_session(h2, NGHTTP2_ENHANCE_YOUR_CALM);
  if (frame->hd.type == NGHTTP2_PING && (frame->hd.flags & NGHTTP2_FLAG_ACK) != 0) on_ack(c, frame);
  if (frame->hd.type != NGHTTP2_DATA && frame->hd.type != NGHTTP2_HEADERS) return 0;
  call *of = stream_call(h2, frame->hd.stream_id);
  if (of == NULL) return 0;
  if (frame->hd.type == NGHTTP2_HEADERS) request_begin(of);
  if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) request_end(of);
  return 0;
}

static int on_sent(nghttp2_session *h2, const nghttp2_frame *frame, void *ctx) {
  (void)h2;
  conn *c = ctx;
  if (frame->hd.type == NGHTTP2_GOAWAY) conn_noticed(c);
  if (frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS) c->ping_free = true;
  respond_sent(c, frame);
  return 0;
}

static int on_close(nghttp2_session *h2, int32_t id, uint32_t code, void *ctx) {
  (void)code;
  conn *c = ctx;
  call *of = stream_call(h2, id);
  if (of == NULL) return 0;
  (void)nghttp2_session_set_stream_user_data(h2, id, NULL);
  call_drop(of);
  conn_touch(c);
  return 0;
}

/* ---- memory of nghttp2 is ours, so that tests can take it away ---- */

static void *h2_alloc(size_t len, void *ctx) { return (void)ctx, mem_alloc(len); }
static void *h2_zalloc(size_t count, size_t len, void *ctx) {
  return (void)ctx, mem_zalloc_array(count, len);
}
static void *h2_realloc(void *old, size_t len, void *ctx) { return (void)ctx, mem_realloc(old, len); }
static void h2_release(void *at, void *ctx) { (void)ctx, mem_free(at); }

cay_status stream_setup(server *s, cay_error *err) {
  if (nghttp2_session_callbacks_new(&s->callbacks) != 0 || nghttp2_option_new(&s->h2_option) != 0)
    return err_no_memory(err);
  nghttp2_session_callbacks_set_on_begin_headers_callback(s->callbacks, on_begin);
  nghttp2_session_callbacks_set_on_header_callback(s->callbacks, on_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(s->callbacks, on_data);
  nghttp2_session_callbacks_set_on_frame_recv_callback(s->callbacks, on_frame);
  nghttp2_session_callbacks_set_on_frame_send_callback(s->callbacks, on_sent);
  nghttp2_session_callbacks_set_on_stream_close_callback(s->callbacks, on_close);
  nghttp2_option_set_no_auto_window_update(s->h2_option, 1);
  nghttp2_option_set_stream_reset_rate_limit(s->h2_option, RESET_BURST, RESET_RATE);
  return CAY_OK;
}

nghttp2_mem stream_memory(void) {
  return (nghttp2_mem){ .malloc = h2_alloc, .calloc = h2_zalloc, .realloc = h2_realloc, .free = h2_release };
}
