/* slot.c - turns of callers, the thread that works for them, and how both wait (slot.h). */
#include "sandbox/session/slot.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/spin.h"

enum {
  DOZE_MS = 20,    /* then a thread leaves an idle slot */
  AWAKE_NS = 3000, /* a thread that has a processor has seen its event before that */
};

#define SB_LINGERING ((sb_slot_request *)1)

void sb_slot_init(sb_slot *s, const sb_slot_work *work, void *ctx, thread_pool *threads, bool spins) {
  *s = (sb_slot){
    .work = work, .ctx = ctx, .threads = threads, .spins = spins, .linger_ns = SPIN_NS, .state = SB_RUNNING
  };
  pthread_mutex_init(&s->mu, NULL);
  clock_cond_init(&s->changed);
}

void sb_slot_destroy(sb_slot *s) {
  pthread_mutex_destroy(&s->mu);
  pthread_cond_destroy(&s->changed);
}

/* ---- spinning ---- */

/* Until the event is there (true), or for `ns`. Bounded, and followed by a sleep wherever it is used. */
static bool slot_spin(const sb_slot *s, bool (*predicate)(const void *ctx), const void *ctx, int64_t ns) {
  if (!s->spins) return predicate(ctx);
  for (int64_t until = clock_mono_ns() + ns;;) {
    for (int i = 0; i < 64; i++) {
      if (predicate(ctx)) return true;
      spin_pause();
    }
    if (clock_mono_ns() >= until) return predicate(ctx);
  }
}

static bool request_is_done(const void *q) { return atomic_load(&((const sb_slot_request *)q)->done); }
static bool slot_is_settled(const void *s) { return ((const sb_slot *)s)->state != SB_SETTLING; }
static bool slot_is_asked(const void *ctx) {
  const sb_slot *s = ctx;
  return atomic_load(&s->next) != SB_LINGERING || s->closing;
}

/* The thread of the slot has taken the request. */
static bool slot_has_begun(const void *s) {
  const sb_slot_request *next = atomic_load(&((const sb_slot *)s)->next);
  return next == NULL || next == SB_LINGERING;
}

/* The caller has seen its answer. */
static bool slot_caller_is_back(const void *ctx) {
  const sb_slot *s = ctx;
  return s->caller_is_back || slot_is_asked(s);
}

/* A thread that waits for another looks longer only if that one is seen to run. One that is not may be waiting for a processor, and
 * this thread's sleep gives it one. */
static bool slot_spin_done(const sb_slot *s, const sb_slot_request *q) {
  return slot_spin(s, slot_has_begun, s, AWAKE_NS) &&
         slot_spin(s, request_is_done, q, spin_patience(s->run_ns));
}

/* Where requests were seen to come soon, the caller may be about to wake up: without this both would sleep each time. */
static bool slot_spin_asked(const sb_slot *s) {
  bool soon = s->linger_ns > SPIN_NS || slot_spin(s, slot_caller_is_back, s, AWAKE_NS);
  return soon && slot_spin(s, slot_is_asked, s, s->linger_ns);
}

/* ---- turns ---- */

static bool slot_is_held(const sb_slot *s) { return s->state == SB_RUNNING || s->state == SB_SETTLING; }

/* With mu: waits for its turn, behind all that came before. */
static cay_status slot_await_turn(sb_slot *s, cay_error *err) {
  if (s->last_ticket - s->turn == SB_WAITERS_MAX)
    return err_set(err, CAY_BUSY, "%d requests wait for the session already", SB_WAITERS_MAX);
  uint64_t ticket = s->last_ticket++;
  while (!s->closing && (slot_is_held(s) || s->turn != ticket)) pthread_cond_wait(&s->changed, &s->mu);
  s->turn++;
  if (s->turn == s->last_ticket && !s->closing) return CAY_OK;
  pthread_cond_broadcast(&s->changed); /* for the next, and for a thread that closes the slot */
  return s->closing ? err_set(err, CAY_CANCELLED, "the session ended before its turn") : CAY_OK;
}

/* With mu: the thread that closes the slot waits for callers that still look at it. */
static void slot_caller_leaves(sb_slot *s) {
  s->callers--;
  if (s->closing) pthread_cond_broadcast(&s->changed);
}

/* With mu. A slot that settles is free soon, and spins for it are short. */
static void slot_spin_settled(sb_slot *s) {
  if (s->turn != s->last_ticket || s->state != SB_SETTLING) return;
  s->callers++;
  pthread_mutex_unlock(&s->mu);
  (void)slot_spin(s, slot_is_settled, s, SPIN_NS);
  pthread_mutex_lock(&s->mu);
  slot_caller_leaves(s);
}

