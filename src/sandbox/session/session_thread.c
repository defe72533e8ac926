/* session_thread.c - the thread of a session: it takes requests from the slot, and settles the session in between. */
#include "sandbox/session/session_inner.h"

#include "sandbox/status.h"

enum {
  DOZE_MS = 20,    /* then a thread leaves an idle session */
  PAUSE_NS = 5000, /* a caller with request after request is back before that */
};

static bool request_is_done(void *ctx) { return atomic_load(&((sb_request *)ctx)->done); }
static bool session_is_asked(void *ctx) {
  cay_session *s = ctx;
  return atomic_load(&s->slot) != SB_LINGERING || s->closing;
}

/* The caller goes on, and `q` is gone. The session stays, since it is not idle yet. */
static void request_complete(sb_request *q) {
  cay_session *s = q->session;
  void (*on_done)(sb_request *) = q->on_done;
  pthread_mutex_lock(&s->mu);
  s->state = SB_SETTLING;
  atomic_store(&q->done, true);
  pthread_mutex_unlock(&s->mu);
  pthread_cond_broadcast(&s->changed);
  if (on_done != NULL) on_done(q);
}

/* The caller has its answer before a checkpoint is made. */
static void request_handle(sb_request *q) {
  cay_session *s = q->session;
  enum sb_saving saving = SB_SAVE_LATER;
  eng_image_unref(MOVE(s->frozen));
  bool usable = !s->unsaved || sb_session_save(s);
  if (!usable) {
    q->status = err_set(&q->err, CAY_INTERNAL, "the session cannot be saved any more");
  } else {
    int64_t before_ns = sb_session_computed_ns(s);
    sb_request_run(q);
    if (!q->returned)
      usable = sb_session_put_back(q);
    else if (!s->no_undo && !q->skipped)
      saving = sb_session_choose_saving(q, sb_session_computed_ns(s) - before_ns);
  }
  bool is_new = usable && q->returned && !q->skipped && !s->no_undo; /* `q` is gone soon */
  request_complete(q);
  if (is_new) {
    s->served++;
    s->unsaved = saving == SB_SAVE_LATER;
    if (saving == SB_SAVE_NOW) usable = sb_session_save(s);
  }
  sb_session_set_state(s, usable ? SB_IDLE : SB_BROKEN);
}

/* Sleeps until somebody asks, or for a while. */
static void session_doze(cay_session *s) {
  struct timespec until = clock_timespec(clock_mono_ns() + DOZE_MS * NS_PER_MS);
  pthread_mutex_lock(&s->mu);
  atomic_store(&s->dozing, true);
  while (!session_is_asked(s) && pthread_cond_timedwait(&s->changed, &s->mu, &until) == 0) {}
  atomic_store(&s->dozing, false);
  pthread_mutex_unlock(&s->mu);
}

static bool session_begin_settling(cay_session *s) {
  pthread_mutex_lock(&s->mu);
  bool idle = s->state == SB_IDLE && !s->closing && !s->no_undo && s->parked == NULL;
  if (idle) s->state = SB_SETTLING;
  pthread_mutex_unlock(&s->mu);
  return idle;
}

/* No request has followed at once. */
static void session_save_replay(cay_session *s) {
  if (!session_begin_settling(s)) return;
  bool usable = s->replay.requests.len == 0 || s->unsaved || sb_session_save(s);
  sb_session_set_state(s, usable ? SB_IDLE : SB_BROKEN);
}

/* No request for a while: holds less memory, and can be copied quickly. */
static void session_settle(cay_session *s) {
  if (!session_begin_settling(s)) return;
  s->unsaved = false;
  sb_replay_free(&s->replay);
  sb_session_set_state(s, abi_resident_settle(s->resident, NULL) == CAY_OK ? SB_IDLE : SB_BROKEN);
}

/* A session is used again at once more often than not. Once `slot` is NULL nothing of it may be touched. */
static void session_run_requests(void *ctx) {
  sb_request *q = ctx;
  cay_session *s = q->session;
  s->runner = pthread_self();
  for (;;) {
    atomic_store(&s->slot, SB_LINGERING);
    request_handle(q);
    sb_session_spin(s, session_is_asked, s, PAUSE_NS);
    if (!session_is_asked(s)) session_save_replay(s);
    sb_session_spin(s, session_is_asked, s, SB_LINGER_NS);
    if (!session_is_asked(s)) session_doze(s);
    if (!session_is_asked(s)) session_settle(s);
    q = SB_LINGERING;
    if (atomic_compare_exchange_strong(&s->slot, &q, NULL)) return;
  }
}

static void session_wake(cay_session *s) {
  pthread_mutex_lock(&s->mu);
  pthread_cond_broadcast(&s->changed);
  pthread_mutex_unlock(&s->mu);
}

cay_status sb_session_send(sb_request *q, cay_error *err) {
  cay_session *s = q->session;
  q->start_ns = clock_mono_ns();
  sb_request *expected = SB_LINGERING;
  if (atomic_compare_exchange_strong(&s->slot, &expected, q)) {
    if (atomic_load(&s->dozing)) session_wake(s);
    return CAY_OK;
  }
  cay_status status = thread_pool_run(s->box->engine->threads, session_run_requests, q, err);
  if (status != CAY_OK) sb_session_give(s);
  return status;
}

cay_status sb_session_ask(sb_request *q, cay_error *err) {
  cay_session *s = q->session;
  S_TRY(sb_session_send(q, err));
  sb_session_spin(s, request_is_done, q, SB_LINGER_NS);
  pthread_mutex_lock(&s->mu);
  while (!q->done) pthread_cond_wait(&s->changed, &s->mu);
  pthread_mutex_unlock(&s->mu);
  if (q->status != CAY_OK && err != NULL) *err = q->err;
  return q->status;
}
