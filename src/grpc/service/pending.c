/* pending.c - the reference counts between a waiting call and its execution, and the answer at the end
 * (pending.h). */
#include "grpc/service/pending.h"

#include "base/alloc.h"

typedef struct pending {
  atomic_uint refs;
  service *service;
  call *of;
  execution *execution;
  pending_options options;
  execution_watch watch;
  cancel_watch hurry;
} pending;

static void pending_drop(pending *p) {
  if (atomic_fetch_sub(&p->refs, 1) != 1) return;
  call_unref(p->of);
  execution_unref(p->execution);
  mem_free(p);
}

/* On the thread that brought the execution to its end. */
static void execution_over(void *ctx, execution *e) {
  pending *p = ctx;
  if (p->options.stream) cancel_remove(&e->cancel, &p->hurry);
  p->options.answer(p->of, e, p->options.offset);
  if (call_unhook(p->of)) pending_drop(p);
  pending_drop(p);
}

/* On the I/O thread. */
static void call_over(void *ctx) {
  pending *p = ctx;
  if (p->options.owner)
    service_cancel(p->service, p->execution);
  else if (execution_watch_remove(p->execution, &p->watch))
    pending_drop(p);
  pending_drop(p);
}

static void hurry_call(void *ctx) { call_hurry(ctx); }

void pending_wait(service *s, call *c, execution *e, const pending_options *options) {
  pending *p = mem_zalloc(sizeof *p);
  if (p == NULL) {
    call_finish(c, GRPC_RESOURCE_EXHAUSTED, "out of memory");
    if (options->owner) service_cancel(s, e);
    return;
  }
  atomic_init(&p->refs, 2);
  p->service = s;
  p->of = call_ref(c);
  p->execution = execution_ref(e);
  p->options = *options;
  p->watch = (execution_watch){ .fn = execution_over, .ctx = p };
  list_init(&p->watch.node);
  p->hurry = (cancel_watch){ .fn = hurry_call, .ctx = c };
  if (options->stream) cancel_add(&e->cancel, &p->hurry);
  call_hook(c, call_over, p);
  execution_watch_add(e, &p->watch);
}