static bool slot_is_mine(const sb_slot *s) {
  return s->state == SB_RUNNING && pthread_equal(s->runner, pthread_self());
}

/* With mu. */
static cay_status slot_await(sb_slot *s, bool no_wait, cay_error *err) {
  slot_spin_settled(s);
  bool alone = s->turn == s->last_ticket;
  if (s->closing) return err_set(err, CAY_BUSY, "the session is ending");
  if (alone && !slot_is_held(s)) return CAY_OK;
  if (slot_is_mine(s)) return err_set(err, CAY_BUSY, "the session waits for the callback that asks");
  if (no_wait && (!alone || s->state == SB_RUNNING))
    return err_set(err, CAY_BUSY, "the session is running something else");
  return slot_await_turn(s, err);
}

/* With mu. */
static cay_status slot_begin_turn(sb_slot *s, cay_error *err) {
  if (s->state == SB_BROKEN)
    return err_set(err, CAY_INTERNAL, "the session was ended and could not be put back; make a new one");
  s->state = SB_RUNNING;
  return CAY_OK;
}

cay_status sb_slot_take(sb_slot *s, bool no_wait, cay_error *err) {
  pthread_mutex_lock(&s->mu);
  cay_status status = slot_await(s, no_wait, err);
  if (status == CAY_OK) status = slot_begin_turn(s, err);
  pthread_mutex_unlock(&s->mu);
  return status;
}

cay_status sb_slot_try(sb_slot *s, cay_error *err) {
  pthread_mutex_lock(&s->mu);
  slot_spin_settled(s);
  bool free = s->turn == s->last_ticket && !slot_is_held(s) && !s->closing;
  cay_status status =
      free ? slot_begin_turn(s, err) : err_set(err, CAY_BUSY, "the session is running something else");
  pthread_mutex_unlock(&s->mu);
  return status;
}

/* ---- holding ---- */

/* With mu. It settles in microseconds, and then no other thread has it. */
static bool slot_may_rest_soon(const sb_slot *s, int64_t deadline_ns) {
  bool settles = s->state == SB_SETTLING && s->turn == s->last_ticket;
  return !slot_is_mine(s) && (settles || clock_mono_ns() < deadline_ns);
}

/* With mu. */
static bool slot_await_rest(sb_slot *s, int64_t deadline_ns) {
  while (!s->closing && (slot_is_held(s) || s->turn != s->last_ticket)) {
    if (!slot_may_rest_soon(s, deadline_ns)) return false;
    struct timespec until = clock_timespec(deadline_ns);
    if (s->state == SB_SETTLING || deadline_ns == INT64_MAX)
      pthread_cond_wait(&s->changed, &s->mu);
    else
      (void)pthread_cond_timedwait(&s->changed, &s->mu, &until);
  }
  return true;
}

bool sb_slot_hold(sb_slot *s, int64_t deadline_ns, bool *taken) {
  pthread_mutex_lock(&s->mu);
  bool rests = slot_await_rest(s, deadline_ns);
  *taken = rests && !s->closing && s->state == SB_IDLE;
  if (*taken) s->state = SB_RUNNING;
  pthread_mutex_unlock(&s->mu);
  return rests;
}

static void slot_set_state(sb_slot *s, enum sb_slot_state state) {
  pthread_mutex_lock(&s->mu);
  s->state = state;
  pthread_cond_broadcast(&s->changed);
  pthread_mutex_unlock(&s->mu);
}

void sb_slot_give(sb_slot *s) { slot_set_state(s, SB_IDLE); }

/* ---- the thread ---- */

/* The caller goes on, and the request is gone. The slot stays, since it is not idle yet. */
static void slot_complete(sb_slot *s, sb_slot_request *q) {
  void (*on_done)(sb_slot_request *) = q->on_done;
  pthread_mutex_lock(&s->mu);
  s->state = SB_SETTLING;
  atomic_store(&s->caller_is_back, on_done != NULL);
  atomic_store(&q->done, true);
  pthread_mutex_unlock(&s->mu);
  pthread_cond_broadcast(&s->changed);
  if (on_done != NULL) on_done(q);
}

/* The caller has its answer before the slot settles. */
static void slot_handle(sb_slot *s, sb_slot_request *q) {
  int64_t start = clock_mono_ns();
  bool usable = s->work->run(s->ctx, q);
  atomic_store(&s->run_ns, clock_mono_ns() - start);
  slot_complete(s, q);
  if (usable) usable = s->work->settle(s->ctx, SB_ANSWERED);
  slot_set_state(s, usable ? SB_IDLE : SB_BROKEN);
}

