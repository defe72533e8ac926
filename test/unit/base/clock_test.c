/* clock_test.c - alarms, as src/base/clock.h promises them. */
#include "base/clock.h"
#include "test.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct bell {
  alarm_entry alarm;
  alarm_set *set;
  atomic_int rung;
  int again; /* arm this many more times from the callback */
  atomic_int *order;
  int place;
} bell;

static void ring(void *ctx) {
  bell *b = ctx;
  if (b->order != NULL) b->place = atomic_fetch_add(b->order, 1);
  if (b->again-- > 0) EXPECT_EQ(alarm_arm(b->set, &b->alarm, clock_mono_ns(), NULL), CAY_OK);
  atomic_fetch_add(&b->rung, 1);
}

static void await(bell *b, int count) {
  while (atomic_load(&b->rung) < count) sched_yield();
}

static alarm_set *fresh(void) {
  alarm_set *set = NULL;
  EXPECT_EQ(alarm_set_new(&set, NULL), CAY_OK);
  return set;
}

TEST(time_does_not_go_back) {
  int64_t a = clock_mono_ns(), b = clock_mono_ns();
  EXPECT(a > 0 && b >= a);
  EXPECT(clock_real_ns() > 0);
  EXPECT(clock_thread_cpu_ns() > 0);
}

TEST(alarms_ring_in_the_order_of_their_moments) {
  alarm_set *set = fresh();
  atomic_int order = 0;
  bell bells[40] = { 0 };
  int64_t start = clock_mono_ns() + 20 * NS_PER_MS;
  for (int i = 0; i < 40; i++) {
    int moment = i * 7 % 40; /* every moment once, shuffled */
    bells[moment].order = &order;
    bells[moment].alarm = (alarm_entry){ .fn = ring, .ctx = &bells[moment] };
    EXPECT_EQ(alarm_arm(set, &bells[moment].alarm, start + moment, NULL), CAY_OK);
  }
  for (int i = 0; i < 40; i++) await(&bells[i], 1);
  for (int i = 0; i < 40; i++) EXPECT_EQ(bells[i].place, i);
  alarm_set_free(set);
}

TEST(an_alarm_never_rings_early) {
  alarm_set *set = fresh();
  bell b = { 0 };
  b.alarm = (alarm_entry){ .fn = ring, .ctx = &b };
  int64_t due = clock_mono_ns() + 2 * NS_PER_MS;
  EXPECT_EQ(alarm_arm(set, &b.alarm, due, NULL), CAY_OK);
  await(&b, 1);
  EXPECT(clock_mono_ns() >= due);
  alarm_set_free(set);
}

TEST(a_disarmed_alarm_never_rings) {
  alarm_set *set = fresh();
  bell never = { 0 }, other = { 0 };
  never.alarm = (alarm_entry){ .fn = ring, .ctx = &never };
  other.alarm = (alarm_entry){ .fn = ring, .ctx = &other };
  int64_t now = clock_mono_ns();
  EXPECT_EQ(alarm_arm(set, &never.alarm, now + 50 * NS_PER_MS, NULL), CAY_OK);
  EXPECT_EQ(alarm_arm(set, &other.alarm, now + 51 * NS_PER_MS, NULL), CAY_OK);
  alarm_disarm(set, &never.alarm);
  alarm_disarm(set, &never.alarm);
  await(&other, 1);
  EXPECT_EQ(never.rung, 0);
  alarm_set_free(set);
}

TEST(arming_again_moves_the_moment) {
  alarm_set *set = fresh();
  bell b = { 0 };
  b.alarm = (alarm_entry){ .fn = ring, .ctx = &b };
  EXPECT_EQ(alarm_arm(set, &b.alarm, INT64_MAX, NULL), CAY_OK);
  EXPECT_EQ(alarm_arm(set, &b.alarm, 0, NULL), CAY_OK);
  await(&b, 1);
  alarm_disarm(set, &b.alarm);
  EXPECT_EQ(b.rung, 1);
  alarm_set_free(set);
}

