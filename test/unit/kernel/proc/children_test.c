/* children_test.c - waitid(2), wait4(2), SIGCHLD and orphans. */
#include "native_runner.h"

static int code(k_process *p, void *arg) {
  (void)p;
  return (int)(intptr_t)arg;
}

static k_ret send(k_process *p, k_ret pid, int sig) {
  return SYS(k_kill(p->kernel, p, (int32_t)pid, &(k_siginfo){ .signo = sig, .pid = p->pid }));
}

/* ---- exits ---- */

static int waits_for_each(k_process *p, void *arg) {
  (void)arg;
  k_wait_result got;
  k_ret a = native_fork(p, code, (void *)3), b = native_fork(p, code, (void *)4);
  NEED_EQ(SYS(k_wait(p, (int32_t)b, K_WEXITED, &got)), b);
  NEED_EQ(got.status, 4 << 8);
  NEED_EQ(got.code, K_CLD_EXITED);
  NEED_EQ(SYS(k_wait(p, (int32_t)a, K_WEXITED, &got)), a);
  NEED_EQ(got.status, 3 << 8);
  NEED_EQ(SYS(k_wait(p, -1, K_WEXITED, &got)), -K_ECHILD);
  return 0;
}

TEST(a_child_is_waited_for_by_its_pid) { EXPECT_EQ(native_run(waits_for_each, NULL), 0); }

static int knows_killed(k_process *p, void *arg) {
  (void)arg;
  k_wait_result got;
  k_ret pid = native_fork(p, native_sleeps, NULL);
  NEED_EQ(send(p, pid, K_SIGTERM), 0);
  NEED_EQ(SYS(k_wait(p, -1, K_WEXITED, &got)), pid);
  NEED_EQ(got.status, K_SIGTERM);
  NEED_EQ(got.code, K_CLD_KILLED);
  return 0;
}

TEST(a_killed_child_has_its_signal_as_status) { EXPECT_EQ(native_run(knows_killed, NULL), 0); }

static int does_not_hang(k_process *p, void *arg) {
  (void)arg;
  k_wait_result got = { .pid = 77 };
  NEED(native_fork(p, native_sleeps, NULL) > 0);
  NEED_EQ(SYS(k_wait(p, -1, K_WEXITED | K_WNOHANG, &got)), 0);
  NEED_EQ(got.pid, 0);
  return 0;
}

TEST(nohang_answers_0_while_children_live) { EXPECT_EQ(native_run(does_not_hang, NULL), 0); }

static int childless(k_process *p, void *arg) {
  (void)arg;
  k_wait_result got;
  NEED_EQ(SYS(k_wait(p, -1, K_WEXITED | K_WNOHANG, &got)), -K_ECHILD);
  NEED_EQ(SYS(k_wait(p, 1, K_WEXITED, &got)), -K_ECHILD);
  NEED_EQ(SYS(k_wait(p, p->pid, K_WEXITED, &got)), -K_ECHILD);
  NEED_EQ(SYS(k_wait(p, -1, 0, &got)), -K_EINVAL);
  return 0;
}

TEST(waiting_without_children_is_an_error) { EXPECT_EQ(native_run(childless, NULL), 0); }

static int keeps(k_process *p, void *arg) {
  (void)arg;
  k_wait_result got;
  k_ret pid = native_fork(p, code, (void *)5);
  NEED_EQ(SYS(k_wait(p, -1, K_WEXITED | K_WNOWAIT, &got)), pid);
  NEED_EQ(SYS(k_wait(p, -1, K_WEXITED | K_WNOWAIT, &got)), pid);
  NEED_EQ(SYS(k_wait(p, -1, K_WEXITED, &got)), pid);
  NEED_EQ(SYS(k_wait(p, -1, K_WEXITED, &got)), -K_ECHILD);
  return 0;
}

TEST(nowait_leaves_the_child_waitable) { EXPECT_EQ(native_run(keeps, NULL), 0); }

