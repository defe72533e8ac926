/* itimer_test.c - setitimer(2). */
#include "native_runner.h"

static _Atomic int rings;
static void ring(k_process *p, int sig, const k_siginfo *info) {
  (void)p, (void)sig, (void)info;
  rings++;
}

static k_ret set(k_process *p, int which, int64_t first, int64_t interval) {
  return SYS(k_itimer_set(p, which, first, interval, NULL, NULL));
}

static int alarm_kills(k_process *p, void *arg) {
  NEED_EQ(set(p, K_ITIMER_REAL, NS_PER_MS, 0), 0);
  return native_sleeps(p, arg);
}

TEST(an_alarm_without_a_handler_ends_the_process) { EXPECT_EQ(native_run(alarm_kills, NULL), K_SIGALRM); }

static int interrupts(k_process *p, void *arg) {
  (void)arg;
  rings = 0;
  native_on(p, K_SIGALRM, ring, K_SA_RESTART);
  NEED_EQ(set(p, K_ITIMER_REAL, NS_PER_MS, 0), 0);
  NEED_EQ(SYS(k_nanosleep(p, K_FOREVER)), -K_EINTR);
  NEED_EQ(rings, 1);
  int64_t left, interval;
  SYS((k_itimer_get(p, K_ITIMER_REAL, &left, &interval), 0));
  NEED_EQ(left, 0);
  return 0;
}

TEST(an_alarm_interrupts_a_sleep_once) { EXPECT_EQ(native_run(interrupts, NULL), 0); }

static int repeats(k_process *p, void *arg) {
  (void)arg;
  rings = 0;
  native_on(p, K_SIGALRM, ring, 0);
  NEED_EQ(set(p, K_ITIMER_REAL, NS_PER_MS, NS_PER_MS), 0);
  for (int i = 0; i < 3; i++) NEED_EQ(SYS(k_nanosleep(p, K_FOREVER)), -K_EINTR);
  NEED(rings >= 3);
  return 0; /* ends with the timer running */
}

TEST(an_interval_timer_goes_on_until_its_process_ends) { EXPECT_EQ(native_run(repeats, NULL), 0); }

static int changes(k_process *p, void *arg) {
  (void)arg;
  int64_t left, interval;
  NEED_EQ(set(p, K_ITIMER_REAL, 1000 * NS_PER_SEC, 0), 0);
  NEED_EQ(SYS(k_itimer_set(p, K_ITIMER_REAL, 3600 * NS_PER_SEC, 5, &left, &interval)), 0);
  NEED(left > 500 * NS_PER_SEC && left <= 1000 * NS_PER_SEC);
  NEED_EQ(SYS(k_itimer_set(p, K_ITIMER_REAL, 0, 0, &left, &interval)), 0);
  NEED(left > 3000 * NS_PER_SEC);
  NEED_EQ(interval, 5);
  NEED_EQ(set(p, 9, 1, 0), -K_EINVAL);
  NEED_EQ(set(p, K_ITIMER_REAL, -1, 0), -K_EINVAL);
  return 0;
}

TEST(a_timer_is_changed_and_switched_off) { EXPECT_EQ(native_run(changes, NULL), 0); }

static int moves_on(k_process *p, void *arg) {
  (void)arg;
  int64_t left, interval;
  k_sigaction ignore = { .handler = K_SIG_IGN };
  NEED_EQ(SYS(k_sigaction_set(p, K_SIGALRM, &ignore, NULL)), 0);
  NEED_EQ(set(p, K_ITIMER_REAL, NS_PER_MS, 0), 0);
  NEED_EQ(set(p, K_ITIMER_REAL, 3600 * NS_PER_SEC, 0), 0);
  NEED_EQ(SYS(k_nanosleep(p, clock_mono_ns() + 5 * NS_PER_MS)), 0);
  SYS((k_itimer_get(p, K_ITIMER_REAL, &left, &interval), 0));
  NEED(left > 3000 * NS_PER_SEC);
  return 0;
}

TEST(an_alarm_that_was_moved_does_not_go_off_early) { EXPECT_EQ(native_run(moves_on, NULL), 0); }

static int computes(k_process *p, void *arg) {
  int which = (int)(intptr_t)arg;
  rings = 0;
  native_on(p, which == K_ITIMER_PROF ? K_SIGPROF : K_SIGVTALRM, ring, 0);
  NEED_EQ(set(p, which, 2 * NS_PER_MS, 0), 0);
  while (rings == 0) native_checkpoint(p);
  return 0;
}

TEST(processor_time_runs_while_a_program_computes) {
  EXPECT_EQ(native_run(computes, (void *)K_ITIMER_VIRTUAL), 0);
  EXPECT_EQ(native_run(computes, (void *)K_ITIMER_PROF), 0);
}

static int idles(k_process *p, void *arg) {
  (void)arg;
  rings = 0;
  native_on(p, K_SIGVTALRM, ring, 0);
  NEED_EQ(set(p, K_ITIMER_VIRTUAL, 50 * NS_PER_MS, 0), 0);
  NEED_EQ(SYS(k_nanosleep(p, clock_mono_ns() + 100 * NS_PER_MS)), 0);
  NEED_EQ(rings, 0);
  return 0;
}

TEST(processor_time_stands_still_in_a_sleep) { EXPECT_EQ(native_run(idles, NULL), 0); }
