/* session_stop.c - the stop of a request: an exception in the interpreter, then force (cay_session_cancel). */
#include "sandbox/session/session_inner.h"

enum {
  GRACE_MS = 50,          /* between the exception and force */
  THREADS_GRACE_MS = 500, /* the same, where the interpreter's thread takes turns with others that compute */
  POKE_MS = 1,
};

void sb_session_force(cay_session *s) {
  if (s->forced) return;
  s->forced = true;
  k_process_end(abi_resident_process(s->resident), K_SIGKILL);
}

static enum talk_reason stop_reason(enum k_job_stop why) {
  switch (why) {
  case K_JOB_TIME: return TALK_REASON_TIME;
  case K_JOB_FUEL: return TALK_REASON_FUEL;
  case K_JOB_CANCELLED:
  case K_JOB_RUNNING: break;
  }
  return TALK_REASON_CANCELLED;
}

K_LOCKED static void session_urge(cay_session *s) {
  int64_t now = clock_mono_ns(), next = now + POKE_MS * NS_PER_MS;
  if (now >= s->hard_ns) {
    sb_session_force(s);
    return;
  }
  if (abi_resident_poke(s->resident, stop_reason(s->why))) next = s->hard_ns;
  if (alarm_arm(s->box->engine->alarms, &s->stop_alarm, next, NULL) != CAY_OK) sb_session_force(s);
}

/* On the alarm thread; disarmed before the session's job goes. */
static void session_on_stop_alarm(void *ctx) {
  cay_session *s = ctx;
  k_kernel *k = s->box->kernel;
  k_lock(k);
  if (s->job != NULL && s->why != K_JOB_RUNNING) session_urge(s);
  k_unlock(k);
}

static bool session_try_stop_alarm(void *ctx) {
  cay_session *s = ctx;
  k_kernel *k = s->box->kernel;
  if (!k_try_lock(k)) return false;
  if (s->job != NULL && s->why != K_JOB_RUNNING) session_urge(s);
  k_unlock(k);
  return true;
}

void sb_session_stop_init(cay_session *s) {
  s->stop_alarm = (alarm_entry){ .fn = session_on_stop_alarm, .try_fn = session_try_stop_alarm, .ctx = s };
}

K_LOCKED static int64_t grace_ns(const cay_session *s) {
  bool several = abi_resident_process(s->resident)->takes_turns;
  return (several ? THREADS_GRACE_MS : GRACE_MS) * NS_PER_MS;
}

void sb_session_on_stop(void *ctx, enum k_job_stop why) {
  cay_session *s = ctx;
  if (s->why != K_JOB_RUNNING) return;
  s->why = why;
  s->hard_ns = clock_mono_ns() + grace_ns(s);
  session_urge(s);
}

void cay_session_cancel(cay_session *s) {
  k_lock(s->box->kernel);
  if (s->job != NULL) k_job_kill(s->job, K_JOB_CANCELLED);
  k_unlock(s->box->kernel);
}
