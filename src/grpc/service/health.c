/* health.c - HealthCheck, and the health service of gRPC (grpc.health.v1), whose Watch tells each change. */
#include "grpc/service/inner.h"

#include "base/alloc.h"

#include <string.h>

enum { HEALTH_SERVING = 1, HEALTH_NOT_SERVING = 2, HEALTH_SERVICE_UNKNOWN = 3 };

static bool is_draining(service *s) {
  (void)pthread_mutex_lock(&s->mu);
  bool draining = s->draining;
  (void)pthread_mutex_unlock(&s->mu);
  return draining;
}

void method_health_check(void *app, call *c, cay_slice message) {
  service *s = app;
  request r;
  if (!request_read(c, message, REQUEST_EMPTY, &r)) return;
  pb_writer w = PB_WRITER(BUF_UNLIMITED);
  pb_put_int(&w, 1, !is_draining(s));
  pb_put_text(&w, 2, s->kubernetes);
  call_answer(c, &w);
}

/* ---- grpc.health.v1 ---- */

static bool is_known(cay_slice name) {
  static const char ours[] = "prodisco.sandbox.v1.SandboxService";
  return name.len == 0 || (name.len == sizeof ours - 1 && memcmp(name.data, ours, name.len) == 0);
}

static pb_writer status_message(int status) {
  pb_writer w = PB_WRITER(BUF_UNLIMITED);
  pb_put_int_always(&w, 1, status);
  return w;
}

void health_check(void *app, call *c, cay_slice message) {
  request r;
  if (!request_read(c, message, REQUEST_FILTER, &r)) return;
  if (!is_known(r.filter)) return call_finish(c, GRPC_NOT_FOUND, "there is no such service");
  pb_writer w = status_message(is_draining(app) ? HEALTH_NOT_SERVING : HEALTH_SERVING);
  call_answer(c, &w);
}

/* The call has ended: by its client, or with its connection. */
static void watch_over(void *ctx) {
  health_watch *watch = ctx;
  service *s = watch->service;
  (void)pthread_mutex_lock(&s->mu);
  bool ours = list_linked(&watch->node);
  list_remove(&watch->node);
  (void)pthread_mutex_unlock(&s->mu);
  if (!ours) return;
  call_unref(watch->of);
  mem_free(watch);
}

void health_watch_call(void *app, call *c, cay_slice message) {
  service *s = app;
  request r;
  if (!request_read(c, message, REQUEST_FILTER, &r)) return;
  health_watch *watch = mem_zalloc(sizeof *watch);
  if (watch == NULL) return call_finish(c, GRPC_RESOURCE_EXHAUSTED, "out of memory");
  pb_writer w = status_message(!is_known(r.filter) ? HEALTH_SERVICE_UNKNOWN
                               : is_draining(s)    ? HEALTH_NOT_SERVING
                                                   : HEALTH_SERVING);
  (void)call_send(c, &w.out, CALL_NOW);
  watch->service = s;
  watch->of = call_ref(c);
  list_init(&watch->node);
  call_hook(c, watch_over, watch); /* before the list has it: from then on the I/O thread may free it */
  (void)pthread_mutex_lock(&s->mu);
  list_push(&s->health_watches, &watch->node);
  (void)pthread_mutex_unlock(&s->mu);
}

void service_draining(service *s) {
  for (;;) {
    (void)pthread_mutex_lock(&s->mu);
    s->draining = true;
    bool none = list_empty(&s->health_watches);
    health_watch *watch = none ? NULL : CONTAINER_OF(s->health_watches.next, health_watch, node);
    if (!none) list_remove(&watch->node);
    (void)pthread_mutex_unlock(&s->mu);
    if (none) return;
    pb_writer w = status_message(HEALTH_NOT_SERVING);
    (void)call_send(watch->of, &w.out, CALL_NOW);
    call_finish(watch->of, GRPC_UNAVAILABLE, "the server is shutting down");
    (void)call_unhook(watch->of);
    call_unref(watch->of);
    mem_free(watch);
  }
}
