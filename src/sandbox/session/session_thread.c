/* session_thread.c - what the thread of a session does: a request, and settling the session in between (slot.h). */
#include "sandbox/session/session_inner.h"

#include "sandbox/status.h"

/* ---- on the thread of the slot ---- */

/* The state after the request is saved when the caller has its answer. False: the session cannot be used any more. */
static bool session_run(void *ctx, sb_slot_request *base) {
  cay_session *s = ctx;
  sb_request *q = CONTAINER_OF(base, sb_request, base);
  eng_image_unref(MOVE(s->frozen));
  s->answered_new = false;
  if (s->unsaved && !sb_session_save(s)) {
    q->status = err_set(&q->err, CAY_INTERNAL, "the session cannot be saved any more");
    return false;
  }
  int64_t before_ns = sb_session_computed_ns(s);
  sb_request_run(q);
  if (!q->returned) return sb_session_put_back(q);
  if (s->no_undo || q->skipped) return true;
  s->answered_new = true;
  s->saving = sb_session_choose_saving(q, sb_session_computed_ns(s) - before_ns);
  return true;
}

static bool session_answered(cay_session *s) {
  if (!s->answered_new) return true;
  s->served++;
  s->unsaved = s->saving == SB_SAVE_LATER;
  return s->saving != SB_SAVE_NOW || sb_session_save(s);
}

/* A session at rest holds less memory, and can be copied quickly. */
static bool session_rest(cay_session *s) {
  s->unsaved = false;
  if (abi_resident_threads(s->resident) > 0) return true;
  sb_replay_free(&s->replay);
  return abi_resident_settle(s->resident, NULL) == CAY_OK;
}

static bool session_settle(void *ctx, enum sb_slot_moment moment) {
  cay_session *s = ctx;
  if (s->no_undo || sb_session_is_parked(s)) return true;
  return moment == SB_ANSWERED ? session_answered(s) : session_rest(s);
}

static void session_on_done(sb_slot_request *base) {
  sb_request *q = CONTAINER_OF(base, sb_request, base);
  q->on_done(q);
}

/* ---- on those of callers ---- */

void sb_session_slot_init(cay_session *s) {
  static const sb_slot_work work = { .run = session_run, .settle = session_settle };
  sb_slot_init(&s->slot, &work, s, s->box->engine->threads, s->box->engine->several_processors);
}

/* The session was taken: it has its memory, or is given back. */
static cay_status session_awake(cay_session *s, cay_error *err) {
  cay_status status = sb_session_is_parked(s) ? sb_session_wake(s, err) : CAY_OK;
  if (status != CAY_OK) sb_session_give(s);
  return status;
}

cay_status sb_session_take(cay_session *s, bool no_wait, cay_error *err) {
  S_TRY(sb_slot_take(&s->slot, no_wait, err));
  return session_awake(s, err);
}

cay_status sb_session_try(cay_session *s, cay_error *err) {
  S_TRY(sb_slot_try(&s->slot, err));
  return session_awake(s, err);
}

void sb_session_give(cay_session *s) { sb_slot_give(&s->slot); }

cay_status sb_session_hold(cay_session *s, int64_t deadline_ns, bool *taken, cay_error *err) {
  if (sb_slot_hold(&s->slot, deadline_ns, taken)) return CAY_OK;
  return err_set(err, CAY_BUSY, "session %u is evaluating", s->id);
}

cay_status sb_session_send(sb_request *q, cay_error *err) {
  q->start_ns = clock_mono_ns();
  q->base.on_done = session_on_done;
  return sb_slot_send(&q->session->slot, &q->base, err);
}

cay_status sb_session_ask(sb_request *q, cay_error *err) {
  q->start_ns = clock_mono_ns();
  S_TRY(sb_slot_ask(&q->session->slot, &q->base, err));
  if (q->status != CAY_OK && err != NULL) *err = q->err;
  return q->status;
}

static void session_stop(void *ctx) {
  cay_session *s = ctx;
  k_lock(s->box->kernel);
  if (s->job != NULL) {
    k_job_kill(s->job, K_JOB_CANCELLED);
    sb_session_force(s);
  }
  k_unlock(s->box->kernel);
}

void sb_session_close(cay_session *s) { sb_slot_close(&s->slot, session_stop); }
