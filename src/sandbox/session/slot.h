/* slot.h - the protocol of a session: its callers take turns, and one thread at a time works for them.
 *
 * The slot knows neither interpreters nor kernels. Handling a request, and the settling between two requests, are given to it
 * as two functions, so that the protocol alone can be run under ThreadSanitizer (test/unit/sandbox/session/slot_test.c).
 *
 *      caller                         slot                            thread of the slot
 *        │ sb_slot_take ────────────► IDLE → RUNNING                     │ lingers, dozes, or there is none
 *        │ sb_slot_ask(request) ────► request ─────────────────────────► │ work.run
 *        │ ◄──────────────────────── RUNNING → SETTLING, request.done ◄──┤
 *        │ goes on                                                       │ work.settle(SB_ANSWERED)
 *        │                           SETTLING → IDLE ◄───────────────────┤ lingers for the next request
 *        │                           IDLE → SETTLING → IDLE ◄────────────┤ no request for 20 ms: work.settle(SB_RESTING)
 *        │                                                               │ leaves; the slot has no thread any more
 *
 * A BROKEN slot can only be closed.
 *
 * Locks       mu is held for a moment, never while the work's functions run. Order: mu, kernel.mu.
 * Waiting     a thread that expects an event spins for 50 us at most, since waking up costs about as much as a small evaluation,
 *             and only while the other thread is seen to run (doc/adr/sessions-at-rest.md). Then it sleeps on `changed`. The
 *             slot's thread spins up to 200 us for the next request once it has seen that requests come at that distance, and a
 *             caller twice as long as the last request took. Closing sleeps. */
#pragma once

#include "base/thread.h"

#include <stdatomic.h>

enum { SB_WAITERS_MAX = 64 };
enum sb_slot_state { SB_IDLE, SB_RUNNING, SB_SETTLING, SB_BROKEN };

/* The first member of a request. */
typedef struct sb_slot_request {
  _Atomic bool done; /* set with mu; afterwards the request belongs to its caller */
  /* NULL: a caller waits in sb_slot_ask. Else called on the slot's thread once it is done: it owns the request from then on,
   * and must not ask the slot for anything. */
  void (*on_done)(struct sb_slot_request *request);
} sb_slot_request;

enum sb_slot_moment {
  SB_ANSWERED, /* the caller has its answer, and goes on meanwhile */
  SB_RESTING,  /* none came for a while */
};

/* Both are called by one thread at a time. False: the slot is BROKEN. */
typedef struct sb_slot_work {
  bool (*run)(void *ctx, sb_slot_request *request);
  bool (*settle)(void *ctx, enum sb_slot_moment moment); /* SB_ANSWERED: only when run was true */
} sb_slot_work;

typedef struct sb_slot {
  const sb_slot_work *work;
  void *ctx;
  thread_pool *threads;   /* borrowed */
  bool spins;             /* there are several processors */
  int64_t linger_ns;      /* the slot's thread: how long it spins for the next request */
  _Atomic int64_t run_ns; /* of the last request */
  pthread_mutex_t mu;
  pthread_cond_t changed;
  uint64_t turn,
      last_ticket;           /* mu. Waiting callers hold the tickets from `turn` up to before `last_ticket` */
  uint32_t callers;          /* mu: threads in a function of the slot that do not hold it */
  uint32_t holders;          /* mu: threads that wait for its rest without a ticket */
  _Atomic(pthread_t) runner; /* the thread of the slot; 0: there is none */
  _Atomic enum sb_slot_state state; /* written with mu */
  _Atomic bool closing;
  _Atomic bool caller_is_back;     /* the caller of the last request has seen that it is done */
  _Atomic bool dozing;             /* the thread of the slot sleeps on `changed` */
  _Atomic(sb_slot_request *) next; /* NULL: there is no thread; SB_LINGERING: one waits for a request */
} sb_slot;

/* It is RUNNING: made ready by its maker, which gives it. */
void sb_slot_init(sb_slot *slot, const sb_slot_work *work, void *ctx, thread_pool *threads, bool spins);
void sb_slot_destroy(sb_slot *slot); /* after sb_slot_close */

/* Makes the slot RUNNING, after all that came before. CAY_BUSY: SB_WAITERS_MAX wait already; or with `no_wait` when it is
 * RUNNING, not while it settles; or on the thread of the slot, in a callback, where waiting would never end.
 * CAY_CANCELLED: it was closed meanwhile. CAY_INTERNAL: it is broken. */
cay_status sb_slot_take(sb_slot *slot, bool no_wait, cay_error *err) CHECKED;
/* The same for a caller that must not wait: CAY_BUSY also when the slot has not settled in a moment. */
cay_status sb_slot_try(sb_slot *slot, cay_error *err) CHECKED;
void sb_slot_give(sb_slot *slot); /* and makes it IDLE again, without a request */

/* For a look at the work: takes no turn. *taken false: it is broken or closing. False: other requests have it, now
 * and until `deadline_ns` (clock_mono_ns, INT64_MAX: for ever); on its own thread at once. */
bool sb_slot_hold(sb_slot *slot, int64_t deadline_ns, bool *taken) CHECKED;

/* Has a request handled in a slot that was taken, which is given back by and by. CAY_NO_MEMORY: no thread; then it was
 * not handled and the slot is given back. */
cay_status sb_slot_ask(sb_slot *slot, sb_slot_request *request, cay_error *err) CHECKED;

/* The same without waiting, for a request with `on_done`, which is not called on failure. */
cay_status sb_slot_send(sb_slot *slot, sb_slot_request *request, cay_error *err) CHECKED;

/* Callers that wait fail; `stop` (with mu) ends the request that runs. Returns when no thread uses the slot. */
void sb_slot_close(sb_slot *slot, void (*stop)(void *ctx));
