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
