/* session_stop.c - the stop of a request: an exception in the interpreter, then force (cay_session_cancel). */
#include "sandbox/session/session_inner.h"

enum {
  GRACE_MS = 50, /* of the interpreter's processor time between the exception and force */
  GRACE_MAX_MS =
      500, /* the same by the clock: it may sleep, or the machine be busy, or others have the turn */
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

/* Of the interpreter, since the stop. */
K_LOCKED static int64_t session_used_ns(cay_session *s) {
  int64_t cpu = k_cpu_meter_read_ns(&abi_resident_process(s->resident)->leader.meter);
  if (s->stop_cpu_ns == 0) s->stop_cpu_ns = cpu;
  return cpu > s->stop_cpu_ns ? cpu - s->stop_cpu_ns : 0;
}

/* When it is to be ended by force, unless it has ended by then: as soon as it can have computed for all of its grace. */
K_LOCKED static int64_t force_ns(cay_session *s, int64_t now) {
  int64_t left = GRACE_MS * NS_PER_MS - session_used_ns(s);
  int64_t soonest = now + (left > 0 ? left : 0), last = s->stop_ns + GRACE_MAX_MS * NS_PER_MS;
  return soonest < last ? soonest : last;
}

K_LOCKED static void session_urge(cay_session *s) {
  int64_t now = clock_mono_ns(), next = now + POKE_MS * NS_PER_MS, force = force_ns(s, now);
  if (now >= force) {
    sb_session_force(s);
    return;
  }
  if (abi_resident_poke(s->resident, stop_reason(s->why)) && next < force) next = force;
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

void sb_session_on_stop(void *ctx, enum k_job_stop why) {
  cay_session *s = ctx;
  if (s->why != K_JOB_RUNNING) return;
  s->why = why;
  s->stop_ns = clock_mono_ns();
  s->stop_cpu_ns = 0;
  session_urge(s);
}

void cay_session_cancel(cay_session *s) {
  k_lock(s->box->kernel);
  if (s->job != NULL) k_job_kill(s->job, K_JOB_CANCELLED);
  k_unlock(s->box->kernel);
}