static int by_group(k_process *p, void *arg) {
  (void)arg;
  k_wait_result got;
  k_ret mine = native_fork(p, native_sleeps, NULL), other = native_fork(p, native_sleeps, NULL);
  NEED_EQ(SYS(k_setpgid(p, (int32_t)other, 0)), 0);
  NEED_EQ(send(p, other, K_SIGKILL), 0);
  NEED_EQ(SYS(k_wait(p, -(int32_t)other, K_WEXITED, &got)), other);
  NEED_EQ(SYS(k_wait(p, -(int32_t)other, K_WEXITED, &got)), -K_ECHILD);
  NEED_EQ(SYS(k_wait(p, 0, K_WEXITED | K_WNOHANG, &got)), 0);
  NEED_EQ(send(p, mine, K_SIGKILL), 0);
  NEED_EQ(SYS(k_wait(p, 0, K_WEXITED, &got)), mine);
  return 0;
}

TEST(children_are_waited_for_by_group) { EXPECT_EQ(native_run(by_group, NULL), 0); }

/* ---- stops ---- */

static int stop_and_go(k_process *p, void *arg) {
  (void)arg;
  k_wait_result got;
  k_ret pid = native_fork(p, native_sleeps, NULL);
  const uint32_t all = K_WEXITED | K_WUNTRACED | K_WCONTINUED;
  NEED_EQ(send(p, pid, K_SIGSTOP), 0);
  NEED_EQ(SYS(k_wait(p, -1, all, &got)), pid);
  NEED_EQ(got.status, K_SIGSTOP << 8 | 0x7f);
  NEED_EQ(got.code, K_CLD_STOPPED);
  NEED_EQ(SYS(k_wait(p, -1, all | K_WNOHANG, &got)), 0);
  NEED_EQ(send(p, pid, K_SIGCONT), 0);
  NEED_EQ(SYS(k_wait(p, -1, all, &got)), pid);
  NEED_EQ(got.status, 0xffff);
  NEED_EQ(got.code, K_CLD_CONTINUED);
  NEED_EQ(SYS(k_wait(p, -1, all | K_WNOHANG, &got)), 0);
  NEED_EQ(send(p, pid, K_SIGSTOP), 0);
  NEED_EQ(send(p, pid, K_SIGKILL), 0);
  NEED_EQ(SYS(k_wait(p, -1, K_WEXITED, &got)), pid);
  NEED_EQ(got.status, K_SIGKILL);
  return 0;
}

TEST(a_stop_and_a_continue_are_each_told_once) { EXPECT_EQ(native_run(stop_and_go, NULL), 0); }

static int not_asked(k_process *p, void *arg) {
  (void)arg;
  k_wait_result got;
  k_ret pid = native_fork(p, native_sleeps, NULL);
  NEED_EQ(send(p, pid, K_SIGSTOP), 0);
  NEED_EQ(SYS(k_wait(p, -1, K_WUNTRACED | K_WNOWAIT, &got)), pid);
  NEED_EQ(SYS(k_wait(p, -1, K_WEXITED | K_WNOHANG, &got)), 0);
  NEED_EQ(SYS(k_wait(p, -1, K_WUNTRACED, &got)), pid);
  return 0;
}

TEST(stop_is_reported_only_with_wuntraced) { EXPECT_EQ(native_run(not_asked, NULL), 0); }

/* ---- SIGCHLD ---- */

static k_siginfo last_child;
static int child_signals;

static void on_child(k_process *p, int sig, const k_siginfo *info) {
  (void)p, (void)sig;
  last_child = *info;
  child_signals++;
}

static int hears(k_process *p, void *arg) {
  (void)arg;
  k_wait_result got;
  child_signals = 0;
  native_on(p, K_SIGCHLD, on_child, K_SA_RESTART);
  k_ret pid = native_fork(p, code, (void *)9);
  NEED_EQ(SYS(k_wait(p, -1, K_WEXITED, &got)), pid);
  NEED_EQ(child_signals, 1);
  NEED_EQ(last_child.pid, pid);
  NEED_EQ(last_child.code, K_CLD_EXITED);
  NEED_EQ(last_child.status, 9);
  return 0;
}

TEST(sigchld_carries_pid_and_status) { EXPECT_EQ(native_run(hears, NULL), 0); }

static int hears_stops(k_process *p, void *arg) {
  uint32_t flags = (uint32_t)(uintptr_t)arg;
  k_wait_result got;
  child_signals = 0;
  native_on(p, K_SIGCHLD, on_child, flags | K_SA_RESTART);
  k_ret pid = native_fork(p, native_sleeps, NULL);
  NEED_EQ(send(p, pid, K_SIGSTOP), 0);
  NEED_EQ(SYS(k_wait(p, -1, K_WUNTRACED, &got)), pid);
  return child_signals;
}

