/* wait.h - the one place where anything in the kernel sleeps.
 *
 * Every blocking operation has the same shape, written with kernel.mu held throughout:
 *
 *   for (;;) {
 *     k_ret r = try_it();
 *     if (r != -K_EAGAIN || nonblocking) return r;
 *     K_TRY(k_sleep(k_sleeper_of(p), queues, count, deadline_ns));
 *   }
 *
 * A sleeper registers with its queues, takes its own mutex and only then releases kernel.mu, so no wake between
 * the try and the sleep is lost. A wake says only "look again". The sleeper comes back through the door of
 * kernel.mu (mutex.h) like any other thread.
 *
 * A thread of a process has one sleeper (k_sleeper_of); a thread of the embedder that waits for a process or for
 * room in a pipe has one on its stack (k_sleeper_init, no thread).
 *
 * Locks       all functions require kernel.mu; k_sleep releases it while it sleeps. k_sleeper.mu is taken
 * inside kernel.mu and held for a few instructions. */
#pragma once

#include "base/list.h"
#include "kernel/core/errno.h"
#include "kernel/core/mutex.h"

#include <pthread.h>

typedef struct k_kernel k_kernel;
typedef struct k_process k_process;
typedef struct k_thread k_thread;

typedef struct k_waitq {
  list waiters K_GUARDED;
  uint64_t wakes K_GUARDED; /* so far: a changed count says that something happened since */
} k_waitq;

typedef struct k_sleeper {
  k_kernel *kernel;
  k_thread *thread; /* NULL: one of the embedder, which no signal interrupts */
  pthread_mutex_t mu;
  pthread_cond_t cond;
  bool nudged; /* `mu`: the thread is to come back */
  bool woken;
  bool asleep; /* needs no kick to look at its signals */
} k_sleeper;

typedef struct k_waiter { /* one sleeper, or one watch, on one queue */
  list node;
  k_sleeper *sleeper; /* NULL: a watch */
} k_waiter;

/* A function that is called on each wake of a queue, with kernel.mu held, in place of a sleeper. It neither wakes nor
 * sleeps. The owner removes it before the queue goes. */
typedef struct k_watch {
  k_waiter waiter;
  void (*fn)(struct k_watch *watch);
} k_watch;

enum {
  K_SLEEP_MAX_QUEUES = 1024
}; /* more descriptors than that in one poll: -K_EINVAL before it gets here */
#define K_FOREVER INT64_MAX

/* CLOCK_MONOTONIC underneath. -K_ENOMEM. */
k_ret k_sleeper_init(k_sleeper *s, k_kernel *kernel, k_thread *thread) CHECKED;
void k_sleeper_destroy(k_sleeper *s);

K_UNCHECKED static inline void k_waitq_init(k_waitq *q) {
  list_init(&q->waiters);
  q->wakes = 0;
}

/* Sleeps until one of the queues is woken (0), `deadline_ns` of clock_mono_ns has passed (-K_ETIMEDOUT), a
 * signal wants attention (-K_EINTR, or -K_ERESTART when every handler concerned has SA_RESTART), or the
 * process is ending (-K_EKILLED). A signal or an end that is already pending answers at once. While the
 * process is stopped (SIGSTOP) it sleeps on. -K_ENOMEM. */
k_ret k_sleep(k_sleeper *s, k_waitq *const *queues, size_t count, int64_t deadline_ns) CHECKED K_LOCKED;

/* Everything that waits on `q` looks again. */
void k_wake(k_waitq *q) K_LOCKED;

void k_watch_add(k_watch *watch, k_waitq *q, void (*fn)(k_watch *watch));
void k_watch_remove(k_watch *watch);

/* This sleeper looks again, whatever it waits for: its k_sleep answers 0. */
void k_wake_sleeper(k_sleeper *s);

/* This sleeper looks at its signals; its k_sleep goes on when they do not interrupt it. */
void k_nudge_sleeper(k_sleeper *s);

/* The calling thread sleeps while its process is stopped and neither is ending. */
void k_sleep_stopped(k_thread *t) K_LOCKED;

/* The leader sleeps until it is the only thread of its process, whatever is sent to it. */
void k_sleep_until_alone(k_thread *t) K_LOCKED;

/* turn.c: until nudged, or the deadline. The caller looks again. */
void k_sleep_for_turn(k_thread *t, int64_t deadline_ns) K_LOCKED;

/* For calls that are never restarted (signal(7)): poll, nanosleep, sigsuspend, ... */
static inline k_ret k_never_restart(k_ret r) { return r == -K_ERESTART ? -K_EINTR : r; }
