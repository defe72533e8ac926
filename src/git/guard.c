/* guard.c - ends the clone and removes its folder when the reader of the records is gone. The reader removes the folder itself,
 * unless it was killed. A thread waits for the end of the reader; it starts before confine.c gives the file system up, and so may
 * remove the folder. */
#include "base/error.h"
#include "base/thread.h"
#include "git/git.h"

#include <errno.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static int guard_remove_one(const char *path, const struct stat *st, int type, struct FTW *at) {
  (void)st, (void)type, (void)at;
  (void)remove(path);
  return 0;
}

/* In a child process, once its parent has ended: the clone creates no more files then, and the child's copy of the locks is free. */
static _Noreturn void guard_remove(const char *folder, pid_t program, int ended) {
  char none;
  (void)kill(program, SIGKILL);
  while (read(ended, &none, 1) < 0 && errno == EINTR) continue;
  (void)nftw(folder, guard_remove_one, 32, FTW_DEPTH | FTW_PHYS);
  _exit(0);
}

static bool guard_reader_is_gone(int wait_ms) {
  struct pollfd out = { .fd = STDOUT_FILENO };
  return poll(&out, 1, wait_ms) > 0 && (out.revents & POLLERR) != 0;
}

static void guard_watch(void *ctx) {
  const orders *o = ctx;
  pid_t program = getpid();
  int ended[2]; /* its write end is the program's alone */
  while (!guard_reader_is_gone(-1)) continue;
  if (pipe(ended) != 0) _exit(1);
  pid_t child = fork();
  if (child == 0) {
    (void)close(ended[1]);
    guard_remove(o->folder, program, ended[0]);
  }
  if (child < 0) _exit(1);
}

cay_status guard_start(orders *o, cay_error *err) {
  pthread_t thread;
  S_TRY(thread_start("guard", 0, guard_watch, o, &thread, err));
  (void)pthread_detach(thread);
  o->guarded = true;
  return CAY_OK;
}

void guard_end(const orders *o) {
  while (o->guarded && guard_reader_is_gone(0)) (void)pause();
}
