/* session_start_test.c - evaluations and commands whose end is reported to a function instead of being waited for. */
#include "sessions.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>

typedef struct ending {
  sem_t done;
  cay_status status;
  cay_value *value;
  char why[200];
} ending;

static void ending_init(ending *e) {
  memset(e, 0, sizeof *e);
  sem_init(&e->done, 0, 0);
}

static void ending_on_done(void *ctx, cay_status status, cay_value *value, const cay_error *err) {
  ending *e = ctx;
  e->status = status;
  e->value = value;
  if (status != CAY_OK) snprintf(e->why, sizeof e->why, "%.190s", err->message);
  sem_post(&e->done);
}

static cay_status ending_start(ending *e, cay_session *s, const char *code) {
  return cay_session_start(s, &CAY_INIT(cay_eval_options, .code = { code, strlen(code) }), ending_on_done, e,
                           NULL);
}

TEST(started_evaluation_reports_its_value) {
  cay_sandbox *box = box_new();
  cay_session *s = session(box);
  ending e;
  ending_init(&e);
  for (int i = 0; i < 50; i++) {
    char expected[16];
    cay_status status;
    while ((status = ending_start(&e, s, i == 0 ? "x = 0; x" : "x += 1; x")) == CAY_BUSY) {} /* it settles */
    EXPECT_EQ(status, CAY_OK);
    sem_wait(&e.done);
    EXPECT_EQ(e.status, CAY_OK);
    snprintf(expected, sizeof expected, "%d", i);
    EXPECT_TEXT((const char *)e.value->repr.data, expected);
    cay_value_free(e.value);
  }
  cay_sandbox_free(box);
}

TEST(started_evaluation_keeps_its_input_and_refuses_a_second) {
  cay_sandbox *box = box_new();
  cay_session *s = session(box);
  ending e;
  ending_init(&e);
  char input[] = "some text";
  cay_eval_options o = CAY_INIT(cay_eval_options, .code = CAY_TEXT("import time; time.sleep(.2); input()"),
                                .input = { input, sizeof input - 1 });
  EXPECT_EQ(cay_session_start(s, &o, ending_on_done, &e, NULL), CAY_OK);
  memset(input, '-', sizeof input);
  EXPECT_EQ(ending_start(&e, s, "1"), CAY_BUSY);
  sem_wait(&e.done);
  EXPECT_TEXT((const char *)e.value->repr.data, "'some text'");
  cay_value_free(e.value);
  cay_sandbox_free(box);
}

TEST(started_evaluation_ends_when_it_is_cancelled_or_its_session_is_freed) {
  cay_sandbox *box = box_new();
  ending e;
  ending_init(&e);
  for (int i = 0; i < 2; i++) {
    cay_session *s = session(box);
    bool cancelled = false;
    cay_eval_options o = CAY_INIT(cay_eval_options, .code = CAY_TEXT("import time; time.sleep(1000)"),
                                  .cancelled = &cancelled);
    EXPECT_EQ(cay_session_start(s, &o, ending_on_done, &e, NULL), CAY_OK);
    if (i == 0) {
      __atomic_store_n(&cancelled, true, __ATOMIC_RELEASE);
      cay_session_cancel(s);
    } else {
      cay_session_free(s);
    }
    sem_wait(&e.done);
    EXPECT_EQ(e.status, CAY_OK);
    EXPECT_EQ(e.value->outcome, CAY_OUTCOME_STOPPED);
    EXPECT_EQ(e.value->end, CAY_END_CANCELLED);
    cay_value_free(e.value);
  }
  cay_sandbox_free(box);
}

static void ended_count(void *ctx) { atomic_fetch_add((atomic_int *)ctx, 1); }

TEST(end_of_a_command_is_reported_once) {
  cay_sandbox *box = box_new();
  for (int i = 0; i < 20; i++) {
    atomic_int ends = 0;
    cay_process *p = NULL;
    cay_result *r = NULL;
    cay_run_options o = CAY_INIT(cay_run_options, .command = i % 2 == 0 ? "sleep 0.01 & exit 3" : "exit 3",
                                 .tty = i % 3 == 0, .ended = ended_count, .ended_ctx = &ends);
    EXPECT_EQ(cay_spawn(box, &o, &p, NULL), CAY_OK);
    EXPECT_EQ(cay_process_wait(p, -1, &r, NULL), CAY_OK);
    EXPECT_EQ(r->code, 3);
    EXPECT_EQ(atomic_load(&ends), 1);
    cay_result_free(r);
    cay_process_kill(p);
    cay_process_free(p);
    EXPECT_EQ(atomic_load(&ends), 1);
  }
  cay_sandbox_free(box);
}
