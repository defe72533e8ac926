/* cancel.h - a request that an operation ends early, from any thread to the waiting one.
 *
 * It is raised once and stays so. A waiter in poll(2) adds cancel_fd; a waiter for a condition, or for a
 * guest that computes, watches. Both see a wish that was there before they came.
 *
 * Locks: watches are called with the cancel's mutex. They must not come back here, and cancel_remove must
 * not be called with a lock held that they take.
 *
 * Every function but cancel_init takes NULL: the operation cannot be cancelled. */
#pragma once

#include "base/defs.h"
#include "base/list.h"

#include <pthread.h>
#include <stdatomic.h>

typedef void cancel_fn(void *ctx); /* must not block for long */

typedef struct cancel_watch {
  list in_cancel;
  cancel_fn *fn;
  void *ctx;
} cancel_watch;

typedef struct cancel {
  pthread_mutex_t mu; /* for all below */
  list watches;
  int fd; /* an eventfd(2); -1: not used by any waiter */
  atomic_bool raised;
} cancel;

void cancel_init(cancel *c);
void cancel_end(cancel *c); /* no waiter is left */

void cancel_raise(cancel *c);
bool cancel_raised(cancel *c);

/* Readable from then on; it stays this object's. -1, which poll(2) passes over: the host gave none. */
int cancel_fd(cancel *c);

/* watch->fn is called once, at cancel_raise or, after that, at once. */
void cancel_add(cancel *c, cancel_watch *watch);
/* After this returns it neither runs nor will. */
void cancel_remove(cancel *c, cancel_watch *watch);