TEST(a_stop_sends_sigchld) { EXPECT_EQ(native_run(hears_stops, (void *)0), 1 << 8); }
TEST(nocldstop_is_not_told_of_stops) { EXPECT_EQ(native_run(hears_stops, (void *)K_SA_NOCLDSTOP), 0); }

static int reaps_itself(k_process *p, void *arg) {
  k_wait_result got;
  k_sigaction action = { .handler = (uint32_t)(uintptr_t)arg };
  if (action.handler == K_SIG_DFL) action.flags = K_SA_NOCLDWAIT;
  NEED_EQ(SYS(k_sigaction_set(p, K_SIGCHLD, &action, NULL)), 0);
  NEED(native_fork(p, code, (void *)1) > 0);
  NEED(native_fork(p, code, (void *)2) > 0);
  NEED_EQ(SYS(k_wait(p, -1, K_WEXITED, &got)), -K_ECHILD);
  NEED_EQ(SYS(p->kernel->used.processes), 1);
  return 0;
}

TEST(ignored_sigchld_leaves_no_zombies) { EXPECT_EQ(native_run(reaps_itself, (void *)K_SIG_IGN), 0); }
TEST(nocldwait_leaves_no_zombies) { EXPECT_EQ(native_run(reaps_itself, (void *)K_SIG_DFL), 0); }

/* ---- orphans ---- */

static int grandchild(k_process *p, void *arg) {
  int *fds = arg;
  char c;
  NEED_EQ(native_close(p, fds[1]), 0);
  NEED_EQ(native_read(p, fds[0], &c, 1), 1);
  NEED_EQ(SYS(p->parent->pid), 1);
  return 0;
}

static int leaves_a_child(k_process *p, void *arg) {
  NEED(native_fork(p, grandchild, arg) > 0);
  return 0;
}

static int orphan_maker(k_process *p, void *arg) {
  (void)arg;
  static int fds[2]; /* the grandchild outlives this frame */
  k_wait_result got;
  NEED_EQ(native_pipe(p, fds, 0), 0);
  k_ret pid = native_fork(p, leaves_a_child, fds);
  NEED_EQ(SYS(k_wait(p, -1, K_WEXITED, &got)), pid);
  NEED_EQ(native_write(p, fds[1], "x", 1), 1);
  NEED_EQ(native_close(p, fds[0]), 0);
  NEED_EQ(SYS(k_wait(p, -1, K_WEXITED, &got)), -K_ECHILD);
  return 0;
}

TEST(an_orphan_belongs_to_init) { EXPECT_EQ(native_run(orphan_maker, NULL), 0); }

static int ends_at_once(k_process *p, void *arg) {
  k_ret pid = native_fork(p, code, (void *)0);
  native_until_asleep(p, (int32_t)pid); /* it has ended: a zombie */
  (void)arg;
  return 0;
}

TEST(init_reaps_the_zombies_it_inherits) {
  native *n = native_new(NULL);
  EXPECT_EQ(native_run_with(n, ends_at_once, NULL), 0);
  k_lock(native_kernel(n));
  EXPECT_EQ(native_kernel(n)->used.processes, 0);
  k_unlock(native_kernel(n));
  native_free(n);
}

/* ---- times ---- */

static int busy(k_process *p, void *arg) {
  (void)arg;
  p->user_ns = 5;
  p->system_ns = 6;
  return 0;
}

static int sums(k_process *p, void *arg) {
  (void)arg;
  k_wait_result got;
  NEED(native_fork(p, busy, NULL) > 0);
  NEED_EQ(p->children_user_ns, 0);
  NEED(SYS(k_wait(p, -1, K_WEXITED, &got)) > 0);
  NEED_EQ(got.user_ns, 5);
  NEED_EQ(p->children_user_ns, 5);
  NEED_EQ(p->children_system_ns, 6);
  return 0;
}

TEST(the_time_of_a_child_counts_when_it_is_waited_for) { EXPECT_EQ(native_run(sums, NULL), 0); }