TEST(disarming_ends_an_alarm_that_arms_itself) {
  alarm_set *set = fresh();
  bell b = { .set = set, .again = 1 << 30 };
  b.alarm = (alarm_entry){ .fn = ring, .ctx = &b };
  EXPECT_EQ(alarm_arm(set, &b.alarm, 0, NULL), CAY_OK);
  await(&b, 3);
  alarm_disarm(set, &b.alarm);
  int rung = b.rung;
  sched_yield();
  EXPECT_EQ(b.rung, rung);
  alarm_set_free(set);
}

TEST(an_unused_set_has_no_thread_to_join) {
  alarm_set_free(fresh());
  alarm_set_free(NULL);
}

TEST(an_alarm_that_cannot_be_armed_is_not_armed) {
  AT_EVERY_FAULT {
    alarm_set *set = NULL;
    cay_status status = alarm_set_new(&set, NULL);
    EXPECT(status == CAY_OK || (status == CAY_NO_MEMORY && set == NULL));
    if (set == NULL) continue;
    alarm_entry entry = { .fn = ring };
    status = alarm_arm(set, &entry, INT64_MAX, NULL);
    EXPECT(status == CAY_OK ? entry.slot == 1 : status == CAY_NO_MEMORY && entry.slot == 0);
    alarm_disarm(set, &entry);
    alarm_set_free(set);
  }
}

/* ---- callbacks that have to wait ---- */

typedef struct waiting {
  alarm_entry alarm;
  atomic_int tried, released, ended;
} waiting;

static bool never_at_once(void *ctx) {
  waiting *w = ctx;
  atomic_fetch_add(&w->tried, 1);
  return false;
}

static void until_released(void *ctx) {
  waiting *w = ctx;
  while (atomic_load(&w->released) == 0) sched_yield();
  atomic_fetch_add(&w->ended, 1);
}

TEST(an_alarm_that_waits_does_not_hold_up_the_others) {
  alarm_set *set = fresh();
  waiting two[2] = { 0 };
  bell b = { 0 };
  b.alarm = (alarm_entry){ .fn = ring, .ctx = &b };
  int64_t now = clock_mono_ns();
  for (int i = 0; i < 2; i++) {
    two[i].alarm = (alarm_entry){ .fn = until_released, .try_fn = never_at_once, .ctx = &two[i] };
    EXPECT_EQ(alarm_arm(set, &two[i].alarm, now + i, NULL), CAY_OK);
  }
  EXPECT_EQ(alarm_arm(set, &b.alarm, now + 2, NULL), CAY_OK);
  await(&b, 1); /* both wait until this has rung */
  EXPECT_EQ(atomic_load(&two[0].tried) + atomic_load(&two[1].tried), 2);
  EXPECT_EQ(atomic_load(&two[0].ended), 0);
  for (int i = 0; i < 2; i++) atomic_store(&two[i].released, 1);
  for (int i = 0; i < 2; i++) alarm_disarm(set, &two[i].alarm);
  EXPECT(atomic_load(&two[0].ended) <= 1 && atomic_load(&two[1].ended) <= 1);
  alarm_set_free(set);
}

TEST(disarming_waits_for_a_callback_on_a_helper) {
  alarm_set *set = fresh();
  for (int i = 0; i < 50; i++) {
    waiting w = { .released = 1 };
    w.alarm = (alarm_entry){ .fn = until_released, .try_fn = never_at_once, .ctx = &w };
    EXPECT_EQ(alarm_arm(set, &w.alarm, clock_mono_ns(), NULL), CAY_OK);
    while (i % 2 == 0 && atomic_load(&w.tried) == 0) sched_yield();
    alarm_disarm(set, &w.alarm); /* `w` is gone afterwards */
    EXPECT(atomic_load(&w.ended) <= atomic_load(&w.tried));
  }
  alarm_set_free(set);
}
