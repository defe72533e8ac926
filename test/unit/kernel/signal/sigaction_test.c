/* sigaction_test.c - masks for the time of a call, and waiting for signals. */
#include "kernel/file/poll.h"
#include "native_runner.h"

static int seen_count;
static k_sigset mask_inside;

static void note(k_process *p, int sig, const k_siginfo *info) {
  (void)sig, (void)info;
  seen_count++;
  mask_inside = p->leader.mask;
}

static k_ret send(k_process *p, k_ret pid, int sig) {
  return SYS(k_kill(p->kernel, p, (int32_t)pid, &(k_siginfo){ .signo = sig, .pid = p->pid }));
}

static void block(k_process *p, int sig) {
  k_sigset set = k_sigbit(sig);
  NEED_EQ(SYS(k_sigmask_set(p, K_SIG_BLOCK, &set, NULL)), 0);
}

static int sends_usr1(k_process *p, void *arg) {
  int32_t parent = (int32_t)SYS(p->parent->pid);
  native_until_asleep(p, parent);
  NEED_EQ(send(p, parent, arg == NULL ? K_SIGUSR1 : (int)(intptr_t)arg), 0);
  return 0;
}

static int suspends(k_process *p, void *arg) {
  (void)arg;
  seen_count = 0;
  native_on(p, K_SIGUSR1, note, K_SA_RESTART);
  block(p, K_SIGUSR1);
  NEED(native_fork(p, sends_usr1, NULL) > 0);
  NEED_EQ(SYS(k_sigsuspend(p, k_sigbit(K_SIGUSR2))), -K_EINTR);
  NEED_EQ(seen_count, 1);
  NEED_EQ(mask_inside, k_sigbit(K_SIGUSR1) | k_sigbit(K_SIGUSR2));
  NEED_EQ(p->leader.mask, k_sigbit(K_SIGUSR1));
  return 0;
}

TEST(sigsuspend_runs_the_handler_under_its_mask_and_puts_the_old_one_back) {
  EXPECT_EQ(native_run(suspends, NULL), 0);
}

static int already_pending(k_process *p, void *arg) {
  (void)arg;
  seen_count = 0;
  native_on(p, K_SIGUSR1, note, 0);
  block(p, K_SIGUSR1);
  NEED_EQ(send(p, p->pid, K_SIGUSR1), 0);
  NEED_EQ(SYS(k_sigsuspend(p, 0)), -K_EINTR);
  NEED_EQ(seen_count, 1);
  return 0;
}

TEST(sigsuspend_does_not_sleep_past_a_pending_signal) { EXPECT_EQ(native_run(already_pending, NULL), 0); }

static int polls_with_mask(k_process *p, void *arg) {
  (void)arg;
  int fds[2];
  seen_count = 0;
  k_sigset none = 0;
  NEED_EQ(native_pipe(p, fds, 0), 0);
  native_on(p, K_SIGUSR1, note, 0);
  block(p, K_SIGUSR1);
  NEED_EQ(send(p, p->pid, K_SIGUSR1), 0);
  k_pollfd fd = { .fd = fds[1], .events = K_POLLOUT };
  NEED_EQ(SYS(k_poll(p, &fd, 1, K_FOREVER, &none)), 1); /* ready goes before the signal */
  NEED_EQ(seen_count, 0);
  NEED_EQ(p->leader.mask, k_sigbit(K_SIGUSR1));
  fd = (k_pollfd){ .fd = fds[0], .events = K_POLLIN };
  NEED_EQ(SYS(k_poll(p, &fd, 1, K_FOREVER, &none)), -K_EINTR);
  NEED_EQ(seen_count, 1);
  NEED_EQ(p->leader.mask, k_sigbit(K_SIGUSR1));
  NEED_EQ(SYS(k_poll(p, &fd, 1, 1, &none)), 0);
  NEED_EQ(p->leader.mask, k_sigbit(K_SIGUSR1));
  return 0;
}

TEST(ppoll_puts_the_mask_back_on_every_way_out) { EXPECT_EQ(native_run(polls_with_mask, NULL), 0); }

static int waits(k_process *p, void *arg) {
  (void)arg;
  k_siginfo info;
  k_sigset set = k_sigbit(K_SIGUSR1) | k_sigbit(45);
  block(p, K_SIGUSR1);
  block(p, 45);
  k_ret child = native_fork(p, sends_usr1, NULL);
  NEED_EQ(SYS(k_sigtimedwait(p, set, &info, K_FOREVER)), K_SIGUSR1);
  NEED_EQ(info.pid, child);
  NEED(native_fork(p, sends_usr1, (void *)45) > 0);
  NEED_EQ(SYS(k_sigtimedwait(p, set, &info, K_FOREVER)), 45);
  NEED_EQ(SYS(k_sigtimedwait(p, set, &info, clock_mono_ns() + NS_PER_MS)), -K_EAGAIN);
  NEED_EQ(SYS((k_ret)k_signal_pending(p)), 0);
  return 0;
}

TEST(sigtimedwait_takes_a_blocked_signal) { EXPECT_EQ(native_run(waits, NULL), 0); }

static int waits_in_vain(k_process *p, void *arg) {
  (void)arg;
  k_siginfo info;
  seen_count = 0;
  native_on(p, K_SIGUSR2, note, K_SA_RESTART);
  block(p, K_SIGUSR1);
  NEED(native_fork(p, sends_usr1, (void *)K_SIGUSR2) > 0);
  NEED_EQ(SYS(k_sigtimedwait(p, k_sigbit(K_SIGUSR1), &info, K_FOREVER)), -K_EINTR);
  NEED_EQ(seen_count, 1);
  return 0;
}

TEST(sigtimedwait_is_interrupted_by_another_handler) { EXPECT_EQ(native_run(waits_in_vain, NULL), 0); }

static int reads_back(k_process *p, void *arg) {
  (void)arg;
  k_sigaction in = { .handler = K_SIG_IGN, .flags = K_SA_RESTART, .mask = ~UINT64_C(0) }, out;
  NEED_EQ(SYS(k_sigaction_set(p, K_SIGHUP, &in, NULL)), 0);
  NEED_EQ(SYS(k_sigaction_set(p, K_SIGHUP, NULL, &out)), 0);
  NEED_EQ(out.handler, K_SIG_IGN);
  NEED_EQ(out.flags, K_SA_RESTART);
  NEED_EQ(out.mask, ~(k_sigbit(K_SIGKILL) | k_sigbit(K_SIGSTOP)));
  return 0;
}

TEST(sigaction_reads_back_what_was_set) { EXPECT_EQ(native_run(reads_back, NULL), 0); }

static int masks(k_process *p, void *arg) {
  (void)arg;
  k_sigset all = ~UINT64_C(0), two = k_sigbit(2), old;
  NEED_EQ(SYS(k_sigmask_set(p, K_SIG_SETMASK, &all, &old)), 0);
  NEED_EQ(old, 0);
  NEED_EQ(SYS(k_sigmask_set(p, K_SIG_UNBLOCK, &two, &old)), 0);
  NEED_EQ(old, all & ~(k_sigbit(K_SIGKILL) | k_sigbit(K_SIGSTOP)));
  NEED_EQ(SYS(k_sigmask_set(p, 9, NULL, &old)), 0); /* without a set, `how` means nothing */
  NEED_EQ(SYS(k_sigmask_set(p, 9, &two, &old)), -K_EINVAL);
  return 0;
}

TEST(sigprocmask_blocks_all_but_kill_and_stop) { EXPECT_EQ(native_run(masks, NULL), 0); }
