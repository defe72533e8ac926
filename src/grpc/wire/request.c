/* request.c - a call as it arrives: its header fields, its messages, its end. */
#include "grpc/wire/inner.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "grpc/wire/header.h"

#include <stdio.h>
#include <string.h>

/* ---- header fields ---- */

static bool slice_is(cay_slice a, const char *text) {
  return a.len == strlen(text) && memcmp(a.data, text, a.len) == 0;
}

static const server_method *method_find(const server *s, cay_slice path) {
  for (size_t i = 0; i < s->options.method_count; i++)
    if (slice_is(path, s->options.methods[i].path)) return &s->options.methods[i];
  return NULL;
}

static void header_deadline(call *c, cay_slice value) {
  int64_t ns = 0;
  c->bad_timeout = !header_timeout(value, &ns);
  c->timed = true;
  c->deadline_ns = clock_mono_ns() + ns;
}

int request_header(call *c, cay_slice name, cay_slice value) {
  c->header_len += name.len + value.len + 32; /* as RFC 9113 counts them */
  if (c->header_len > c->server->options.header_max) return 0;
  if (slice_is(name, ":path"))
    c->method = method_find(c->server, value);
  else if (slice_is(name, ":method"))
    c->posted = slice_is(value, "POST");
  else if (slice_is(name, "content-type"))
    c->is_grpc = header_is_grpc(value);
  else if (slice_is(name, "grpc-timeout"))
    header_deadline(c, value);
  else if (slice_is(name, "grpc-encoding"))
    c->unpackable = slice_is(value, "gzip");
  else if (slice_is(name, "grpc-accept-encoding"))
    c->accepts_gzip = header_lists(value, "gzip");
  else if (slice_is(name, "authorization") && c->server->options.tokens != NULL) {
    c->token_seen = true;
    c->token = tokens_find(c->server->options.tokens, value);
  }
  return 0;
}

/* ---- the fields are complete ---- */

static bool call_allowed(call *c) {
  if (c->server->options.tokens == NULL || (c->method != NULL && c->method->open)) return true;
  if (c->token != NULL) {
    (void)snprintf(c->client, sizeof c->client, "token:%s", c->token);
    return true;
  }
  call_fail(c, GRPC_UNAUTHENTICATED,
            c->token_seen ? "the token is not known" : "a token is needed: authorization: Bearer TOKEN");
  return false;
}

/* False: it was answered. */
static bool call_acceptable(call *c) {
  if (c->header_len > c->server->options.header_max) return c->plain = "431", false;
  if (!c->posted) return c->plain = "405", false;
  if (!c->is_grpc) return c->plain = "415", false;
  if (c->conn->draining) return call_fail(c, GRPC_UNAVAILABLE, "the server is shutting down"), false;
  if (!call_allowed(c)) return false;
  if (c->method == NULL) return call_fail(c, GRPC_UNIMPLEMENTED, "there is no such method"), false;
  if (c->timed && c->bad_timeout)
    return call_fail(c, GRPC_INVALID_ARGUMENT, "grpc-timeout cannot be read"), false;
  return true;
}

void request_begin(call *c) {
  if (c->begun) return;
  c->begun = true;
  if (!call_acceptable(c)) c->failed = true;
  if (c->failed && c->plain == NULL) return;
  int64_t whole = clock_mono_ns() + c->server->options.request_ms * NS_PER_MS;
  bool open_end = c->plain == NULL && c->method->stream_in;
  int64_t due = open_end || c->deadline_ns < whole ? c->deadline_ns : whole;
  if (due != INT64_MAX && !timers_set(&c->server->timers, &c->timer, due))
    call_fail(c, GRPC_RESOURCE_EXHAUSTED, "out of memory");
}

/* ---- messages ---- */

static void hand_over(call *c, call_message *m) {
  (void)pthread_mutex_lock(&c->mu);
  if (m != NULL)
    list_push(&c->in, &m->node);
  else
    c->end_in = true;
  work_add(c);
  (void)pthread_mutex_unlock(&c->mu);
}

