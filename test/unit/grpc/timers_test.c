#include "grpc/wire/timers.h"

#include "test.h"

typedef struct fired {
  timers *of;
  timer_entry entry;
  int64_t due;
  struct recorder *to;
  struct fired *stops; /* stopped when this one is called */
} fired;
typedef struct recorder {
  int64_t due[64];
  size_t count;
} recorder;

static void on_time(void *ctx) {
  fired *f = ctx;
  f->to->due[f->to->count++] = f->due;
  if (f->stops != NULL) timers_stop(f->of, &f->stops->entry);
}

static void set(timers *t, fired *f, recorder *to, int64_t due) {
  *f = (fired){ .of = t, .entry = { .fn = on_time, .ctx = f }, .due = due, .to = to };
  EXPECT(timers_set(t, &f->entry, due));
}

TEST(they_are_called_in_order_up_to_now) {
  timers t = { 0 };
  recorder to = { 0 };
  fired all[64];
  for (size_t i = 0; i < 64; i++) set(&t, &all[i], &to, (int64_t)(i * 37 % 64));
  timers_run(&t, 40);
  EXPECT_EQ(to.count, 41);
  for (size_t i = 0; i < to.count; i++) EXPECT_EQ(to.due[i], i);
  EXPECT_EQ(timers_next(&t), 41);
  for (size_t i = 0; i < 64; i++) timers_stop(&t, &all[i].entry);
  EXPECT_EQ(timers_next(&t), INT64_MAX);
  timers_free(&t);
}

TEST(one_that_is_set_again_moves) {
  timers t = { 0 };
  recorder to = { 0 };
  fired a, b;
  set(&t, &a, &to, 10);
  set(&t, &b, &to, 20);
  a.due = 30;
  EXPECT(timers_set(&t, &a.entry, 30));
  timers_run(&t, 100);
  EXPECT(to.count == 2 && to.due[0] == 20 && to.due[1] == 30);
  timers_free(&t);
}

TEST(one_may_stop_another_that_is_due) {
  timers t = { 0 };
  recorder to = { 0 };
  fired a, b;
  set(&t, &a, &to, 1);
  set(&t, &b, &to, 2);
  a.stops = &b;
  timers_run(&t, 100);
  EXPECT_EQ(to.count, 1);
  timers_free(&t);
}

TEST(without_memory_it_is_not_set) {
  timers t = { 0 };
  timer_entry entry = { .fn = on_time };
  mem_fail_at(1);
  EXPECT(!timers_set(&t, &entry, 1));
  mem_fail_at(0);
  EXPECT_EQ(timers_next(&t), INT64_MAX);
  timers_free(&t);
}
