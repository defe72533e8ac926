/* kv_due_test.c - a due entry is delivered once, whichever process asks and whatever the clock does. */
#include "kv.h"

#include <signal.h>
#include <sys/wait.h>

typedef struct heard {
  char text[4000];
  int refuse;    /* so many answers are false */
  shelf *meddle; /* asked from within */
  const char *capability, *args;
} heard;

static bool hear(void *ctx, const tool_event *e) {
  heard *h = ctx;
  size_t len = strlen(h->text);
  (void)snprintf(h->text + len, sizeof h->text - len, "%s %lld %s %s %s %lld %lld; ",
                 tool_event_kind_name(e->kind), (long long)e->id, e->user, e->name,
                 e->prompt != NULL ? e->prompt : "-", (long long)e->due_at, (long long)e->missed);
  if (h->meddle != NULL) (void)ask(h->meddle, h->capability, h->args);
  return h->refuse-- <= 0;
}

/* The entries delivered at this moment. */
static const char *due(shelf *s, int64_t now) {
  static heard h;
  h = (heard){ 0 };
  s->now = now;
  EXPECT_EQ(tool_store_due(s->store, now, hear, &h, NULL, NULL), CAY_OK);
  return h.text;
}

static int64_t next(shelf *s, int64_t now) {
  int64_t moment = 0;
  EXPECT_EQ(tool_store_next(s->store, now, &moment, NULL), CAY_OK);
  return moment;
}

TEST(all_kinds_are_delivered_in_order_and_once) {
  shelf *s = shelf_new();
  EXPECT_EQ(next(s, 1000), INT64_MAX);
  (void)ask(s, "tasks.schedule", "{\"name\":\"n\",\"prompt\":\"p\",\"run_at\":1300}");
  (void)ask(s, "reminders.create", "{\"title\":\"tea\",\"due_at\":1200}");
  (void)ask(s, "reminders.create", "{\"title\":\"whenever\"}");
  (void)ask(s, "wakeup.create", "{\"name\":\"w\",\"prompt\":\"q\",\"interval_minutes\":4}");
  EXPECT_EQ(next(s, 1000), 1200);
  EXPECT_TEXT(due(s, 1199), "");
  EXPECT_TEXT(due(s, 1200), "reminder 1 me tea - 1200 0; ");
  EXPECT_TEXT(due(s, 1200), "");
  EXPECT_EQ(next(s, 1200), 1240);
  EXPECT_TEXT(due(s, 1300), "wakeup 2 me w q 1240 0; task 1 me n p 1300 0; ");
  EXPECT_EQ(next(s, 1300), 1480);
  EXPECT(has(ask(s, "tasks.list", "{}"), "\"enabled\":false,\"next_run_at\":null,\"last_run_at\":1300"));
  EXPECT(has(ask(s, "wakeup.list", "{}"), "\"next_run_at\":1480,\"last_run_at\":1300"));
  EXPECT(has(ask(s, "reminders.list", "{}"), "\"completed_at\":null,\"delivered_at\":1200"));
  EXPECT(has(ask(s, "tasks.enable", "{\"id\":1}"), "invalid_args: the task has run; schedule a new one"));
  shelf_free(s);
}

TEST(moments_that_were_missed_are_counted_and_not_delivered) {
  shelf *s = shelf_new();
  (void)ask(s, "tasks.schedule", "{\"name\":\"n\",\"prompt\":\"p\",\"run_at\":1000,\"interval_minutes\":1}");
  EXPECT_TEXT(due(s, 1300), "task 1 me n p 1000 5; ");
  EXPECT_TEXT(due(s, 1359), "");
  EXPECT_TEXT(due(s, 1360), "task 1 me n p 1360 0; ");
  shelf_free(s);
}

