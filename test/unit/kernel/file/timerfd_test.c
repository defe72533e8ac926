/* timerfd_test.c - timerfd_create(2). */
#include "kernel/file/eventfd.h"
#include "kernel/file/poll.h"
#include "native_runner.h"

static k_ret make(k_process *p, bool realtime) {
  k_file *f = NULL;
  K_TRY(k_timerfd(p->kernel, realtime, 0, &f));
  return k_fd_add(&p->fds, f, 0, false);
}

static k_file *timer_of(k_process *p) { return p->fds.slots[0].file; }

static k_ret set(k_process *p, bool absolute, int64_t first, int64_t interval) {
  return SYS(k_timerfd_set(timer_of(p), absolute, first, interval, NULL, NULL));
}

static int expires(k_process *p, void *arg) {
  (void)arg;
  uint64_t times = 0;
  NEED_EQ(SYS(make(p, false)), 0);
  NEED_EQ(set(p, false, NS_PER_MS, 0), 0);
  NEED_EQ(native_read(p, 0, &times, 8), 8);
  NEED_EQ(times, 1);
  k_pollfd in = { .fd = 0, .events = K_POLLIN };
  NEED_EQ(SYS(k_poll(p, &in, 1, 0, NULL)), 0);
  NEED_EQ(set(p, true, k_mono_ns(p->kernel) + NS_PER_MS, 0), 0);
  NEED_EQ(SYS(k_poll(p, &in, 1, K_FOREVER, NULL)), 1);
  return 0;
}

TEST(a_timer_is_read_when_it_has_expired) { EXPECT_EQ(native_run(expires, NULL), 0); }

static int repeats(k_process *p, void *arg) {
  (void)arg;
  uint64_t times = 0, all = 0;
  NEED_EQ(SYS(make(p, false)), 0);
  NEED_EQ(set(p, false, NS_PER_MS, NS_PER_MS), 0);
  for (int i = 0; i < 3; i++) {
    NEED_EQ(native_read(p, 0, &times, 8), 8);
    all += times;
  }
  NEED(all >= 3);
  int64_t left, interval;
  NEED_EQ(SYS(k_timerfd_get(timer_of(p), &left, &interval)), 0);
  NEED_EQ(interval, NS_PER_MS);
  NEED(left > 0 && left <= NS_PER_MS);
  return 0;
}

TEST(a_timer_with_an_interval_goes_on) { EXPECT_EQ(native_run(repeats, NULL), 0); }

static int realtime(k_process *p, void *arg) {
  (void)arg;
  uint64_t times = 0;
  NEED_EQ(SYS(make(p, true)), 0);
  NEED_EQ(set(p, true, k_real_ns(p->kernel) - 5 * NS_PER_SEC, 0), 0);
  NEED_EQ(native_read(p, 0, &times, 8), 8);
  NEED_EQ(times, 1);
  return 0;
}

TEST(an_absolute_time_of_the_past_has_expired) { EXPECT_EQ(native_run(realtime, NULL), 0); }

static int moves(k_process *p, void *arg) {
  (void)arg;
  int64_t left, interval;
  NEED_EQ(SYS(make(p, false)), 0);
  NEED_EQ(set(p, false, NS_PER_MS, 0), 0);
  NEED_EQ(set(p, false, 3600 * NS_PER_SEC, 7), 0); /* the alarm of the first goes off for nothing */
  NEED_EQ(SYS(k_timerfd_set(timer_of(p), false, 0, 0, &left, &interval)), 0);
  NEED(left > 3500 * NS_PER_SEC);
  NEED_EQ(interval, 7);
  NEED_EQ(SYS(k_timerfd_get(timer_of(p), &left, &interval)), 0);
  NEED_EQ(left, 0);
  NEED_EQ(set(p, false, -1, 0), -K_EINVAL);
  int fds[2];
  NEED_EQ(native_pipe(p, fds, 0), 0);
  NEED_EQ(SYS(k_timerfd_get(p->fds.slots[fds[0]].file, &left, &interval)), -K_EINVAL);
  return 0;
}

TEST(a_timer_can_be_moved_and_stopped) { EXPECT_EQ(native_run(moves, NULL), 0); }

static int rare(k_process *p, void *arg) {
  (void)arg;
  uint64_t times = 0;
  k_pollfd in = { .fd = 0, .events = K_POLLIN };
  NEED_EQ(SYS(make(p, false)), 0);
  NEED_EQ(set(p, false, 1, INT64_MAX), 0);
  NEED_EQ(native_read(p, 0, &times, 8), 8);
  NEED_EQ(times, 1);
  NEED_EQ(SYS(k_poll(p, &in, 1, 0, NULL)), 0);
  return 0;
}

TEST(the_longest_interval_does_not_wrap_round) { EXPECT_EQ(native_run(rare, NULL), 0); }