/* The message in the reader becomes one of the call. */
static call_message *message_in(call *c) {
  call_message *m = mem_zalloc(sizeof *m);
  if (m == NULL) return NULL;
  list_init(&m->node);
  m->bytes = c->reader.message;
  c->reader.message = BUF_INIT(c->reader.max);
  m->head[0] = c->reader.compressed;
  m->held = c->reader_held;
  c->reader_held = 0;
  frame_next(&c->reader);
  return m;
}

static void take_message(call *c) {
  if (c->reader.compressed && !c->unpackable) {
    call_fail(c, GRPC_UNIMPLEMENTED, "messages can be compressed with gzip, and say so in grpc-encoding");
    return;
  }
  if (!c->method->stream_in && !list_empty(&c->in)) {
    call_fail(c, GRPC_INVALID_ARGUMENT, "more than one message for a unary call");
    return;
  }
  call_message *m = message_in(c);
  if (m == NULL)
    call_fail(c, GRPC_RESOURCE_EXHAUSTED, "out of memory");
  else if (c->method->stream_in)
    hand_over(c, m);
  else
    list_push(&c->in, &m->node); /* for request_end; no handler has begun */
}

static void fail_frame(call *c, enum frame_event event) {
  char text[120];
  switch (event) {
  case FRAME_TOO_LONG:
    (void)snprintf(text, sizeof text, "a message of %zu bytes: at most %zu are accepted", c->reader.want,
                   c->reader.max);
    call_fail(c, GRPC_RESOURCE_EXHAUSTED, text);
    break;
  case FRAME_BAD_FLAG: call_fail(c, GRPC_INTERNAL, "the data is not framed as gRPC"); break;
  default: call_fail(c, GRPC_RESOURCE_EXHAUSTED, "out of memory");
  }
}

/* Unary requests are taken as they come, for they are kept within account and message_max; what streams send waits
 * in the window until the handler has had the message before. */
static void request_consume(call *c, size_t len) {
  if (c->method == NULL || !c->method->stream_in || c->failed)
    (void)nghttp2_session_consume(c->conn->h2, c->id, len);
  else
    (void)nghttp2_session_consume_connection(c->conn->h2, len);
}

void request_data(call *c, cay_slice data) {
  size_t all = data.len;
  while (data.len != 0 && !c->failed) {
    size_t before = data.len;
    enum frame_event event = frame_take(&c->reader, &data);
    size_t taken = before - data.len;
    if (!account_take(c->account, taken)) {
      call_fail(c, GRPC_RESOURCE_EXHAUSTED, "this connection has too many bytes in requests");
      break;
    }
    c->reader_held += taken;
    if (event == FRAME_MESSAGE)
      take_message(c);
    else if (event != FRAME_MORE)
      fail_frame(c, event);
  }
  request_consume(c, all);
  if (c->failed) {
    account_give(c->account, c->reader_held);
    c->reader_held = 0;
    frame_next(&c->reader);
  }
}

/* A short request is handled here. False: a worker has to. */
static bool handle_at_once(call *c) {
  call_message *m = CONTAINER_OF(c->in.next, call_message, node);
  cay_slice message = { m->bytes.data != NULL ? m->bytes.data : (const void *)"", m->bytes.len };
  if (c->method->at_once == NULL || m->head[0] != 0 || !c->method->at_once(message)) return false;
  list_remove(&m->node);
  c->method->fn(c->server->options.app, c, message);
  call_message_free(c, m);
  return true;
}

void request_end(call *c) {
  if (c->input_ended) return;
  c->input_ended = true;
  if (c->plain != NULL) respond_plain(c);
  if (c->failed) return;
  if (frame_inside(&c->reader)) {
    call_fail(c, GRPC_INTERNAL, "the last message is cut");
    return;
  }
  if (!c->method->stream_in && list_empty(&c->in)) {
    call_fail(c, GRPC_INTERNAL, "there is no request message");
    return;
  }
  timers_stop(&c->server->timers, &c->timer);
  if (c->deadline_ns != INT64_MAX && !timers_set(&c->server->timers, &c->timer, c->deadline_ns)) {
    call_fail(c, GRPC_RESOURCE_EXHAUSTED, "out of memory");
    return;
  }
  if (c->method->stream_in) {
    hand_over(c, NULL);
    return;
  }
  if (handle_at_once(c)) return;
  (void)pthread_mutex_lock(&c->mu);
  work_add(c);
  (void)pthread_mutex_unlock(&c->mu);
}
