/* timer_test.c - timer_create(2). */
#include "kernel/signal/timer.h"
#include "native_runner.h"

static _Atomic int rings, value;
static void ring(k_process *p, int sig, const k_siginfo *info) {
  (void)p, (void)sig;
  value = (int)info->value;
  rings++;
}

static k_ret create(k_process *p, int sig) {
  k_timer_options how = {
    .clock = K_TIMER_MONOTONIC, .signals = true, .has_value = true, .signo = sig, .value = 42
  };
  return SYS(k_timer_create(p, &how));
}

static k_ret set(k_process *p, k_ret id, int64_t first, int64_t interval) {
  k_timer_value given = { first, interval }, old;
  return SYS(k_timer_set(p, (int32_t)id, false, &given, &old));
}

static int repeats(k_process *p, void *arg) {
  (void)arg;
  rings = 0;
  native_on(p, K_SIGUSR1, ring, 0);
  k_ret id = create(p, K_SIGUSR1);
  NEED_EQ(id, 0);
  NEED_EQ(set(p, id, NS_PER_MS, NS_PER_MS), 0);
  for (int i = 0; i < 3; i++) NEED_EQ(SYS(k_nanosleep(p, K_FOREVER)), -K_EINTR);
  NEED(rings >= 3);
  NEED_EQ(value, 42);
  return 0; /* ends with the timer running */
}

TEST(a_timer_signals_its_process_until_that_ends) { EXPECT_EQ(native_run(repeats, NULL), 0); }

static int counts(k_process *p, void *arg) {
  (void)arg;
  k_sigset blocked = k_sigbit(K_SIGUSR1);
  k_siginfo info;
  NEED_EQ(SYS(k_sigmask_set(p, K_SIG_BLOCK, &blocked, NULL)), 0);
  k_ret id = create(p, K_SIGUSR1);
  NEED_EQ(set(p, id, NS_PER_MS, NS_PER_MS), 0);
  NEED_EQ(SYS(k_nanosleep(p, clock_mono_ns() + 20 * NS_PER_MS)), 0);
  NEED_EQ(SYS(k_sigtimedwait(p, blocked, &info, K_FOREVER)), K_SIGUSR1);
  NEED_EQ(info.code, K_SI_TIMER);
  NEED(info.uid >= 5);
  NEED_EQ(SYS(k_timer_overrun(p, (int32_t)id)), info.uid);
  return 0;
}

TEST(expiries_of_a_blocked_signal_are_counted) { EXPECT_EQ(native_run(counts, NULL), 0); }

static int deletes(k_process *p, void *arg) {
  (void)arg;
  k_timer_value now;
  NEED_EQ(create(p, 0), -K_EINVAL);
  NEED_EQ(create(p, K_SIGUSR1), 0);
  NEED_EQ(create(p, K_SIGUSR1), 1);
  NEED_EQ(set(p, 0, 3600 * NS_PER_SEC, 5), 0);
  NEED_EQ(SYS(k_timer_get(p, 0, &now)), 0);
  NEED(now.first_ns > 3000 * NS_PER_SEC);
  NEED_EQ(SYS(k_timer_delete(p, 0)), 0);
  NEED_EQ(SYS(k_timer_delete(p, 0)), -K_EINVAL);
  NEED_EQ(SYS(k_timer_get(p, 0, &now)), -K_EINVAL);
  NEED_EQ(set(p, 1, -1, 0), -K_EINVAL);
  NEED_EQ(create(p, K_SIGUSR1), 0); /* the number is free again */
  return 0;
}

TEST(deleted_timers_are_gone) { EXPECT_EQ(native_run(deletes, NULL), 0); }

static int many(k_process *p, void *arg) {
  (void)arg;
  for (int i = 0; i < 128; i++) NEED_EQ(create(p, K_SIGUSR1), i);
  NEED_EQ(create(p, K_SIGUSR1), -K_EAGAIN);
  return 0;
}

TEST(a_process_has_a_bounded_number_of_timers) { EXPECT_EQ(native_run(many, NULL), 0); }

static int charged(k_process *p, void *arg) {
  (void)arg;
  uint64_t before = p->kernel->used.memory, limit = p->kernel->limits.memory;
  k_ret id = create(p, K_SIGUSR1);
  NEED_EQ(id, 0);
  uint64_t with = p->kernel->used.memory;
  NEED(with > before);
  p->kernel->limits.memory = with + (with - before) - 1;
  NEED_EQ(create(p, K_SIGUSR1), -K_ENOMEM);
  p->kernel->limits.memory = limit;
  NEED_EQ(p->kernel->used.memory, with);
  NEED_EQ(SYS(k_timer_delete(p, (int32_t)id)), 0);
  NEED_EQ(p->kernel->used.memory, before);
  return 0;
}

TEST(a_timer_is_charged_until_it_is_deleted) { EXPECT_EQ(native_run(charged, NULL), 0); }
