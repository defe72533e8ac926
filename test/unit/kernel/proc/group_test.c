/* group_test.c - setpgid(2), setsid(2) and orphaned groups. */
#include "native_runner.h"

static k_ret send(k_process *p, k_ret pid, int sig) {
  return SYS(k_kill(p->kernel, p, (int32_t)pid, &(k_siginfo){ .signo = sig }));
}

static int moves(k_process *p, void *arg) {
  (void)arg;
  int32_t a = (int32_t)native_fork(p, native_sleeps, NULL), b = (int32_t)native_fork(p, native_sleeps, NULL);
  NEED_EQ(SYS(k_getpgid(p, a)), p->pgid);
  NEED_EQ(SYS(k_setpgid(p, a, 0)), 0);
  NEED_EQ(SYS(k_getpgid(p, a)), a);
  NEED_EQ(SYS(k_setpgid(p, b, a)), 0);
  NEED_EQ(SYS(k_getpgid(p, b)), a);
  NEED_EQ(SYS(k_setpgid(p, b, p->pgid)), 0);
  return 0;
}

TEST(a_parent_puts_its_children_into_groups) { EXPECT_EQ(native_run(moves, NULL), 0); }

static int may_not(k_process *p, void *arg) {
  (void)arg;
  int32_t child = (int32_t)native_fork(p, native_sleeps, NULL);
  NEED_EQ(SYS(k_setpgid(p, 0, 0)), -K_EPERM); /* it leads a session */
  NEED_EQ(SYS(k_setpgid(p, child, -1)), -K_EINVAL);
  NEED_EQ(SYS(k_setpgid(p, child, 9999)), -K_EPERM);
  NEED_EQ(SYS(k_setpgid(p, 9999, 0)), -K_ESRCH);
  NEED_EQ(SYS(k_setpgid(p, 1, 0)), -K_ESRCH);
  SYS((k_process_find(p->kernel, child)->has_execed = true, 0));
  NEED_EQ(SYS(k_setpgid(p, child, 0)), -K_EACCES);
  NEED_EQ(SYS(k_getpgid(p, 9999)), -K_ESRCH);
  NEED_EQ(SYS(k_getsid(p, 9999)), -K_ESRCH);
  return 0;
}

TEST(setpgid_refuses_as_its_page_says) { EXPECT_EQ(native_run(may_not, NULL), 0); }

static int new_session(k_process *p, void *arg) {
  (void)arg;
  NEED_EQ(SYS(k_setsid(p)), p->pid);
  NEED_EQ(p->pgid, p->pid);
  NEED_EQ(SYS(k_getsid(p, 0)), p->pid);
  NEED_EQ(SYS(k_setsid(p)), -K_EPERM);
  return 0;
}

static int makes_session(k_process *p, void *arg) {
  (void)arg;
  k_wait_result got;
  NEED_EQ(SYS(k_setsid(p)), -K_EPERM);
  NEED(native_fork(p, new_session, NULL) > 0);
  NEED(SYS(k_wait(p, -1, K_WEXITED, &got)) > 0);
  return got.status;
}

TEST(setsid_of_a_group_leader_is_eperm) { EXPECT_EQ(native_run(makes_session, NULL), 0); }

static int foreign_session(k_process *p, void *arg) {
  (void)arg;
  NEED_EQ(SYS(k_setsid(p)), p->pid);
  return native_sleeps(p, NULL);
}

static int other_session(k_process *p, void *arg) {
  (void)arg;
  int32_t child = (int32_t)native_fork(p, foreign_session, NULL);
  native_until_asleep(p, child);
  NEED_EQ(SYS(k_setpgid(p, child, p->pgid)), -K_EPERM);
  return 0;
}

TEST(a_child_in_another_session_stays_there) { EXPECT_EQ(native_run(other_session, NULL), 0); }

/* ---- orphaned groups ---- */

static void on_signal(k_process *p, int sig, const k_siginfo *info) {
  (void)info, (void)sig;
  (void)!native_write(p, 1, sig == K_SIGHUP ? "h" : "c", 1);
}

static int member(k_process *p, void *arg) {
  (void)arg;
  native_on(p, K_SIGHUP, on_signal, 0);
  native_on(p, K_SIGCONT, on_signal, 0);
  return native_sleeps(p, NULL);
}

/* Starts a stopped job of its own and ends: no process of the session is left to continue it. */
static int shell(k_process *p, void *arg) {
  (void)arg;
  k_wait_result got;
  int32_t job = (int32_t)native_fork(p, member, NULL);
  NEED_EQ(SYS(k_setpgid(p, job, 0)), 0);
  native_until_asleep(p, job);
  NEED_EQ(send(p, job, K_SIGTSTP), 0);
  NEED_EQ(SYS(k_wait(p, job, K_WUNTRACED, &got)), job);
  return 0;
}

static int watches(k_process *p, void *arg) {
  (void)arg;
  int fds[2];
  char text[3] = "";
  NEED_EQ(native_pipe(p, fds, 0), 0); /* 0 and 1 */
  NEED(native_fork(p, shell, NULL) > 0);
  NEED_EQ(native_read(p, 0, text, 1), 1);
  NEED_EQ(native_read(p, 0, text + 1, 1), 1);
  NEED(strcmp(text, "hc") == 0);
  return 0;
}

TEST(a_stopped_group_that_becomes_an_orphan_is_hung_up_and_continued) {
  EXPECT_EQ(native_run(watches, NULL), 0);
}

static int tries_to_stop(k_process *p, void *arg) {
  (void)arg;
  NEED_EQ(send(p, p->pid, K_SIGTSTP), 0);
  NEED_EQ(send(p, p->pid, K_SIGTTIN), 0);
  NEED_EQ(send(p, p->pid, K_SIGTTOU), 0);
  return 0;
}

TEST(an_orphaned_group_is_not_stopped_from_the_keyboard) { EXPECT_EQ(native_run(tries_to_stop, NULL), 0); }
