/* work.c - the threads on which handlers run. */
#include "grpc/wire/inner.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/thread.h"
#include "grpc/wire/gzip.h"

#include <stdio.h>

enum { WORKER_STACK = 512 * 1024 };

void work_add(call *c) {
  if (c->queued) return;
  c->queued = true;
  server *s = c->server;
  (void)call_ref(c);
  (void)pthread_mutex_lock(&s->mu);
  list_push(&s->work, &c->in_work);
  (void)pthread_cond_signal(&s->work_there);
  (void)pthread_mutex_unlock(&s->mu);
}

/* The next piece of input: a message, NULL with *end at the end of a stream, or NULL when there is no more. */
static call_message *work_input(call *c, bool *end) {
  (void)pthread_mutex_lock(&c->mu);
  call_message *m = NULL;
  *end = false;
  if (!list_empty(&c->in)) {
    m = CONTAINER_OF(c->in.next, call_message, node);
    list_remove(&m->node);
  } else if (c->end_in) {
    c->end_in = false;
    *end = true;
  } else {
    c->queued = false;
  }
  (void)pthread_mutex_unlock(&c->mu);
  return m;
}

static bool message_unpack(call *c, call_message *m) {
  if (m->head[0] == 0) return true;
  buf plain = BUF_INIT(c->server->options.message_max);
  cay_status status = gzip_unpack((cay_slice){ m->bytes.data, m->bytes.len }, &plain);
  if (status == CAY_OK) {
    buf_free(&m->bytes);
    m->bytes = plain;
    return true;
  }
  buf_free(&plain);
  if (status == CAY_LIMIT)
    call_finishf(c, GRPC_RESOURCE_EXHAUSTED, "the message has more than %zu bytes when unpacked",
                 c->server->options.message_max);
  else if (status == CAY_NO_MEMORY)
    call_finish(c, GRPC_RESOURCE_EXHAUSTED, "out of memory");
  else
    call_finish(c, GRPC_INTERNAL, "the compressed message is damaged");
  return false;
}

static void work_message(call *c, call_message *m) {
  size_t arrived = m->held;
  if (!call_ended(c) && message_unpack(c, m)) {
    const void *data = m->bytes.data != NULL ? m->bytes.data : (const void *)"";
    c->method->fn(c->server->options.app, c, (cay_slice){ data, m->bytes.len });
  }
  call_message_free(c, m);
  (void)pthread_mutex_lock(&c->mu);
  c->consumed += arrived;
  if (c->method->stream_in) call_kick(c);
  (void)pthread_mutex_unlock(&c->mu);
}

static void work_call(call *c) {
  bool end = false;
  for (call_message *m; (m = work_input(c, &end)) != NULL || end;) {
    if (m != NULL)
      work_message(c, m);
    else if (!call_ended(c))
      c->method->fn(c->server->options.app, c, (cay_slice){ NULL, 0 });
  }
  call_unref(c);
}

static void work_loop(void *ctx) {
  server *s = ctx;
  (void)pthread_mutex_lock(&s->mu);
  for (;;) {
    while (list_empty(&s->work) && !s->closing) (void)pthread_cond_wait(&s->work_there, &s->mu);
    if (list_empty(&s->work)) break;
    call *c = CONTAINER_OF(s->work.next, call, in_work);
    list_remove(&c->in_work);
    (void)pthread_mutex_unlock(&s->mu);
    work_call(c);
    (void)pthread_mutex_lock(&s->mu);
  }
  (void)pthread_mutex_unlock(&s->mu);
}

cay_status work_start(server *s, cay_error *err) {
  s->workers = mem_zalloc_array(s->options.workers, sizeof *s->workers);
  if (s->workers == NULL) return err_no_memory(err);
  for (; s->worker_count < s->options.workers; s->worker_count++)
    S_TRY(thread_start("grpc-call", WORKER_STACK, work_loop, s, &s->workers[s->worker_count], err));
  return CAY_OK;
}

void work_stop(server *s) {
  (void)pthread_mutex_lock(&s->mu);
  s->closing = true;
  (void)pthread_cond_broadcast(&s->work_there);
  (void)pthread_mutex_unlock(&s->mu);
  for (; s->worker_count > 0; s->worker_count--) thread_join(s->workers[s->worker_count - 1]);
  mem_free(s->workers);
  s->workers = NULL;
}
