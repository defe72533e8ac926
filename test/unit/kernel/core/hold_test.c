/* hold_test.c - how long calls hold kernel.mu on sets and lists of the largest length.
 *
 * Measured is the processor's time of the calling thread. The limit is generous: what the kernel promises (kernel.h, "Pieces") is
 * a hundredth of it, and a machine with other work is slow. HOLDS=1 shows the times. */
#include "kernel/file/epoll.h"
#include "kernel/file/eventfd.h"
#include "kernel/file/fcntl.h"
#include "native_runner.h"

#include <stdlib.h>

enum { LIMIT_MS = 10, FDS = 1000, SETS = 16 };

static void hold_begin(k_process *p, k_hold_watch *watch) {
  k_lock(p->kernel);
  k_mutex_watch(&p->kernel->mu, watch);
  k_unlock(p->kernel);
}

static void hold_end(k_process *p, k_hold_watch *watch, const char *what) {
  k_lock(p->kernel);
  k_mutex_watch(&p->kernel->mu, NULL);
  k_unlock(p->kernel);
  if (getenv("HOLDS") != NULL) fprintf(stderr, "%s: %lld us\n", what, (long long)watch->longest_ns / 1000);
  NEED(watch->longest_ns < LIMIT_MS * NS_PER_MS);
}

#define HELD(p, what, calls)                                                                                 \
  do {                                                                                                       \
    k_hold_watch watch_;                                                                                     \
    hold_begin(p, &watch_);                                                                                  \
    calls;                                                                                                   \
    hold_end(p, &watch_, what);                                                                              \
  } while (0)

/* ---- epoll ---- */

static int closes_what_is_watched(k_process *p, void *arg) {
  (void)arg;
  k_file *sets[SETS], *f = NULL;
  k_epoll_event event = { .events = K_POLLOUT }, got[4];
  NEED_EQ(SYS(k_eventfd(p->kernel, 0, false, 0, &f)), 0);
  NEED_EQ(SYS(k_fd_add(&p->fds, f, 0, false)), 0);
  for (int fd = 1; fd < FDS; fd++) NEED_EQ(SYS(k_fd_add(&p->fds, k_file_ref(f), 0, false)), fd);
  for (int s = 0; s < SETS; s++) {
    NEED_EQ(SYS(k_epoll_new(p->kernel, &sets[s])), 0);
    for (int fd = 0; fd < FDS; fd++) NEED_EQ(SYS(k_epoll_ctl(p, sets[s], K_EPOLL_CTL_ADD, fd, &event)), 0);
  }
  HELD(p, "epoll_wait", NEED_EQ(SYS(k_epoll_wait(p, sets[0], got, 4, 0, NULL)), 4));
  HELD(p, "epoll_ctl", NEED_EQ(SYS(k_epoll_ctl(p, sets[0], K_EPOLL_CTL_MOD, FDS - 1, &event)), 0));
  for (int fd = 1; fd < FDS; fd++) NEED_EQ(native_close(p, fd), 0);
  HELD(p, "close of a file in many sets", NEED_EQ(native_close(p, 0), 0));
  NEED_EQ(p->kernel->interest_count, 0);
  for (int s = 0; s < SETS; s++) NEED_EQ(SYS((k_file_unref(sets[s]), 0)), 0);
  return 0;
}

TEST(a_file_in_many_sets_is_closed_soon) { EXPECT_EQ(native_run(closes_what_is_watched, NULL), 0); }

/* ---- locks ---- */

static int locks_bytes(k_process *p, void *arg) {
  (void)arg;
  NEED_EQ(native_open(p, "/tmp/locked", K_O_CREAT | K_O_RDWR), 0);
  k_ret r = 0;
  for (int64_t at = 0; r == 0; at += 2) {
    k_flock one = { .type = K_F_WRLCK, .start = at, .len = 1 };
    r = SYS(k_fcntl_lock(p, 0, K_F_SETLK, &one));
  }
  NEED_EQ(r, -K_ENOLCK);
  k_flock last = { .type = K_F_UNLCK, .start = 16000, .len = 1 };
  HELD(p, "unlock", NEED_EQ(SYS(k_fcntl_lock(p, 0, K_F_SETLK, &last)), 0));
  HELD(p, "close of a file with many locks", NEED_EQ(native_close(p, 0), 0));
  NEED_EQ(p->kernel->lock_count, 0);
  return 0;
}

TEST(a_file_with_many_locks_is_closed_soon) { EXPECT_EQ(native_run(locks_bytes, NULL), 0); }
