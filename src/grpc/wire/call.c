/* call.c - one call: its references, the messages it sends, and the first of the events that end it
 * (call.h). */
#include "grpc/wire/inner.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "grpc/wire/gzip.h"
#include "grpc/wire/pb.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- life ---- */

static void call_time(void *ctx);

call *call_new(conn *of, int32_t id) {
  call *c = mem_zalloc(sizeof *c);
  if (c == NULL) return NULL;
  atomic_init(&c->refs, 1);
  c->server = of->server;
  c->account = account_ref(of->account);
  memcpy(c->client, of->client, sizeof c->client);
  c->conn = of;
  c->id = id;
  c->deadline_ns = INT64_MAX;
  c->timer = (timer_entry){ .fn = call_time, .ctx = c };
  frame_reader_init(&c->reader, c->server->options.message_max);
  (void)pthread_mutex_init(&c->mu, NULL);
  clock_cond_init(&c->room);
  list_init(&c->out);
  list_init(&c->in);
  list_init(&c->in_work);
  list_init(&c->in_dirty);
  list_push(&of->calls, &c->in_conn);
  atomic_fetch_add(&c->server->calls, 1);
  atomic_fetch_add(&c->server->calls_now, 1);
  return c;
}

call *call_ref(call *c) {
  atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
  return c;
}

void call_message_free(call *c, call_message *m) {
  list_remove(&m->node);
  account_give(c->account, m->held);
  buf_free(&m->bytes);
  mem_free(m);
}

static void drop_messages(call *c, list *messages) {
  LIST_EACH_SAFE (m, messages, call_message, node) {
    call_message_free(c, m);
  }
}

void call_unref(call *c) {
  if (c == NULL || atomic_fetch_sub(&c->refs, 1) != 1) return;
  drop_messages(c, &c->out);
  drop_messages(c, &c->in);
  account_give(c->account, c->reader_held);
  frame_reader_free(&c->reader);
  (void)pthread_cond_destroy(&c->room);
  (void)pthread_mutex_destroy(&c->mu);
  atomic_fetch_sub(&c->server->calls_now, 1);
  account_unref(c->account);
  mem_free(c);
}

const char *call_client(const call *c) { return c->client; }

bool call_ended(call *c) {
  (void)pthread_mutex_lock(&c->mu);
  bool ended = c->ended;
  (void)pthread_mutex_unlock(&c->mu);
  return ended;
}

void call_hook(call *c, call_hook_fn *fn, void *ctx) {
  (void)pthread_mutex_lock(&c->mu);
  bool ended = c->ended;
  if (!ended) {
    c->hook = fn;
    c->hook_ctx = ctx;
  }
  (void)pthread_mutex_unlock(&c->mu);
  if (ended) fn(ctx);
}

bool call_unhook(call *c) {
  (void)pthread_mutex_lock(&c->mu);
  bool waits = c->hook != NULL;
  c->hook = NULL;
  (void)pthread_mutex_unlock(&c->mu);
  return waits;
}

/* ---- from any thread ---- */

void call_kick(call *c) {
  if (c->dirty) return;
  c->dirty = true;
  server *s = c->server;
  (void)call_ref(c);
  (void)pthread_mutex_lock(&s->mu);
  bool first = list_empty(&s->dirty);
  list_push(&s->dirty, &c->in_dirty);
  (void)pthread_mutex_unlock(&s->mu);
  if (first) server_wake(s);
}

/* Compresses when the client takes it and it helps. */
static bool message_pack(const call *c, call_message *m) {
  if (!c->accepts_gzip || m->bytes.len < CALL_PACK_FROM) return false;
  buf packed = BUF_INIT(BUF_UNLIMITED);
  if (gzip_pack((cay_slice){ m->bytes.data, m->bytes.len }, &packed) != CAY_OK ||
      packed.len >= m->bytes.len) {
    buf_free(&packed);
    return false;
  }
  buf_free(&m->bytes);
  m->bytes = packed;
  return true;
}

static call_message *message_out(call *c, buf *bytes) {
  call_message *m = mem_zalloc(sizeof *m);
  if (m == NULL) return NULL;
  list_init(&m->node);
  m->bytes = *bytes;
  *bytes = BUF_INIT(bytes->max);
  bool packed = message_pack(c, m);
  frame_head(m->head, packed, (uint32_t)m->bytes.len);
  return m;
}

