/* rlimit_test.c - prlimit(2). */
#include "native_runner.h"

static k_ret set(k_process *p, uint32_t which, uint64_t soft, uint64_t hard) {
  k_rlimit limit = { soft, hard };
  return SYS(k_prlimit(p, 0, which, &limit, NULL));
}

static int limits(k_process *p, void *arg) {
  (void)arg;
  k_rlimit old;
  NEED_EQ(SYS(k_prlimit(p, 0, K_RLIMIT_NOFILE, NULL, &old)), 0);
  NEED_EQ(old.soft, p->kernel->limits.open_files);
  NEED_EQ(set(p, K_RLIMIT_NOFILE, 2, 3), 0);
  NEED_EQ(set(p, K_RLIMIT_NOFILE, 3, 3), 0);
  NEED_EQ(set(p, K_RLIMIT_NOFILE, 3, 4), -K_EPERM);
  NEED_EQ(set(p, K_RLIMIT_NOFILE, 4, 3), -K_EINVAL);
  NEED_EQ(set(p, 16, 1, 1), -K_EINVAL);
  NEED_EQ(SYS(k_prlimit(p, 9999, K_RLIMIT_CPU, NULL, &old)), -K_ESRCH);
  NEED_EQ(SYS(k_prlimit(p, 1, K_RLIMIT_CPU, NULL, &old)), -K_EPERM);
  NEED_EQ(SYS(k_prlimit(p, 0, K_RLIMIT_CORE, NULL, &old)), 0);
  NEED_EQ(old.hard, 0);
  return 0;
}

TEST(limits_can_be_lowered_and_not_raised) { EXPECT_EQ(native_run(limits, NULL), 0); }

static int few_files(k_process *p, void *arg) {
  (void)arg;
  NEED_EQ(set(p, K_RLIMIT_NOFILE, 2, 2), 0);
  NEED_EQ(native_open(p, "/tmp/a", K_O_RDWR), 0);
  NEED_EQ(native_open(p, "/tmp/b", K_O_RDWR), 1);
  NEED_EQ(native_open(p, "/tmp/c", K_O_RDWR), -K_EMFILE);
  return 0;
}

TEST(the_limit_of_open_files_counts_at_once) { EXPECT_EQ(native_run(few_files, NULL), 0); }

static int of_a_child(k_process *p, void *arg) {
  (void)arg;
  int32_t pid = (int32_t)native_fork(p, native_sleeps, NULL);
  k_rlimit small = { 1, 1 }, old;
  NEED_EQ(SYS(k_prlimit(p, pid, K_RLIMIT_FSIZE, &small, NULL)), 0);
  NEED_EQ(SYS(k_prlimit(p, pid, K_RLIMIT_FSIZE, NULL, &old)), 0);
  NEED_EQ(old.soft, 1);
  NEED_EQ(SYS(k_prlimit(p, 0, K_RLIMIT_FSIZE, NULL, &old)), 0);
  NEED_EQ(old.soft, K_RLIM_INFINITY);
  return 0;
}

TEST(the_limits_of_another_process_can_be_set) { EXPECT_EQ(native_run(of_a_child, NULL), 0); }

/* ---- processor time ---- */

static int warnings;

static void warn(k_process *p, int sig, const k_siginfo *info) {
  (void)p, (void)sig, (void)info;
  warnings++;
}

static int computes(k_process *p, void *arg) {
  (void)arg;
  for (;;) native_checkpoint(p);
  return 0; /* for compilers that ask for it */
}

static int limited(k_process *p, void *arg) {
  const k_rlimit *limit = arg;
  NEED_EQ(set(p, K_RLIMIT_CPU, limit->soft, limit->hard), 0);
  return computes(p, NULL);
}

static int ends_by(k_process *p, native_main *fn, void *arg) {
  k_wait_result got;
  int32_t pid = (int32_t)native_fork(p, fn, arg);
  return SYS(k_wait(p, pid, K_WEXITED, &got)) == pid ? got.status : -1;
}

static int is_warned_and_killed(k_process *p, void *arg) {
  static k_rlimit zero = { 0, K_RLIM_INFINITY }, hard = { 1, 1 };
  (void)arg;
  NEED_EQ(ends_by(p, limited, &zero), K_SIGXCPU);
  NEED_EQ(ends_by(p, limited, &hard), K_SIGKILL);
  return 0;
}

TEST(processor_time_beyond_its_limit_ends_a_process) { EXPECT_EQ(native_run(is_warned_and_killed, NULL), 0); }

static int goes_on_to_the_hard_one(k_process *p, void *arg) {
  k_rlimit limit;
  warnings = 0;
  native_on(p, K_SIGXCPU, warn, 0);
  NEED_EQ(set(p, K_RLIMIT_CPU, 0, 2), 0);
  while (warnings == 0) native_checkpoint(p);
  NEED_EQ(SYS(k_prlimit(p, 0, K_RLIMIT_CPU, NULL, &limit)), 0);
  NEED_EQ(limit.soft, 1);
  while (warnings == 1) native_checkpoint(p);
  NEED(p->cpu.running);
  return computes(p, arg);
}

static int outlives_warnings(k_process *p, void *arg) {
  (void)arg;
  NEED_EQ(ends_by(p, goes_on_to_the_hard_one, NULL), K_SIGKILL);
  NEED_EQ(warnings, 2);
  return 0;
}

TEST(a_handler_is_warned_each_second_until_the_hard_limit) {
  EXPECT_EQ(native_run(outlives_warnings, NULL), 0);
}

static int inherits(k_process *p, void *arg) {
  k_sigaction ignore = { .handler = K_SIG_IGN };
  (void)arg;
  NEED_EQ(SYS(k_sigaction_set(p, K_SIGXCPU, &ignore, NULL)), 0);
  NEED_EQ(set(p, K_RLIMIT_CPU, 0, 1), 0);
  NEED_EQ(ends_by(p, computes, NULL), K_SIGKILL);
  return 0;
}

TEST(a_child_has_the_limit_and_time_of_its_own) { EXPECT_EQ(native_run(inherits, NULL), 0); }

static int is_limited_by_another(k_process *p, void *arg) {
  static const k_rlimit zero = { 0, 0 };
  k_wait_result got;
  (void)arg;
  int32_t pid = (int32_t)native_fork(p, computes, NULL);
  NEED_EQ(SYS(k_prlimit(p, pid, K_RLIMIT_CPU, &zero, NULL)), 0);
  NEED_EQ(SYS(k_wait(p, pid, K_WEXITED, &got)), pid);
  NEED_EQ(got.status, K_SIGKILL);
  return 0;
}

TEST(a_process_can_be_given_a_limit_of_time) { EXPECT_EQ(native_run(is_limited_by_another, NULL), 0); }

static int sleeps_through(k_process *p, void *arg) {
  (void)arg;
  NEED_EQ(set(p, K_RLIMIT_CPU, 1, 1), 0);
  NEED_EQ(SYS(k_nanosleep(p, clock_mono_ns() + 1500 * NS_PER_MS)), 0);
  return 0;
}

TEST(a_sleep_uses_no_processor_time) { EXPECT_EQ(native_run(sleeps_through, NULL), 0); }
