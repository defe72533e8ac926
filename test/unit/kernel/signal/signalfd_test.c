/* signalfd_test.c - signalfd(2). */
#include "kernel/file/eventfd.h"
#include "kernel/file/poll.h"
#include "native_runner.h"

static k_ret make(k_process *p, k_sigset set) {
  k_file *f = NULL;
  K_TRY(k_signalfd(p, set, 0, &f));
  return k_fd_add(&p->fds, f, 0, false);
}

static int sends(k_process *p, void *arg) {
  (void)arg;
  int32_t parent = (int32_t)SYS(p->parent->pid);
  native_until_asleep(p, parent);
  return (int)SYS(k_kill(p->kernel, p, parent, &(k_siginfo){ .signo = K_SIGUSR1, .pid = p->pid }));
}

static int reads(k_process *p, void *arg) {
  (void)arg;
  uint32_t record[32];
  k_sigset set = k_sigbit(K_SIGUSR1) | k_sigbit(K_SIGUSR2);
  NEED_EQ(SYS(k_sigmask_set(p, K_SIG_BLOCK, &set, NULL)), 0);
  NEED_EQ(SYS(make(p, set)), 0);
  k_ret child = native_fork(p, sends, NULL);
  NEED_EQ(native_read(p, 0, record, sizeof record), 128);
  NEED_EQ(record[0], K_SIGUSR1);
  NEED_EQ(record[3], child);
  NEED_EQ(native_read(p, 0, record, 127), -K_EINVAL);
  k_pollfd in = { .fd = 0, .events = K_POLLIN };
  NEED_EQ(SYS(k_poll(p, &in, 1, 0, NULL)), 0);
  NEED_EQ(SYS(k_kill(p->kernel, p, p->pid, &(k_siginfo){ .signo = K_SIGUSR2 })), 0);
  NEED_EQ(SYS(k_poll(p, &in, 1, 0, NULL)), 1);
  NEED_EQ(SYS(k_signalfd_set(p->fds.slots[0].file, k_sigbit(K_SIGUSR1))), 0);
  NEED_EQ(SYS(k_poll(p, &in, 1, 0, NULL)), 0);
  return 0;
}

TEST(a_signalfd_hands_out_pending_signals) { EXPECT_EQ(native_run(reads, NULL), 0); }
