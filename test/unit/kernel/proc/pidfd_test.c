/* pidfd_test.c - pidfd_open(2): what a descriptor of a process says while that lives, ends and is gone. */
#include "kernel/file/eventfd.h"
#include "kernel/file/poll.h"
#include "kernel/proc/pidfd.h"
#include "native_runner.h"

static k_ret open_pidfd(k_process *p, int32_t pid) {
  k_file *f = NULL;
  k_process *named = k_process_find(p->kernel, pid);
  if (named == NULL) return -K_ESRCH;
  K_TRY(k_pidfd(named, 0, &f));
  return k_fd_add(&p->fds, f, 0, false);
}

static k_ret named(k_process *p, int32_t fd) {
  k_process *found = NULL;
  k_file *f = NULL;
  K_TRY(k_fd_get(&p->fds, fd, &f));
  K_TRY(k_pidfd_process(f, &found));
  return found != NULL ? found->pid : 0;
}

static int ends_when_told(k_process *p, void *arg) {
  (void)arg;
  (void)!SYS(k_nanosleep(p, K_FOREVER));
  return 3;
}

static int watches(k_process *p, void *arg) {
  (void)arg;
  k_wait_result got;
  k_ret child = native_fork(p, ends_when_told, NULL);
  k_ret fd = SYS(open_pidfd(p, (int32_t)child)), second = SYS(open_pidfd(p, (int32_t)child));
  NEED_EQ(fd, 0);
  NEED_EQ(second, 1);
  k_pollfd in = { .fd = 0, .events = K_POLLIN };
  NEED_EQ(SYS(k_poll(p, &in, 1, 0, NULL)), 0);
  NEED_EQ(SYS(k_kill(p->kernel, p, (int32_t)child, &(k_siginfo){ .signo = K_SIGTERM })), 0);
  NEED_EQ(SYS(k_poll(p, &in, 1, K_FOREVER, NULL)), 1);
  NEED_EQ(in.revents, K_POLLIN);
  NEED_EQ(SYS(named(p, 0)), child);
  NEED_EQ(SYS(k_fd_close(&p->fds, 1)), 0); /* before its process goes */
  NEED_EQ(SYS(k_wait(p, (int32_t)child, K_WEXITED, &got)), child);
  NEED_EQ(SYS(named(p, 0)), 0);
  NEED_EQ(SYS(k_poll(p, &in, 1, 0, NULL)), 1);
  NEED_EQ(in.revents, K_POLLIN | K_POLLHUP);
  return 0;
}

TEST(pidfd_is_readable_after_exit_and_esrch_after_reaping) { EXPECT_EQ(native_run(watches, NULL), 0); }

static int takes(k_process *p, void *arg) {
  (void)arg;
  k_file *mine = NULL, *taken = NULL, *named_file = NULL;
  NEED_EQ(SYS(k_eventfd(p->kernel, 1, false, 0, &mine)), 0);
  NEED_EQ(SYS(k_fd_add(&p->fds, mine, 5, false)), 5);
  k_ret child = native_fork(p, ends_when_told, NULL);
  k_ret fd = SYS(open_pidfd(p, (int32_t)child)), own = SYS(open_pidfd(p, 1));
  NEED_EQ(SYS(k_fd_get(&p->fds, (int32_t)fd, &named_file)), 0);
  NEED_EQ(SYS(k_pidfd_file(p, named_file, 5, &taken)), 0);
  NEED_EQ(taken == mine, true);
  SYS((k_file_unref(taken), 0));
  NEED_EQ(SYS(k_pidfd_file(p, named_file, 6, &taken)), -K_EBADF);
  NEED_EQ(SYS(k_pidfd_file(p, mine, 5, &taken)), -K_EBADF);
  NEED_EQ(SYS(k_fd_get(&p->fds, (int32_t)own, &named_file)), 0);
  NEED_EQ(SYS(k_pidfd_file(p, named_file, 0, &taken)), -K_EPERM); /* init's */
  return (int)SYS(k_kill(p->kernel, p, (int32_t)child, &(k_siginfo){ .signo = K_SIGKILL }));
}

TEST(a_file_of_another_process_can_be_shared) { EXPECT_EQ(native_run(takes, NULL), 0); }
