/* posix_spawn in a straight line: the host opens a child context, the calls below are the child's, and a
 * successful execve answers the child's pid to the parent, which goes on here. No fork, no unwinding, no
 * jump.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../fdop.h"
#include "cay_arch.h"
#include "ksigaction.h"
#include "pthread_impl.h"
#include "syscall.h"

struct job {
  const char *path;
  const posix_spawn_file_actions_t *actions;
  const posix_spawnattr_t *attr;
  char *const *argv, *const *envp;
  const sigset_t *mask; /* the caller's */
};

static long duplicate(int from, int to) {
  if (from != to) return __syscall(SYS_dup3, from, to, 0);
  long flags = __syscall(SYS_fcntl64, from, F_GETFD);
  return flags < 0 ? flags : __syscall(SYS_fcntl64, from, F_SETFD, flags & ~FD_CLOEXEC);
}

static long open_as(const struct fdop *op) {
  long fd = __syscall(SYS_openat, AT_FDCWD, op->path, op->oflag | O_LARGEFILE, op->mode);
  if (fd < 0 || fd == op->fd) return fd;
  long r = __syscall(SYS_dup3, fd, op->fd, 0);
  __syscall(SYS_close, fd);
  return r;
}

static long act(const struct fdop *op) {
  switch (op->cmd) {
  case FDOP_CLOSE: __syscall(SYS_close, op->fd); return 0;
  case FDOP_DUP2: return duplicate(op->srcfd, op->fd);
  case FDOP_OPEN: return open_as(op);
  case FDOP_CHDIR: return __syscall(SYS_chdir, op->path);
  case FDOP_FCHDIR: return __syscall(SYS_fchdir, op->fd);
  default: return 0;
  }
}

/* The list stands newest first. */
static long act_all(const posix_spawn_file_actions_t *actions) {
  const struct fdop *op = actions ? actions->__actions : 0;
  while (op && op->next) op = op->next;
  for (; op; op = op->prev) {
    long r = act(op);
    if (r < 0) return r;
  }
  return 0;
}

static void default_signals(const sigset_t *set) {
  struct k_sigaction action = { 0 };
  for (int sig = 1; sig < _NSIG; sig++)
    if (sigismember(set, sig)) __syscall(SYS_rt_sigaction, sig, &action, 0, _NSIG / 8);
}

static long apply(const posix_spawnattr_t *attr) {
  long r = 0;
  if (attr->__flags & POSIX_SPAWN_SETSIGDEF) default_signals(&attr->__def);
  if (attr->__flags & POSIX_SPAWN_SETSID) r = __syscall(SYS_setsid);
  if (r >= 0 && (attr->__flags & POSIX_SPAWN_SETPGROUP)) r = __syscall(SYS_setpgid, 0, attr->__pgrp);
  if (r >= 0 && (attr->__flags & POSIX_SPAWN_RESETIDS)) {
    r = __syscall(SYS_setgid, __syscall(SYS_getgid));
    if (r >= 0) r = __syscall(SYS_setuid, __syscall(SYS_getuid));
  }
  return r;
}

/* As execvp searches: an entry that cannot be run does not end the search, and is what is reported if nothing
 * better is found. */
static long exec_search(const struct job *job) {
  const char *file = job->path, *path = getenv("PATH");
  if (!*file) return -ENOENT;
  if (strchr(file, '/')) return __syscall(SYS_execve, file, job->argv, job->envp);
  if (!path) path = "/usr/local/bin:/bin:/usr/bin";
  size_t file_len = strnlen(file, NAME_MAX + 1), longest = strnlen(path, PATH_MAX - 1) + 1;
  if (file_len > NAME_MAX) return -ENAMETOOLONG;
  char full[longest + file_len + 1];
  long result = -ENOENT;
  for (const char *end;; path = end + 1) {
    end = __strchrnul(path, ':');
    size_t len = (size_t)(end - path);
    if (len < longest) {
      memcpy(full, path, len);
      full[len] = '/';
      memcpy(full + len + (len > 0), file, file_len + 1);
      long r = __syscall(SYS_execve, full, job->argv, job->envp);
      if (r == -EACCES)
        result = r;
      else if (r != -ENOENT && r != -ENOTDIR)
        return r;
    }
    if (!*end) return result;
  }
}

static long child(const struct job *job) {
  long r = apply(job->attr);
  if (r >= 0) r = act_all(job->actions);
  if (r < 0) return r;
  const sigset_t *mask = job->attr->__flags & POSIX_SPAWN_SETSIGMASK ? &job->attr->__mask : job->mask;
  __syscall(SYS_rt_sigprocmask, SIG_SETMASK, mask, 0, _NSIG / 8);
  return job->attr->__fn ? exec_search(job) : __syscall(SYS_execve, job->path, job->argv, job->envp);
}

int posix_spawn(pid_t *restrict pid, const char *restrict path, const posix_spawn_file_actions_t *actions,
                const posix_spawnattr_t *restrict attr, char *const argv[restrict],
                char *const envp[restrict]) {
  static const posix_spawnattr_t plain;
  sigset_t mask;
  struct job job = { path, actions, attr ? attr : &plain, argv, envp, &mask };
  __block_all_sigs(&mask); /* no handler of the parent may run in the child context */
  long r = __syscall(SYS_cay_vfork, CAY_SPAWN);
  if (r >= 0) {
    r = child(&job);
    if (r <= 0) __syscall(SYS_cay_vfork, CAY_ABANDON);
  }
  __restore_sigs(&mask);
  if (r > 0 && pid) *pid = (pid_t)r;
  return r > 0 ? 0 : (int)-r;
}