static void slot_doze(sb_slot *s) {
  struct timespec until = clock_timespec(clock_mono_ns() + DOZE_MS * NS_PER_MS);
  pthread_mutex_lock(&s->mu);
  atomic_store(&s->dozing, true);
  while (!slot_is_asked(s) && pthread_cond_timedwait(&s->changed, &s->mu, &until) == 0) {}
  atomic_store(&s->dozing, false);
  pthread_mutex_unlock(&s->mu);
}

static bool slot_begin_settling(sb_slot *s) {
  pthread_mutex_lock(&s->mu);
  bool idle = s->state == SB_IDLE && !s->closing;
  if (idle) s->state = SB_SETTLING;
  pthread_mutex_unlock(&s->mu);
  return idle;
}

static void slot_settle(sb_slot *s) {
  if (slot_is_asked(s) || !slot_begin_settling(s)) return;
  slot_set_state(s, s->work->settle(s->ctx, SB_RESTING) ? SB_IDLE : SB_BROKEN);
}

/* False: there is another request. Afterwards nothing of the slot may be touched: with mu, since the thread that closes it
 * waits for that. */
static bool slot_leave(sb_slot *s) {
  pthread_mutex_lock(&s->mu);
  sb_slot_request *none = SB_LINGERING;
  atomic_store(&s->runner, (pthread_t)0); /* before another thread can be here */
  bool left = atomic_compare_exchange_strong(&s->next, &none, NULL);
  if (!left) atomic_store(&s->runner, pthread_self());
  if (s->closing) pthread_cond_broadcast(&s->changed);
  pthread_mutex_unlock(&s->mu);
  return left;
}

/* A thread that had hardly gone to sleep when the next request came should have looked for it longer. One that slept for long looked in
 * vain. */
static void slot_learn(sb_slot *s, int64_t slept_ns) {
  bool soon = slot_is_asked(s) && slept_ns < SPIN_MAX_NS;
  int64_t twice = 2 * s->linger_ns;
  s->linger_ns = !soon ? SPIN_NS : twice < SPIN_MAX_NS ? twice : SPIN_MAX_NS;
}

/* A session is used again at once more often than not. */
static void slot_linger(sb_slot *s) {
  if (slot_spin_asked(s)) return;
  int64_t start = clock_mono_ns();
  slot_doze(s);
  slot_learn(s, clock_mono_ns() - start);
  slot_settle(s);
}

static void slot_main(void *ctx) {
  sb_slot *s = ctx;
  atomic_store(&s->runner, pthread_self());
  do {
    slot_handle(s, atomic_exchange(&s->next, SB_LINGERING));
    slot_linger(s);
  } while (!slot_leave(s));
}

/* ---- one request ---- */

static void slot_wake(sb_slot *s) {
  pthread_mutex_lock(&s->mu); /* between its look at `next` and its sleep */
  pthread_mutex_unlock(&s->mu);
  pthread_cond_broadcast(&s->changed);
}

/* `next` is NULL: no thread is here, and no other caller, since the slot was taken. */
static cay_status slot_begin_thread(sb_slot *s, sb_slot_request *q, cay_error *err) {
  atomic_store(&s->next, q);
  cay_status status = thread_pool_run(s->threads, slot_main, s, err);
  if (status == CAY_OK) return CAY_OK;
  atomic_store(&s->next, NULL);
  sb_slot_give(s);
  return status;
}

cay_status sb_slot_send(sb_slot *s, sb_slot_request *q, cay_error *err) {
  sb_slot_request *expected = SB_LINGERING;
  if (!atomic_compare_exchange_strong(&s->next, &expected, q)) return slot_begin_thread(s, q, err);
  if (atomic_load(&s->dozing)) slot_wake(s);
  return CAY_OK;
}

cay_status sb_slot_ask(sb_slot *s, sb_slot_request *q, cay_error *err) {
  pthread_mutex_lock(&s->mu);
  s->callers++;
  pthread_mutex_unlock(&s->mu);
  cay_status status = sb_slot_send(s, q, err);
  if (status == CAY_OK) (void)slot_spin_done(s, q);
  pthread_mutex_lock(&s->mu);
  while (status == CAY_OK && !q->done) pthread_cond_wait(&s->changed, &s->mu);
  atomic_store(&s->caller_is_back, true);
  slot_caller_leaves(s);
  pthread_mutex_unlock(&s->mu);
  return status;
}

/* ---- closing ---- */

void sb_slot_close(sb_slot *s, void (*stop)(void *ctx)) {
  pthread_mutex_lock(&s->mu);
  s->closing = true;
  pthread_cond_broadcast(&s->changed);
  if (s->state == SB_RUNNING) stop(s->ctx);
  while (slot_is_held(s) || s->turn != s->last_ticket || s->callers != 0 || s->holders != 0 ||
         s->next != NULL)
    pthread_cond_wait(&s->changed, &s->mu);
  pthread_mutex_unlock(&s->mu);
}
