/* The service on a runtime that is a function of this file: what the methods do is tested by clients (test/grpc), here
 * what takes two threads to meet. */
#include "grpc/service/service.h"

#include "grpc/service/inner.h"
#include "test.h"

#include <unistd.h>

/* The code is the script: 'f' fails, 'h' the host fails, 'w' waits until it is cancelled, else it is written to
 * standard output. */
static cay_status fake_run(runtime *r, const runtime_job *job, runtime_result *out, cay_error *err) {
  (void)r, (void)err;
  char what = *(const char *)job->code.data;
  while (what == 'w' && !cancel_raised(job->cancel)) (void)usleep(1000);
  if (what == 'h') return CAY_NO_MEMORY;
  if (what == 'w') out->end = RUNTIME_CANCELLED;
  if (what == 'f') out->end = RUNTIME_FAILED;
  if (what == 'f') EXPECT_EQ(buf_append_text(&out->error, "broken"), CAY_OK);
  job->output(job->output_ctx, 1, job->code);
  return CAY_OK;
}

typedef struct world {
  runtime fake;
  log silent;
  store *store;
  service *service;
} world;

static void world_open(world *w) {
  *w = (world){ .fake = { .suffix = ".ts", .run = fake_run }, .silent = { .fd = -1 } };
  cay_error err;
  EXPECT_EQ(
      store_open(&(store_options){ .suffix = ".ts", .cache_max = 10, .runs_max = 10, .runs_age_ms = 3600000 },
                 &w->store, &err),
      CAY_OK);
  service_options options = { SERVICE_DEFAULTS, .runtime = &w->fake, .store = w->store, .log = &w->silent,
                              .executors = 1 };
  EXPECT_EQ(service_new(&options, &w->service, &err), CAY_OK);
}

static void world_close(world *w) {
  service_free(w->service);
  store_free(w->store);
}

static execution *give(world *w, const char *code, bool lasting) {
  execution *e = NULL;
  cay_error err;
  execution_spec spec = {
    .code = { code, strlen(code) }, .client = "c", .output_max = 100, .lasting = lasting
  };
  EXPECT_EQ(execution_new(&spec, &e, &err), CAY_OK);
  EXPECT(submit(w->service, NULL, e));
  return e;
}

static enum execution_state end_of(execution *e) {
  enum execution_state state;
  while (!execution_is_final(state = execution_state_of(e))) (void)usleep(1000);
  return state;
}

TEST(ends_of_the_runtime_become_states) {
  world w;
  world_open(&w);
  execution *good = give(&w, "ok", false), *bad = give(&w, "f", false), *host = give(&w, "h", true);
  EXPECT_EQ(end_of(good), EXECUTION_COMPLETED);
  EXPECT(good->entry.len != 0);
  EXPECT_TEXT(buf_text(&good->out), "ok");
  EXPECT_EQ(end_of(bad), EXECUTION_FAILED);
  EXPECT_TEXT(buf_text(&bad->error), "broken");
  EXPECT(bad->entry.len == 0);
  EXPECT_EQ(end_of(host), EXECUTION_FAILED);
  EXPECT(strstr(buf_text(&host->error), "the sandbox failed") != NULL);
  execution_unref(good);
  execution_unref(bad);
  execution_unref(host);
  world_close(&w);
}

TEST(what_waits_is_cancelled_at_once_and_what_runs_soon) {
  world w;
  world_open(&w);
  execution *runs = give(&w, "w", false), *waits = give(&w, "w", true);
  while (execution_state_of(runs) != EXECUTION_RUNNING) (void)usleep(1000);
  service_cancel(w.service, waits);
  EXPECT_EQ(execution_state_of(waits), EXECUTION_CANCELLED);
  service_cancel(w.service, runs);
  EXPECT_EQ(end_of(runs), EXECUTION_CANCELLED);
  execution_unref(runs);
  execution_unref(waits);
  world_close(&w);
}

TEST(closing_ends_what_waits_and_cancels_what_runs) {
  world w;
  world_open(&w);
  execution *runs = give(&w, "w", true), *waits = give(&w, "w", true), *brief = give(&w, "w", false);
  while (execution_state_of(runs) != EXECUTION_RUNNING) (void)usleep(1000);
  service_close(w.service, 0);
  EXPECT_EQ(execution_state_of(runs), EXECUTION_CANCELLED);
  EXPECT_EQ(execution_state_of(waits), EXECUTION_FAILED);
  EXPECT_EQ(execution_state_of(brief), EXECUTION_CANCELLED);
  execution *found = NULL;
  cay_error err;
  EXPECT_EQ(store_run_load(w.store, (cay_slice){ waits->id, strlen(waits->id) }, &found, &err), CAY_OK);
  EXPECT_EQ(found->state, EXECUTION_FAILED);
  execution_unref(found);
  execution_unref(runs);
  execution_unref(waits);
  execution_unref(brief);
  world_close(&w);
}

TEST(counts_are_kept_by_state) {
  world w;
  world_open(&w);
  execution *e = give(&w, "ok", false);
  (void)end_of(e);
  execution_unref(e);
  service_close(w.service, INT64_MAX);
  service_counts counts;
  service_counts_read(w.service, &counts);
  EXPECT(counts.ended[EXECUTION_COMPLETED] == 1 && counts.cached == 1 && counts.queue.running == 0);
  world_close(&w);
}
