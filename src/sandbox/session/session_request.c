/* session_request.c - one request: its job, the exchange with the interpreter, the end of the job. */
#include "sandbox/session/session_inner.h"

#include "sandbox/input.h"
#include "sandbox/status.h"

#include <stdio.h>

K_LOCKED static k_ret request_begin_job(sb_request *q) {
  cay_session *s = q->session;
  k_process *p = abi_resident_process(s->resident);
  k_job *job = NULL;
  K_TRY(k_job_new(s->box->kernel, q->output, q->output_ctx, &job));
  job->on_stop = sb_session_on_stop;
  job->on_stop_ctx = s;
  job->on_event = q->event;
  job->on_event_ctx = q->event_ctx;
  job->on_piece = q->piece;
  job->on_piece_ctx = q->piece_ctx;
  job->on_display = q->display;
  job->on_display_ctx = q->display_ctx;
  if (s->fuel != NULL) {
    atomic_store(s->fuel, q->fuel != 0 ? q->fuel : UINT64_MAX);
    job->owner = s->fuel;
  }
  k_ret r = k_job_attach(job, p);
  if (r >= 0 && q->input.len != 0) r = sb_input_put(p, q->input);
  if (r < 0) {
    if (p->job != NULL) k_job_detach(p, K_SIGKILL);
    k_job_unref(job);
    return r;
  }
  s->job = job;
  bool cancelled =
      s->slot.closing || (q->cancelled != NULL && __atomic_load_n(q->cancelled, __ATOMIC_ACQUIRE));
  s->why = cancelled ? K_JOB_CANCELLED : job->stop;
  s->forced = false;
  return 0;
}

static void request_end_job(sb_request *q) {
  cay_session *s = q->session;
  k_job *job = s->job;
  IGNORED(k_job_set_deadline(job, K_FOREVER)); /* taking a deadline away cannot fail */
  k_lock(s->box->kernel);
  s->job = NULL;
  q->stop = s->why;
  if (q->stop != K_JOB_RUNNING && job->detail != NULL) /* another limit than the evaluation's own */
    (void)snprintf(q->gone.why, sizeof q->gone.why, "%s", job->detail);
  k_unlock(s->box->kernel);
  if (q->stop != K_JOB_RUNNING) alarm_disarm(s->box->engine->alarms, &s->stop_alarm);
  k_lock(s->box->kernel);
  k_job_detach(abi_resident_process(s->resident), q->gone.status);
  if (!q->returned) k_job_kill(job, q->stop != K_JOB_RUNNING ? q->stop : K_JOB_CANCELLED);
  k_job_unref(job);
  k_unlock(s->box->kernel);
  if (q->fuel != 0) q->fuel_used = q->fuel - atomic_load(s->fuel);
}

/* A copy of an image knows neither its environment nor randomness of its own. */
static cay_status session_greet(cay_session *s, bool *returned, abi_gone *gone, cay_error *err) {
  const k_program *program = abi_resident_process(s->resident)->program;
  OWNED(buf_free) buf fields = BUF_INIT(INT32_MAX);
  uint8_t seed[32];
  cay_slice reply;
  k_lock(s->box->kernel);
  rng_bytes(&s->box->kernel->random, seed, sizeof seed);
  k_unlock(s->box->kernel);
  cay_status status = talk_put(&fields, TALK_SEED, seed, sizeof seed);
  for (uint32_t i = 0; s->fresh && i < program->envc && status == CAY_OK; i++)
    status = talk_put_text(&fields, TALK_ENV, program->envp[i]);
  if (status != CAY_OK) return err_no_memory(err);
  S_TRY(abi_resident_call(s->resident, TALK_GREET, (cay_slice){ fields.data, fields.len }, &reply, returned,
                          gone, err));
  if (*returned) s->greeted = true;
  return CAY_OK;
}

static cay_status request_converse(sb_request *q, cay_error *err) {
  cay_session *s = q->session;
  cay_slice bytes = { 0 };
  if (!s->greeted) S_TRY(session_greet(s, &q->returned, &q->gone, err));
  if (!q->returned) return CAY_OK;
  S_TRY(abi_resident_call(s->resident, q->op, (cay_slice){ q->fields.data, q->fields.len }, &bytes,
                          &q->returned, &q->gone, err));
  if (!q->returned) return CAY_OK;
  talk_reply reply;
  if (!talk_read(bytes, &reply)) {
    q->returned = false;
    q->gone = (abi_gone){ .status = K_SIGABRT,
                          .why = "the interpreter answered nonsense: fields beyond the reply" };
    return CAY_OK;
  }
  return q->on_reply(q->ctx, &reply, err);
}

void sb_request_run(sb_request *q) {
  cay_session *s = q->session;
  q->returned = true;
  k_lock(s->box->kernel);
  k_ret r = request_begin_job(q);
  q->skipped = r >= 0 && s->why != K_JOB_RUNNING;
  k_unlock(s->box->kernel);
  if (r < 0) {
    q->status = sb_status(&q->err, r, NULL);
    return;
  }
  if (q->wall_ms != UINT32_MAX) r = k_job_set_deadline(s->job, q->start_ns + q->wall_ms * NS_PER_MS);
  if (!q->skipped) q->status = r < 0 ? sb_status(&q->err, r, NULL) : request_converse(q, &q->err);
  q->end_ns = clock_mono_ns();
  request_end_job(q);
}
