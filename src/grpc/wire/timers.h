/* timers.h - moments of one thread: a heap of entries inside the objects they belong to.
 *
 * Not locked: one thread sets, stops and runs them. Times are clock_mono_ns. */
#pragma once

#include "base/defs.h"

typedef void timer_fn(void *ctx);

typedef struct timer_entry {
  timer_fn *fn;
  void *ctx;
  int64_t due_ns;
  size_t slot; /* 1 + place in the heap; 0: not set */
} timer_entry;

typedef struct timers {
  timer_entry **heap;
  size_t count, cap;
} timers;

void timers_free(timers *t);
bool timers_set(timers *t, timer_entry *entry,
                int64_t due_ns) CHECKED;         /* moves it when set. False: out of memory */
void timers_stop(timers *t, timer_entry *entry); /* not set: no effect */
int64_t timers_next(const timers *t);            /* INT64_MAX: none is set */
void timers_run(timers *t, int64_t now_ns);      /* calls due entries; it may set and stop any entry */
