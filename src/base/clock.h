/* clock.h - time as nanoseconds, and one thread that calls back when a moment is reached.
 *
 * clock_mono_ns never goes back (CLOCK_MONOTONIC, clock_gettime(2)); clock_real_ns is the wall clock since
 * 1970 (CLOCK_REALTIME).
 *
 * An alarm set sleeps on one thread until the nearest alarm is due. Callbacks run on that thread without any
 * lock of this file held, must not block for long, and may arm alarms. The thread starts with the first alarm
 * armed, so a set that is never used costs nothing. */
#pragma once

#include "base/defs.h"

#include <cay/status.h>
#include <pthread.h>
#include <time.h>

#define NS_PER_SEC INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)

int64_t clock_mono_ns(void);
int64_t clock_real_ns(void);
int64_t clock_thread_cpu_ns(void); /* processor time of the calling thread */
/* Of any clock (clock_gettime(2)), as that of a thread from pthread_getcpuclockid(3); `otherwise` when it
 * cannot be read, for the thread has ended. */
int64_t clock_read_ns(clockid_t clock, int64_t otherwise);

/* For pthread_cond_timedwait(3) on a condition made by clock_cond_init, which counts in clock_mono_ns.
 * A moment before 0 is taken as 0. */
struct timespec clock_timespec(int64_t ns);
void clock_cond_init(pthread_cond_t *cond);

typedef struct alarm_set alarm_set;
typedef void alarm_fn(void *ctx);
typedef bool alarm_try_fn(void *ctx);

/* Owned by its caller, who zeroes it first and disarms it before its memory is freed.
 *
 * One thread rings all alarms of a set, so a callback must not wait. One that needs a lock of its own gives
 * `try_fn` as well: it does the same as `fn`, or answers false at once where it would have to wait. Then `fn` is
 * called on another thread, and the other alarms ring in time. */
typedef struct alarm_entry {
  alarm_fn *fn;
  alarm_try_fn *try_fn; /* NULL: fn does not wait */
  void *ctx;
  int64_t due_ns;           /* private */
  size_t slot;              /* private: 1 + place in the heap; 0: not armed */
  struct alarm_entry *next; /* private: in the line of those that had to wait */
  bool in_line;             /* private */
} alarm_entry;

cay_status alarm_set_new(alarm_set **out, cay_error *err) CHECKED;
void alarm_set_free(alarm_set *set); /* no entry may be armed; joins the thread; NULL is fine */

/* Calls entry->fn at or just after `due_ns` (clock_mono_ns), once; INT64_MAX is never. Moves the moment if it
 * was armed. CAY_NO_MEMORY when the heap cannot grow or the thread cannot start; it is then not armed. */
cay_status alarm_arm(alarm_set *set, alarm_entry *entry, int64_t due_ns, cay_error *err) CHECKED;

/* After this returns the callback is neither pending nor running. Must not be called from the callback
 * itself, nor with a lock held that the callback takes. */
void alarm_disarm(alarm_set *set, alarm_entry *entry);