/* call.mu. Sleeps until there is room. False: there will be none. */
static bool wait_for_room(call *c, int64_t until_ns) {
  while (!c->finished && until_ns != CALL_NOW && c->out_len > CALL_OUT_HIGH) {
    if (c->hurried || clock_mono_ns() >= until_ns) return false;
    struct timespec until = clock_timespec(until_ns);
    (void)pthread_cond_timedwait(&c->room, &c->mu, &until);
  }
  return !c->finished;
}

bool call_send(call *c, buf *bytes, int64_t until_ns) {
  size_t len = bytes->len + FRAME_HEAD;
  call_message *m = bytes->len <= UINT32_MAX ? message_out(c, bytes) : NULL;
  buf_free(bytes);
  if (m == NULL) return false;
  (void)pthread_mutex_lock(&c->mu);
  bool sent = wait_for_room(c, until_ns);
  if (sent && (sent = account_take(c->account, len))) {
    m->held = len;
    list_push(&c->out, &m->node);
    c->out_len += m->bytes.len + FRAME_HEAD;
    call_kick(c);
  }
  (void)pthread_mutex_unlock(&c->mu);
  if (!sent) call_message_free(c, m);
  return sent;
}

void call_hurry(call *c) {
  (void)pthread_mutex_lock(&c->mu);
  c->hurried = true;
  (void)pthread_cond_broadcast(&c->room);
  (void)pthread_mutex_unlock(&c->mu);
}

/* call.mu */
static bool call_end(call *c, enum grpc_code code, const char *message) {
  if (c->finished) return false;
  c->finished = true;
  c->code = code;
  (void)snprintf(c->text, sizeof c->text, "%s", message != NULL ? message : "");
  (void)pthread_cond_broadcast(&c->room);
  return true;
}

void call_finish(call *c, enum grpc_code code, const char *message) {
  (void)pthread_mutex_lock(&c->mu);
  if (call_end(c, code, message)) call_kick(c);
  (void)pthread_mutex_unlock(&c->mu);
}

void call_finishf(call *c, enum grpc_code code, const char *format, ...) {
  char text[CALL_TEXT_MAX];
  va_list args;
  va_start(args, format);
  (void)vsnprintf(text, sizeof text, format, args);
  va_end(args);
  call_finish(c, code, text);
}

void call_answer(call *c, pb_writer *w) {
  if (w->failed != CAY_OK) {
    buf_free(&w->out);
    call_finish(c, GRPC_RESOURCE_EXHAUSTED, "the answer is too large");
  } else if (!call_send(c, &w->out, CALL_NOW)) {
    call_finish(c, GRPC_RESOURCE_EXHAUSTED, "this connection has too many answers that were not read");
  } else {
    call_finish(c, GRPC_OK, NULL);
  }
}

/* ---- on the I/O thread ---- */

/* Ends it before its handler did, and tells the hook. */
static void call_cut(call *c, enum grpc_code code, const char *message) {
  (void)pthread_mutex_lock(&c->mu);
  call_hook_fn *hook = NULL;
  if (call_end(c, code, message)) {
    c->ended = true;
    hook = c->hook;
    c->hook = NULL;
    drop_messages(c, &c->out);
    c->out_len = 0;
  }
  void *ctx = c->hook_ctx;
  (void)pthread_mutex_unlock(&c->mu);
  if (hook != NULL) hook(ctx);
}

void call_fail(call *c, enum grpc_code code, const char *message) {
  c->failed = true;
  call_cut(c, code, message);
  respond(c);
}

void call_drop(call *c) {
  timers_stop(&c->server->timers, &c->timer);
  list_remove(&c->in_conn);
  c->conn = NULL;
  call_cut(c, GRPC_CANCELLED, "the client has gone");
  (void)pthread_mutex_lock(&c->mu);
  drop_messages(c, &c->out);
  c->out_len = 0;
  (void)pthread_mutex_unlock(&c->mu);
  call_unref(c);
}

static void call_time(void *ctx) {
  call *c = ctx;
  (void)pthread_mutex_lock(&c->mu);
  bool finished = c->finished;
  (void)pthread_mutex_unlock(&c->mu);
  if (finished) { /* the rest of it was not read in time */
    (void)nghttp2_submit_rst_stream(c->conn->h2, NGHTTP2_FLAG_NONE, c->id, NGHTTP2_CANCEL);
    conn_touch(c->conn);
  } else if (c->plain != NULL) {
    respond_plain(c);
  } else if (clock_mono_ns() >= c->deadline_ns) {
    call_fail(c, GRPC_DEADLINE_EXCEEDED, "the deadline of the call has passed");
  } else {
    call_fail(c, GRPC_CANCELLED, "the request was not complete in time");
  }
}
