/* method_ask.c - GetExecution, CancelExecution and ListExecutions: executions that are there. */
#include "grpc/service/inner.h"
#include "grpc/service/pending.h"

#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIST_DEFAULT = 100, LIST_MAX = 1000 };

/* ---- GetExecution ---- */

static void answer_get(call *c, execution *e, int64_t offset) {
  pb_writer w = PB_WRITER(BUF_UNLIMITED);
  execution_put_get(e, offset, &w);
  call_answer(c, &w);
}

void method_get_execution(void *app, call *c, cay_slice message) {
  request r;
  if (!request_read(c, message, REQUEST_GET, &r)) return;
  if (r.id.len == 0) return call_finish(c, GRPC_INVALID_ARGUMENT, "execution_id is missing");
  if (r.offset < 0) return call_finish(c, GRPC_INVALID_ARGUMENT, "output_offset is negative");
  execution *e = service_find(app, c, r.id);
  if (e == NULL) return;
  if (r.wait && !execution_is_final(execution_state_of(e)))
    pending_wait(app, c, e, &(pending_options){ .answer = answer_get, .offset = r.offset });
  else
    answer_get(c, e, r.offset);
  execution_unref(e);
}

/* ---- CancelExecution ---- */

static const char *state_word(enum execution_state state) {
  switch (state) {
  case EXECUTION_COMPLETED: return "has completed";
  case EXECUTION_FAILED: return "has failed";
  case EXECUTION_TIMEOUT: return "has exceeded its time limit";
  default: return "has ended";
  }
}

/* Cancelling twice is as good as once; what had ended otherwise was not cancelled. */
static void answer_cancel(call *c, execution *e, int64_t offset) {
  (void)offset;
  enum execution_state state = execution_state_of(e);
  pb_writer w = PB_WRITER(BUF_UNLIMITED);
  pb_put_int(&w, 1, state == EXECUTION_CANCELLED);
  pb_put_int(&w, 2, state);
  if (state != EXECUTION_CANCELLED) {
    char text[80];
    (void)snprintf(text, sizeof text, "the execution %s already", state_word(state));
    pb_put_text(&w, 3, text);
  }
  call_answer(c, &w);
}

void method_cancel_execution(void *app, call *c, cay_slice message) {
  request r;
  if (!request_read(c, message, REQUEST_ID, &r)) return;
  if (r.id.len == 0) return call_finish(c, GRPC_INVALID_ARGUMENT, "execution_id is missing");
  execution *e = service_find(app, c, r.id);
  if (e == NULL) return;
  if (!execution_is_final(execution_state_of(e))) service_cancel(app, e);
  if (execution_is_final(execution_state_of(e)))
    answer_cancel(c, e, 0);
  else
    pending_wait(app, c, e, &(pending_options){ .answer = answer_cancel });
  execution_unref(e);
}

/* ---- ListExecutions ---- */

typedef struct listing {
  unsigned states;
  int64_t since_ms; /* of final ones; INT64_MAX: none */
  size_t limit;
  execution *found[2 * LIST_MAX];
  size_t count, stop; /* where the source that is read now has given enough */
} listing;

static bool offer(void *ctx, execution *e) {
  listing *l = ctx;
  (void)pthread_mutex_lock(&e->mu);
  bool fits =
      (l->states >> e->state & 1) != 0 && (!execution_is_final(e->state) || e->finished_ms >= l->since_ms);
  (void)pthread_mutex_unlock(&e->mu);
  if (fits) l->found[l->count++] = execution_ref(e);
  return l->count < l->stop;
}

static int newest_first(const void *a, const void *b) {
  const execution *x = *(execution *const *)a, *y = *(execution *const *)b;
  if (x->created_ms != y->created_ms) return x->created_ms < y->created_ms ? 1 : -1;
  return strcmp(x->id, y->id);
}

static cay_status method_ask_collect(service *s, listing *l, cay_error *err) {
  l->stop = l->limit;
  table_each(s->table, offer, l);
  l->stop = l->count + l->limit;
  if (l->since_ms != INT64_MAX)
    S_TRY(store_run_each(s->options.store, l->since_ms, l->states, offer, l, err));
  if (l->count != 0) qsort(l->found, l->count, sizeof *l->found, newest_first);
  return CAY_OK;
}

/* One that ended meanwhile may have been found in both places. */
static void answer_list(call *c, const listing *l) {
  pb_writer w = PB_WRITER(BUF_UNLIMITED);
  size_t put = 0;
  for (size_t i = 0; i < l->count && put < l->limit; i++) {
    if (i > 0 && strcmp(l->found[i]->id, l->found[i - 1]->id) == 0) continue;
    execution_put_info(l->found[i], 1, &w);
    put++;
  }
  call_answer(c, &w);
}

static const unsigned final_states =
    1u << EXECUTION_COMPLETED | 1u << EXECUTION_FAILED | 1u << EXECUTION_CANCELLED | 1u << EXECUTION_TIMEOUT;

/* Final ones are listed when the call says how recent, or names one of their states. */
static void read_listing(const request *r, listing *l) {
  l->states = r->states != 0 ? r->states : ~0u;
  l->limit = r->limit == 0 ? LIST_DEFAULT : r->limit < LIST_MAX ? (size_t)r->limit : LIST_MAX;
  if (r->within_ms > 0)
    l->since_ms = r->within_ms < wall_ms() ? wall_ms() - r->within_ms : 0;
  else
    l->since_ms = (r->states & final_states) != 0 ? 0 : INT64_MAX;
}

void method_list_executions(void *app, call *c, cay_slice message) {
  request r;
  cay_error err;
  if (!request_read(c, message, REQUEST_LIST, &r)) return;
  if (r.limit < 0 || r.within_ms < 0)
    return call_finish(c, GRPC_INVALID_ARGUMENT, "limit and include_completed_within_ms are not negative");
  listing *l = mem_zalloc(sizeof *l);
  if (l == NULL) return call_finish(c, GRPC_RESOURCE_EXHAUSTED, "out of memory");
  read_listing(&r, l);
  cay_status status = method_ask_collect(app, l, &err);
  if (status == CAY_OK)
    answer_list(c, l);
  else
    answer_error(c, status, &err);
  for (size_t i = 0; i < l->count; i++) execution_unref(l->found[i]);
  mem_free(l);
}