TEST(a_clock_that_goes_back_delivers_nothing_again) {
  shelf *s = shelf_new();
  (void)ask(s, "tasks.schedule", "{\"name\":\"n\",\"prompt\":\"p\",\"run_at\":1000,\"interval_minutes\":1}");
  (void)ask(s, "tasks.schedule", "{\"name\":\"once\",\"prompt\":\"p\",\"run_at\":1000}");
  (void)ask(s, "reminders.create", "{\"title\":\"tea\",\"due_at\":1000}");
  EXPECT_EQ(count_of(due(s, 5000), ";"), 3);
  for (int64_t now = 4999; now >= 0; now -= 357) EXPECT_TEXT(due(s, now), "");
  EXPECT_TEXT(due(s, 0), "");
  EXPECT_EQ(next(s, 0), 5020);
  EXPECT_TEXT(due(s, 5020), "task 1 me n p 5020 0; ");
  shelf_free(s);
}

TEST(after_a_clock_that_went_far_ahead_enabling_again_helps) {
  shelf *s = shelf_new();
  (void)ask(s, "tasks.schedule", "{\"name\":\"n\",\"prompt\":\"p\",\"run_at\":1000,\"interval_minutes\":1}");
  EXPECT_EQ(count_of(due(s, 900000000), ";"), 1);
  EXPECT_EQ(next(s, 2000), 900000040);
  s->now = 2000;
  (void)ask(s, "tasks.disable", "{\"id\":1}");
  EXPECT_EQ(number_in(ask(s, "tasks.enable", "{\"id\":1}"), "next_run_at"), 2020);
  shelf_free(s);
}

TEST(failed_delivery_is_retried_without_blocking_others) {
  shelf *s = shelf_new();
  (void)ask(s, "reminders.create", "{\"title\":\"a\",\"due_at\":1000}");
  (void)ask(s, "reminders.create", "{\"title\":\"b\",\"due_at\":1001}");
  (void)ask(s, "tasks.schedule", "{\"name\":\"n\",\"prompt\":\"p\",\"run_at\":999,\"interval_minutes\":1}");
  heard h = { .refuse = 2 };
  size_t delivered = 7;
  EXPECT_EQ(tool_store_due(s->store, 2000, hear, &h, &delivered, NULL), CAY_OK);
  EXPECT_EQ(count_of(h.text, ";"), 3);
  EXPECT_EQ(delivered, 1);
  EXPECT_EQ(next(s, 2000), 2060);
  EXPECT_TEXT(due(s, 2059), "");
  EXPECT_TEXT(due(s, 2060), "task 1 me n p 999 17; reminder 1 me a - 1000 0; ");
  EXPECT_TEXT(due(s, 2070), "");
  shelf_free(s);
}

static const char *meddle(shelf *s, const char *capability, const char *args) {
  static heard h;
  h = (heard){ .meddle = s, .capability = capability, .args = args };
  EXPECT_EQ(tool_store_due(s->store, s->now, hear, &h, NULL, NULL), CAY_OK);
  return h.text;
}

TEST(delivery_may_use_the_store) {
  shelf *s = shelf_new();
  (void)ask(s, "reminders.create", "{\"title\":\"tea\",\"due_at\":900}");
  EXPECT_EQ(count_of(meddle(s, "reminders.snooze", "{\"id\":1,\"due_at\":1500}"), ";"), 1);
  EXPECT_EQ(next(s, 1000), 1500);
  s->now = 1500;
  EXPECT_EQ(count_of(meddle(s, "reminders.delete_all", "{}"), ";"), 1);
  (void)ask(s, "tasks.schedule", "{\"name\":\"n\",\"prompt\":\"p\",\"run_at\":999,\"interval_minutes\":1}");
  EXPECT_EQ(count_of(meddle(s, "tasks.disable", "{\"id\":1}"), ";"), 1);
  EXPECT(has(ask(s, "tasks.list", "{}"), "\"enabled\":false"));
  EXPECT_EQ(next(s, 1500), INT64_MAX);
  shelf_free(s);
}

