/* session_turn.c - callers of one session take turns: its state, the line of those that wait, its closing. */
#include "sandbox/session/session_inner.h"

#include "sandbox/status.h"

#include <sched.h>

/* ---- spinning ---- */

static inline void cpu_pause(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

void sb_session_spin(const cay_session *s, bool (*predicate)(void *ctx), void *ctx, int64_t ns) {
  if (!s->box->engine->several_processors) return;
  int64_t until = clock_mono_ns() + ns;
  while (!predicate(ctx) && clock_mono_ns() < until) {
    for (int i = 0; i < 64 && !predicate(ctx); i++) cpu_pause();
    if (!predicate(ctx))
      sched_yield(); /* where all processors are busy, the other thread may be waiting for this one */
  }
}

static bool session_is_settled(void *ctx) { return ((cay_session *)ctx)->state != SB_SETTLING; }

/* ---- turns ---- */

static bool session_is_held(const cay_session *s) {
  return s->state == SB_RUNNING || s->state == SB_SETTLING;
}

/* With mu: waits for its turn, behind all that came before. */
static cay_status session_await_turn(cay_session *s, cay_error *err) {
  if (s->last_ticket - s->turn == SB_WAITERS_MAX)
    return err_set(err, CAY_BUSY, "%d requests wait for the session already", SB_WAITERS_MAX);
  uint64_t ticket = s->last_ticket++;
  while (!s->closing && (session_is_held(s) || s->turn != ticket)) pthread_cond_wait(&s->changed, &s->mu);
  s->turn++;
  if (s->turn == s->last_ticket && !s->closing) return CAY_OK;
  pthread_cond_broadcast(&s->changed); /* for the next, and for a thread that closes the session */
  return s->closing ? err_set(err, CAY_CANCELLED, "the session ended before its turn") : CAY_OK;
}

/* With mu. A session that settles is free soon, and spins for it are short. */
static void session_spin_settled(cay_session *s) {
  if (s->turn != s->last_ticket || s->state != SB_SETTLING) return;
  pthread_mutex_unlock(&s->mu);
  sb_session_spin(s, session_is_settled, s, SB_LINGER_NS);
  pthread_mutex_lock(&s->mu);
}

/* With mu. */
static cay_status session_await(cay_session *s, bool no_wait, cay_error *err) {
  session_spin_settled(s);
  bool alone = s->turn == s->last_ticket;
  if (s->closing) return err_set(err, CAY_BUSY, "the session is ending");
  if (alone && !session_is_held(s)) return CAY_OK;
  if (s->state == SB_RUNNING && pthread_equal(s->runner, pthread_self()))
    return err_set(err, CAY_BUSY, "the session waits for the callback that asks");
  if (no_wait && (!alone || s->state == SB_RUNNING))
    return err_set(err, CAY_BUSY, "the session is running something else");
  return session_await_turn(s, err);
}

/* With mu. */
static cay_status session_begin_turn(cay_session *s, cay_error *err) {
  if (s->state == SB_BROKEN)
    return err_set(err, CAY_INTERNAL, "the session was ended and could not be put back; make a new one");
  s->state = SB_RUNNING;
  return CAY_OK;
}

static cay_status session_take(cay_session *s, bool no_wait, cay_error *err) {
  pthread_mutex_lock(&s->mu);
  cay_status status = session_await(s, no_wait, err);
  if (status == CAY_OK) status = session_begin_turn(s, err);
  pthread_mutex_unlock(&s->mu);
  return status;
}

static cay_status session_try(cay_session *s, cay_error *err) {
  pthread_mutex_lock(&s->mu);
  session_spin_settled(s);
  bool free = s->turn == s->last_ticket && !session_is_held(s) && !s->closing;
  cay_status status =
      free ? session_begin_turn(s, err) : err_set(err, CAY_BUSY, "the session is running something else");
  pthread_mutex_unlock(&s->mu);
  return status;
}

/* The session was taken: it has its memory, or is given back. */
static cay_status session_awake(cay_session *s, cay_error *err) {
  cay_status status = s->parked != NULL ? sb_session_wake(s, err) : CAY_OK;
  if (status != CAY_OK) sb_session_give(s);
  return status;
}

cay_status sb_session_take(cay_session *s, bool no_wait, cay_error *err) {
  S_TRY(session_take(s, no_wait, err));
  return session_awake(s, err);
}

cay_status sb_session_try(cay_session *s, cay_error *err) {
  S_TRY(session_try(s, err));
  return session_awake(s, err);
}

/* With mu. It settles in microseconds, and then no other thread has it. */
static bool session_may_rest_soon(const cay_session *s, int64_t deadline_ns) {
  bool settles = s->state == SB_SETTLING && s->turn == s->last_ticket;
  if (s->state == SB_RUNNING && pthread_equal(s->runner, pthread_self())) return false;
  return settles || clock_mono_ns() < deadline_ns;
}

static cay_status session_await_rest(cay_session *s, int64_t deadline_ns, cay_error *err) {
  while (!s->closing && (session_is_held(s) || s->turn != s->last_ticket)) {
    if (!session_may_rest_soon(s, deadline_ns))
      return err_set(err, CAY_BUSY, "session %u is evaluating", s->id);
    struct timespec until = clock_timespec(deadline_ns);
    if (s->state == SB_SETTLING || deadline_ns == K_FOREVER)
      pthread_cond_wait(&s->changed, &s->mu);
    else
      (void)pthread_cond_timedwait(&s->changed, &s->mu, &until);
  }
  return CAY_OK;
}

cay_status sb_session_hold(cay_session *s, int64_t deadline_ns, bool *taken, cay_error *err) {
  pthread_mutex_lock(&s->mu);
  cay_status status = session_await_rest(s, deadline_ns, err);
  *taken = status == CAY_OK && !s->closing && s->state == SB_IDLE;
  if (*taken) s->state = SB_RUNNING;
  pthread_mutex_unlock(&s->mu);
  return status;
}

void sb_session_set_state(cay_session *s, enum sb_session_state state) {
  pthread_mutex_lock(&s->mu);
  s->state = state;
  pthread_cond_broadcast(&s->changed);
  pthread_mutex_unlock(&s->mu);
}

void sb_session_give(cay_session *s) { sb_session_set_state(s, SB_IDLE); }

/* ---- closing ---- */

void sb_session_close(cay_session *s) {
  pthread_mutex_lock(&s->mu);
  s->closing = true;
  pthread_cond_broadcast(&s->changed);
  if (s->state == SB_RUNNING) {
    k_lock(s->box->kernel);
    if (s->job != NULL) {
      k_job_kill(s->job, K_JOB_CANCELLED);
      sb_session_force(s);
    }
    k_unlock(s->box->kernel);
  }
  while (session_is_held(s) || s->turn != s->last_ticket || s->holders != 0)
    pthread_cond_wait(&s->changed, &s->mu);
  pthread_mutex_unlock(&s->mu);
  while (atomic_load(&s->slot) != NULL) sched_yield(); /* it sees `closing` */
}
