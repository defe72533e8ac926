/* service.c - the service: an execution from its submission through its run to its stored result, and
 * shutdown (service.h). */
#include "grpc/service/service.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "grpc/service/inner.h"
#include "grpc/service/kubernetes.h"

#include <stdio.h>
#include <string.h>

enum {
  ALL_CLIENTS = 8, /* times what one client may have waiting */
  CLIENT_BYTES = 64 << 20,
  KEPT_BYTES = 64 << 20,
};

/* ---- running one ---- */

static void log_end(service *s, execution *e) {
  static const char *const names[] = {
    "", "pending", "running", "completed", "failed", "cancelled", "timeout"
  };
  log_write(
      s->options.log, CAY_LOG_INFO, "execution ended",
      LOG_FIELDS({ .name = "execution", .text = e->id }, { .name = "client", .text = e->client },
                 { .name = "state", .text = names[e->state] }, { .name = "took_ms", .number = e->took_ms },
                 { .name = "waited_ms", .number = e->started_ms != 0 ? e->started_ms - e->created_ms : 0 }));
}

/* Watches come after the store: what a client was told survives the server. */
static void service_end(service *s, execution *e, execution_result *result) {
  (void)execution_ref(e);
  if (!execution_finish(e, result)) {
    execution_unref(e);
    return;
  }
  cay_error err;
  bool stored = e->lasting && store_run_save(s->options.store, e, &err) == CAY_OK;
  if (e->lasting && !stored)
    log_write(s->options.log, CAY_LOG_ERROR, "the end of an execution was not stored",
              LOG_FIELDS({ .name = "execution", .text = e->id }, { .name = "error", .text = err.message }));
  atomic_fetch_add(&s->ended[e->state], 1);
  atomic_fetch_add(&s->took_ms, (unsigned long long)e->took_ms);
  log_end(s, e);
  execution_tell(e);
  table_ended(s->table, e, stored);
  execution_unref(e);
}

static void service_end_with(service *s, execution *e, enum execution_state state, const char *why) {
  execution_result result = { .state = state, .error = BUF_INIT(BUF_UNLIMITED) };
  IGNORED(buf_append_text(&result.error, why)); /* without memory it has no words */
  service_end(s, e, &result);
}

static void output_of(void *ctx, int fd, cay_slice bytes) { execution_output(ctx, fd, bytes); }

static void put_in_cache(service *s, execution *e, execution_result *result) {
  if (e->is_test || e->cached_name != NULL) return;
  cay_error err;
  cay_slice code = { e->code.data, e->code.len };
  if (store_cache_add(s->options.store, code, &result->entry, &err) != CAY_OK)
    log_write(s->options.log, CAY_LOG_WARN, "code was not cached",
              LOG_FIELDS({ .name = "execution", .text = e->id }, { .name = "error", .text = err.message }));
}

static void read_end(service *s, execution *e, runtime_result *from, execution_result *to) {
  char text[80];
  switch (from->end) {
  case RUNTIME_DONE:
    to->state = EXECUTION_COMPLETED;
    put_in_cache(s, e, to);
    return;
  case RUNTIME_FAILED: to->state = EXECUTION_FAILED; return;
  case RUNTIME_TIMEOUT:
    to->state = EXECUTION_TIMEOUT;
    (void)snprintf(text, sizeof text, "the execution took longer than %u ms", e->timeout_ms);
    break;
  case RUNTIME_CANCELLED:
    to->state = EXECUTION_CANCELLED;
    (void)snprintf(text, sizeof text, "the execution was cancelled");
    break;
  }
  buf_clear(&to->error);
  IGNORED(buf_append_text(&to->error, text)); /* without memory it has no words */
}

static void service_run(void *ctx, execution *e) {
  service *s = ctx;
  if (!execution_start(e)) return;
  cay_error err = { 0 };
  runtime_result ran = { .error = BUF_INIT(s->options.output_max), .report = BUF_INIT(BUF_UNLIMITED) };
  runtime_job job = { .code = { e->code.data, e->code.len },
                      .tests = { e->tests.data, e->tests.len },
                      .is_test = e->is_test,
                      .timeout_ms = e->timeout_ms,
                      .output = output_of,
                      .output_ctx = e,
                      .cancel = &e->cancel };
  cay_status status = s->options.runtime->run(s->options.runtime, &job, &ran, &err);
  if (status != CAY_OK) {
    ran.end = RUNTIME_FAILED;
    buf_clear(&ran.error);
    IGNORED(buf_appendf(&ran.error, "the sandbox failed: %s", err.message));
    log_write(s->options.log, CAY_LOG_ERROR, "the sandbox failed",
              LOG_FIELDS({ .name = "execution", .text = e->id }, { .name = "error", .text = err.message }));
  }
  execution_result result = { .error = ran.error, .report = ran.report };
  read_end(s, e, &ran, &result);
  service_end(s, e, &result);
  if (ran.left != NULL) s->options.runtime->clean(s->options.runtime, ran.left);
}