TEST(entries_made_during_delivery_wait_for_the_next) {
  shelf *s = shelf_new();
  (void)ask(s, "reminders.create", "{\"title\":\"tea\",\"due_at\":900}");
  EXPECT_EQ(count_of(meddle(s, "reminders.snooze", "{\"id\":1,\"due_at\":900}"), ";"), 1);
  EXPECT_EQ(count_of(meddle(s, "reminders.create", "{\"title\":\"more\",\"due_at\":900}"), ";"), 1);
  EXPECT_EQ(count_of(meddle(s, "reminders.delete_all", "{}"), ";"), 1);
  (void)ask(s, "tasks.schedule", "{\"name\":\"n\",\"prompt\":\"p\",\"run_at\":900}");
  EXPECT_EQ(count_of(meddle(s, "tasks.enable", "{\"id\":1}"), ";"), 1); /* it is: nothing changes */
  EXPECT_EQ(next(s, 1000), INT64_MAX);
  shelf_free(s);
}

TEST(disabled_and_completed_ones_are_not_due) {
  shelf *s = shelf_new();
  (void)ask(s, "tasks.schedule", "{\"name\":\"n\",\"prompt\":\"p\",\"run_at\":500}");
  (void)ask(s, "reminders.create", "{\"title\":\"tea\",\"due_at\":500}");
  (void)ask(s, "tasks.disable", "{\"id\":1}");
  (void)ask(s, "reminders.complete", "{\"id\":1}");
  EXPECT_EQ(next(s, 1000), INT64_MAX);
  EXPECT_TEXT(due(s, 1000), "");
  (void)ask(s, "tasks.enable", "{\"id\":1}");
  EXPECT_TEXT(due(s, 1000), "task 1 me n p 500 0; ");
  shelf_free(s);
}

TEST(moments_outside_of_time_are_refused) {
  shelf *s = shelf_new();
  heard h = { 0 };
  int64_t moment;
  EXPECT_EQ(tool_store_due(s->store, -1, hear, &h, NULL, NULL), CAY_INVALID);
  EXPECT_EQ(tool_store_due(s->store, INT64_MAX, hear, &h, NULL, NULL), CAY_INVALID);
  EXPECT_EQ(tool_store_next(s->store, INT64_MAX, &moment, NULL), CAY_INVALID);
  shelf_free(s);
}

/* ---- processes ---- */

static tool_store *store_at(const char *path) {
  tool_store *store = NULL;
  tool_store_options options = { .path = path, .durability = TOOL_STORE_PROCESS, .busy_ms = 60000 };
  if (tool_store_open(&options, &store, NULL) != CAY_OK) _exit(1);
  return store;
}

static bool die(void *ctx, const tool_event *e) {
  (void)ctx, (void)e;
  _exit(9);
}

/* A process that dies while it delivers entries due at `now`. */
static void die_at(const char *path, int64_t now) {
  pid_t pid = fork();
  EXPECT(pid >= 0);
  if (pid == 0) {
    tool_store *store = store_at(path);
    (void)!tool_store_due(store, now, die, NULL, NULL, NULL);
    _exit(0);
  }
  int how = 0;
  EXPECT_EQ(waitpid(pid, &how, 0), pid);
  EXPECT_EQ(WEXITSTATUS(how), 9);
}

/* With no store open here, as SQLite wants it when a process is forked. */
static void die_with(shelf *s, int64_t now) {
  tool_store_free(s->store);
  die_at(s->path, now);
  s->store = store_at(s->path);
}

TEST(claim_of_a_dead_process_expires) {
  shelf *s = shelf_new();
  (void)ask(s, "tasks.schedule", "{\"name\":\"n\",\"prompt\":\"p\",\"run_at\":900,\"interval_minutes\":1}");
  die_with(s, 1000);
  EXPECT_TEXT(due(s, 1000), "");
  EXPECT_EQ(next(s, 1000), 1300);
  EXPECT_TEXT(due(s, 1299), "");
  EXPECT_TEXT(due(s, 1300), "task 1 me n p 900 6; ");
  shelf_free(s);
}

