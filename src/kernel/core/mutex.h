/* mutex.h - the one lock of a kernel: a mutex that its holder can hand over.
 *
 * A pthread mutex has no order: a holder that unlocks and locks again is always first. Here a thread that
 * finds the mutex taken stands in the door until it has the mutex, and a holder that lets others go first
 * (k_mutex_breathe) passes through the door as well, so at least one waiting thread gets the mutex meanwhile.
 * A thread that finds it free does not look at the door.
 *
 * Cost        without waiters, lock and unlock are those of pthreads; breathing is the load of a counter.
 *
 * Watching    a test attaches a k_hold_watch, which records the longest time of the thread's processor between
 * two moments at which the mutex was free, or could have been (k_mutex_breathe). */
#pragma once

#include "base/defs.h"
#include "kernel/core/errno.h"

#include <pthread.h>

/* Checked by clang (-Wthread-safety). The capability is "the lock of a kernel": a thread never holds two. */
#if defined(__clang__)
#define K_CAPABILITY(attribute) __attribute__((attribute))
#else
#define K_CAPABILITY(attribute)
#endif

/* Never an object: the name by which the annotations know the lock. */
typedef struct K_CAPABILITY(capability("kernel lock")) k_lock_role {
  char unused;
} k_lock_role;
extern k_lock_role k_the_lock;

#define K_ACQUIRES K_CAPABILITY(acquire_capability(k_the_lock))
#define K_RELEASES K_CAPABILITY(release_capability(k_the_lock))
#define K_LOCKED K_CAPABILITY(requires_capability(k_the_lock))
#define K_UNCHECKED K_CAPABILITY(no_thread_safety_analysis)
#define K_GUARDED K_CAPABILITY(guarded_by(k_the_lock)) /* a field */
#define K_UNLOCKED K_CAPABILITY(locks_excluded(k_the_lock))

typedef struct k_hold_watch {
  int64_t since_ns;   /* clock_thread_cpu_ns at the last lock or breath */
  int64_t longest_ns; /* the most so far */
  uint64_t holds;     /* counted: locks and breaths */
} k_hold_watch;

typedef struct k_mutex {
  pthread_mutex_t mu, door;
  _Atomic uint32_t waiting; /* threads that found the mutex taken and do not have it yet */
  _Atomic uintptr_t holder; /* pthread_self, 0: free */
  _Atomic(k_hold_watch *) watch;
} k_mutex;

void k_mutex_init(k_mutex *m);
void k_mutex_destroy(k_mutex *m);
void k_mutex_lock(k_mutex *m) K_ACQUIRES;
bool k_mutex_try(k_mutex *m) K_CAPABILITY(try_acquire_capability(true, k_the_lock));
/* Waits for at most `ms` milliseconds. */
bool k_mutex_lock_within(k_mutex *m, int64_t ms) K_CAPABILITY(try_acquire_capability(true, k_the_lock));
void k_mutex_unlock(k_mutex *m) K_RELEASES;

/* Lets a waiting thread have the mutex, if there is one, and takes it again. */
void k_mutex_breathe(k_mutex *m) K_LOCKED;

bool k_mutex_is_mine(const k_mutex *m);

/* NULL: no longer. With the mutex held. */
void k_mutex_watch(k_mutex *m, k_hold_watch *watch) K_LOCKED;