/* ---- giving and taking back ---- */

void answer_error(call *c, cay_status status, const cay_error *err) {
  enum grpc_code code = GRPC_INTERNAL;
  switch (status) {
  case CAY_NOT_FOUND: code = GRPC_NOT_FOUND; break;
  case CAY_LIMIT:
  case CAY_NO_MEMORY: code = GRPC_RESOURCE_EXHAUSTED; break;
  case CAY_CANCELLED:
  case CAY_BUSY: code = GRPC_UNAVAILABLE; break;
  default: break;
  }
  call_finish(c, code, err->message);
}

bool submit(service *s, call *c, execution *e) {
  cay_error err;
  cay_status status = e->lasting ? store_run_save(s->options.store, e, &err) : CAY_OK;
  table_add(s->table, e);
  if (status == CAY_OK) status = queue_add(s->queue, e, &err);
  if (status == CAY_OK) return true;
  atomic_fetch_add(&s->refused, 1);
  table_remove(s->table, e);
  if (e->lasting) store_run_forget(s->options.store, e);
  answer_error(c, status, &err);
  return false;
}

void service_cancel(service *s, execution *e) {
  cancel_raise(&e->cancel);
  if (!queue_remove(s->queue, e)) return;
  service_end_with(s, e, EXECUTION_CANCELLED, "the execution was cancelled before it began");
  execution_unref(e);
}

execution *service_find(service *s, call *c, cay_slice id) {
  execution *e = table_find(s->table, id);
  if (e != NULL) return e;
  cay_error err;
  cay_status status = store_run_load(s->options.store, id, &e, &err);
  if (status == CAY_OK) return e;
  answer_error(c, status, &err);
  return NULL;
}

/* ---- life ---- */

cay_status service_new(const service_options *options, service **out, cay_error *err) {
  service *s = mem_zalloc(sizeof *s);
  if (s == NULL) return err_no_memory(err);
  s->options = *options;
  list_init(&s->health_watches);
  (void)pthread_mutex_init(&s->mu, NULL);
  kubernetes_context(s->kubernetes, sizeof s->kubernetes);
  queue_options queue = { .executors = options->executors,
                          .client_max = options->queue_max,
                          .total_max = options->queue_max * ALL_CLIENTS,
                          .client_bytes = CLIENT_BYTES,
                          .total_bytes = (size_t)CLIENT_BYTES * ALL_CLIENTS,
                          .run = service_run,
                          .ctx = s };
  cay_status status = table_new(options->kept_max, KEPT_BYTES, &s->table, err);
  if (status == CAY_OK) status = queue_new(&queue, &s->queue, err);
  if (status != CAY_OK) {
    service_free(s);
    return status;
  }
  *out = s;
  return CAY_OK;
}

static void end_waiting(void *ctx, execution *e) {
  service_end_with(ctx, e, e->lasting ? EXECUTION_FAILED : EXECUTION_CANCELLED,
                   "the server was shut down before it began");
  execution_unref(e);
}

static bool cancel_one(void *ctx, execution *e) {
  (void)ctx;
  cancel_raise(&e->cancel);
  return true;
}

void service_close(service *s, int64_t until_ns) {
  queue_close(s->queue, end_waiting, s);
  if (queue_wait(s->queue, until_ns)) return;
  table_each(s->table, cancel_one, NULL);
  (void)queue_wait(s->queue, INT64_MAX);
}

void service_free(service *s) {
  if (s == NULL) return;
  if (s->queue != NULL) service_close(s, 0);
  queue_free(s->queue);
  table_free(s->table);
  (void)pthread_mutex_destroy(&s->mu);
  mem_free(s);
}

void service_counts_read(service *s, service_counts *out) {
  *out = (service_counts){ .refused = atomic_load(&s->refused), .took_ms = atomic_load(&s->took_ms) };
  for (size_t i = 0; i < EXECUTION_STATES; i++) out->ended[i] = atomic_load(&s->ended[i]);
  queue_counts_read(s->queue, &out->queue);
  out->cached = store_cache_count(s->options.store);
}