TEST(a_claim_from_before_the_clock_went_back_is_free) {
  shelf *s = shelf_new();
  (void)ask(s, "reminders.create", "{\"title\":\"tea\",\"due_at\":900}");
  die_with(s, 100000);
  EXPECT_EQ(next(s, 1000), 900);
  EXPECT_TEXT(due(s, 1000), "reminder 1 me tea - 900 0; ");
  shelf_free(s);
}

enum { THINGS = 60 };

static bool tell(void *ctx, const tool_event *e) {
  int64_t words[2] = { e->kind == TOOL_EVENT_REMINDER ? THINGS + e->id : e->id, e->due_at };
  return write(*(int *)ctx, words, sizeof words) == sizeof words;
}

TEST(two_processes_deliver_each_moment_once) {
  shelf *s = shelf_new();
  tool_store_free(s->store);
  tool_store_options options = { .path = s->path, .durability = TOOL_STORE_PROCESS };
  EXPECT_EQ(tool_store_open(&options, &s->store, NULL), CAY_OK);
  for (int i = 0; i < THINGS; i++) {
    (void)ask(s, "tasks.schedule",
              "{\"name\":\"n\",\"prompt\":\"p\",\"run_at\":1000,\"interval_minutes\":1}");
    (void)ask(s, "reminders.create", "{\"title\":\"tea\",\"due_at\":1000}");
  }
  tool_store_free(s->store);
  int ends[2];
  pid_t pids[2];
  EXPECT_EQ(pipe(ends), 0);
  for (size_t i = 0; i < COUNT_OF(pids); i++) {
    pids[i] = fork();
    EXPECT(pids[i] >= 0);
    if (pids[i] != 0) continue;
    (void)close(ends[0]);
    tool_store *store = store_at(s->path);
    for (int64_t now = 1000; now <= 1120; now += 60)
      if (tool_store_due(store, now, tell, &ends[1], NULL, NULL) != CAY_OK) _exit(2);
    _exit(0);
  }
  (void)close(ends[1]);
  static int count[2 * THINGS + 1][3];
  memset(count, 0, sizeof count);
  for (int64_t words[2]; read(ends[0], words, sizeof words) == sizeof words;)
    if (words[0] > 0 && words[0] <= 2 * THINGS && words[1] >= 1000 && words[1] <= 1120)
      count[words[0]][(words[1] - 1000) / 60]++;
  (void)close(ends[0]);
  for (size_t i = 0; i < COUNT_OF(pids); i++) {
    int how = -1;
    EXPECT_EQ(waitpid(pids[i], &how, 0), pids[i]);
    EXPECT_EQ(how, 0);
  }
  /* A process may be ahead of the other in its time: then some moments were only counted as missed. */
  for (int i = 1; i <= 2 * THINGS; i++) {
    EXPECT_EQ(count[i][0], 1);
    for (int m = 1; m < 3; m++) EXPECT(count[i][m] <= (i <= THINGS));
  }
  s->store = store_at(s->path);
  EXPECT_TEXT(due(s, 1120), "");
  EXPECT_EQ(next(s, 1120), 1180);
  shelf_free(s);
}

TEST(no_fault_loses_a_moment_or_leaves_it_claimed_for_ever) {
  shelf *s = shelf_new();
  (void)ask(s, "reminders.create", "{\"title\":\"tea\",\"due_at\":900}");
  size_t all = 0;
  int64_t now = 1000;
  AT_EVERY_FAULT {
    heard h = { 0 };
    size_t delivered = 0;
    cay_status status = tool_store_due(s->store, now, hear, &h, &delivered, NULL);
    mem_fail_at(0);
    EXPECT(status == CAY_OK || status == CAY_NO_MEMORY || status == CAY_IO);
    EXPECT_EQ(count_of(h.text, ";"), delivered);
    all += delivered;
    now += 400;
  }
  EXPECT(all >= 1);
  EXPECT_TEXT(due(s, now), "");
  EXPECT_EQ(next(s, now), INT64_MAX);
  shelf_free(s);
}
