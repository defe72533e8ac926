/* session_runtime.c - code in sessions of cay: one engine, and for each execution a fresh sandbox. */
#include "grpc/service/runtime.h"

#include "base/alloc.h"
#include "base/error.h"

#include <cay/session.h>
#include <stdio.h>
#include <string.h>

typedef struct session_runtime {
  runtime base;
  cay_engine *engine;
  char language[32];
  uint64_t memory;
} session_runtime;

static void say_text(runtime_result *out, const char *text) {
  IGNORED(buf_append_text(&out->error, text)); /* without memory the failure has no words */
}

static void say_bytes(runtime_result *out, cay_slice text) {
  IGNORED(buf_append(&out->error, text.data, text.len));
}

/* ---- how it ended ---- */

static void read_exception(const cay_value *v, runtime_result *out) {
  out->end = RUNTIME_FAILED;
  if (v->traceback.len != 0) {
    size_t len = v->traceback.len;
    const char *text = v->traceback.data;
    while (len > 0 && text[len - 1] == '\n') len--;
    say_bytes(out, (cay_slice){ text, len });
    return;
  }
  say_bytes(out, v->error_type);
  if (v->error_type.len != 0 && v->error_text.len != 0) say_text(out, ": ");
  say_bytes(out, v->error_text);
}

static void read_exit(const cay_value *v, runtime_result *out) {
  char text[64];
  if (v->exit_code == 0) return;
  out->end = RUNTIME_FAILED;
  (void)snprintf(text, sizeof text, "the script ended with exit code %d", v->exit_code);
  say_text(out, text);
}

static void read_stop(const cay_value *v, runtime_result *out) {
  char text[96];
  if (v->end == CAY_END_TIME) {
    out->end = RUNTIME_TIMEOUT;
  } else if (v->end == CAY_END_CANCELLED) {
    out->end = RUNTIME_CANCELLED;
  } else {
    out->end = RUNTIME_FAILED;
    (void)snprintf(text, sizeof text, "the interpreter was ended by %s %d", cay_end_name(v->end),
                   v->exit_code);
    say_text(out, text);
    if (v->detail.len != 0) say_text(out, ": ");
    say_bytes(out, v->detail);
  }
}

static void read_value(const cay_value *v, runtime_result *out) {
  out->end = RUNTIME_DONE;
  switch (v->outcome) {
  case CAY_OUTCOME_VALUE: break;
  case CAY_OUTCOME_EXCEPTION: read_exception(v, out); break;
  case CAY_OUTCOME_EXIT: read_exit(v, out); break;
  case CAY_OUTCOME_STOPPED: read_stop(v, out); break;
  }
  if (out->end == RUNTIME_FAILED && out->error.len == 0) say_text(out, "the script failed");
}

/* ---- running ---- */

static void end_sandbox(void *ctx) { cay_sandbox_interrupt(ctx); }

static cay_status evaluate(cay_session *session, const runtime_job *job, runtime_result *out,
                           cay_error *err) {
  cay_value *value = NULL;
  S_TRY(cay_session_eval(session,
                         &CAY_INIT(cay_eval_options, .code = job->code, .no_json = true, .no_capture = true,
                                   .drain = true, .wall_ms = job->timeout_ms, .output = job->output,
                                   .output_ctx = job->output_ctx),
                         &value, err));
  read_value(value, out);
  cay_value_free(value);
  return CAY_OK;
}

static cay_status run_in(session_runtime *r, cay_sandbox *box, const runtime_job *job, runtime_result *out,
                         cay_error *err) {
  cay_session *session = NULL;
  cay_status status = cay_session_new(
      box, &CAY_INIT(cay_session_options, .language = r->language, .no_undo = true), &session, err);
  if (status != CAY_OK) return status;
  cancel_watch watch = { .fn = end_sandbox, .ctx = box };
  cancel_add(job->cancel, &watch);
  status = evaluate(session, job, out, err);
  cancel_remove(job->cancel, &watch);
  if (cancel_raised(job->cancel)) { /* whatever the guest made of it */
    out->end = RUNTIME_CANCELLED;
    status = CAY_OK;
  }
  cay_session_free(session);
  return status;
}

static cay_status session_run(runtime *base, const runtime_job *job, runtime_result *out, cay_error *err) {
  session_runtime *r = CONTAINER_OF(base, session_runtime, base);
  cay_sandbox *box = NULL;
  S_TRY(cay_sandbox_new(r->engine,
                        &CAY_INIT(cay_sandbox_options, .limits = &CAY_INIT(cay_limits, .memory = r->memory,
                                                                           .wall_ms = job->timeout_ms)),
                        &box, err));
  cay_status status = run_in(r, box, job, out, err);
  cay_sandbox_free(box);
  return status;
}

static void session_runtime_free(runtime *base) {
  session_runtime *r = CONTAINER_OF(base, session_runtime, base);
  cay_engine_free(r->engine);
  mem_free(r);
}

/* ---- making it ---- */

/* The first session loads what all share, and shows that the language is there. */
static cay_status try_once(session_runtime *r, cay_error *err) {
  runtime_result result = { .error = BUF_INIT(4096) };
  runtime_job job = { .code = { "0", 1 }, .timeout_ms = 30000 };
  cay_status status = session_run(&r->base, &job, &result, err);
  if (status == CAY_OK && result.end != RUNTIME_DONE)
    status = err_set(err, CAY_INTERNAL, "%s does not run: %.150s", r->language, buf_text(&result.error));
  buf_free(&result.error);
  return status;
}

cay_status session_runtime_new(const runtime_options *options, runtime **out, cay_error *err) {
  session_runtime *r = mem_zalloc(sizeof *r);
  if (r == NULL) return err_no_memory(err);
  r->base = (runtime){ .run = session_run, .free = session_runtime_free };
  r->base.suffix = strcmp(options->language, "python") == 0 ? ".py" : ".ts";
  r->memory = options->memory;
  (void)snprintf(r->language, sizeof r->language, "%s", options->language);
  cay_status status = cay_engine_new(&CAY_INIT(cay_engine_options, .cache_dir = options->cache_dir,
                                               .log = options->log, .log_ctx = options->log_ctx),
                                     &r->engine, err);
  if (status != CAY_OK) {
    mem_free(r);
    return status;
  }
  status = try_once(r, err);
  if (status != CAY_OK) {
    session_runtime_free(&r->base);
    return status;
  }
  *out = &r->base;
  return CAY_OK;
}
