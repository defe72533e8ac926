/* session_runtime.c - code in sessions of cay: one engine, and for each execution a fresh sandbox. */
#include "grpc/service/runtime.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "grpc/service/session_test_run.h"

#include <cay/session.h>
#include <stdio.h>
#include <string.h>

typedef struct session_runtime {
  runtime base;
  cay_engine *engine;
  char language[32];
  uint64_t memory, cpu_ms;
  const runtime_module *modules;
  size_t module_count;
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
  if (v->end == CAY_END_TIME && v->detail.len != 0) { /* another limit than the deadline */
    out->end = RUNTIME_FAILED;
    say_bytes(out, v->detail);
  } else if (v->end == CAY_END_TIME) {
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

/* One piece of code in the rest of the job's time. *json (NULL: not wanted) is the value of one that was DONE. */
static cay_status evaluate(cay_session *session, const runtime_job *job, cay_slice code, int64_t until_ns,
                           buf *json, runtime_result *out, cay_error *err) {
  int64_t left_ms = (until_ns - clock_mono_ns()) / NS_PER_MS;
  cay_value *value = NULL;
  S_TRY(
      cay_session_eval(session,
                       &CAY_INIT(cay_eval_options, .code = code, .no_json = json == NULL, .no_capture = true,
                                 .drain = !job->is_test, .wall_ms = left_ms > 1 ? (uint32_t)left_ms : 1,
                                 .output = job->output, .output_ctx = job->output_ctx),
                       &value, err));
  read_value(value, out);
  cay_status status = CAY_OK;
  if (json != NULL && out->end == RUNTIME_DONE &&
      buf_append(json, value->json.data, value->json.len) != CAY_OK)
    status = err_no_memory(err);
  cay_value_free(value);
  return status;
}

/* A script may end by `return`, as the body of a function. It did not begin when the interpreter refused it for that,
 * and is given again as one; on the same line, so that positions in errors stay. */
static bool has_return(const runtime_result *out) {
  static const char refused[] = "SyntaxError: return not in a function";
  return out->end == RUNTIME_FAILED && strncmp(buf_text(&out->error), refused, sizeof refused - 1) == 0;
}

static cay_status run_as_body(cay_session *session, const runtime_job *job, int64_t until_ns,
                              runtime_result *out, cay_error *err) {
  buf body = BUF_INIT(BUF_UNLIMITED);
  cay_status status = buf_append_text(&body, "await (async () => {");
  if (status == CAY_OK) status = buf_append(&body, job->code.data, job->code.len);
  if (status == CAY_OK) status = buf_append_text(&body, "\n})()");
  buf_clear(&out->error);
  if (status == CAY_OK)
    status = evaluate(session, job, (cay_slice){ body.data, body.len }, until_ns, NULL, out, err);
  else
    status = err_no_memory(err);
  buf_free(&body);
  return status;
}

static cay_status run_script(session_runtime *r, cay_session *session, const runtime_job *job,
                             int64_t until_ns, runtime_result *out, cay_error *err) {
  S_TRY(evaluate(session, job, job->code, until_ns, NULL, out, err));
  if (!r->base.has_tests || !has_return(out)) return CAY_OK;
  return run_as_body(session, job, until_ns, out, err);
}

/* The code, the tests, then the queued tests: each if the one before has succeeded. */
static cay_status run_tests(cay_session *session, const runtime_job *job, int64_t until_ns,
                            runtime_result *out, cay_error *err) {
  static const char report[] = "await require('uvu/report')()";
  const cay_slice steps[] = { job->code, job->tests, { report, sizeof report - 1 } };
  buf json = BUF_INIT(BUF_UNLIMITED);
  cay_status status = CAY_OK;
  out->end = RUNTIME_DONE;
  for (size_t i = 0; i < COUNT_OF(steps) && status == CAY_OK && out->end == RUNTIME_DONE; i++) {
    buf *value = i == COUNT_OF(steps) - 1 ? &json : NULL;
    if (steps[i].len != 0) status = evaluate(session, job, steps[i], until_ns, value, out, err);
  }
  cay_error why = { 0 };
  if (status == CAY_OK && out->end == RUNTIME_DONE &&
      session_report((cay_slice){ json.data, json.len }, &out->report, &why) != CAY_OK) {
    out->end = RUNTIME_FAILED;
    say_text(out, why.message);
  }
  buf_free(&json);
  return status;
}

static cay_status run_in(session_runtime *r, cay_sandbox *box, const runtime_job *job, runtime_result *out,
                         cay_error *err) {
  cay_session *session = NULL;
  cay_status status = cay_session_new(
      box, &CAY_INIT(cay_session_options, .language = r->language, .no_undo = true), &session, err);
  if (status != CAY_OK) return status;
  cancel_watch watch = { .fn = end_sandbox, .ctx = box };
  cancel_add(job->cancel, &watch);
  int64_t until_ns = clock_mono_ns() + job->timeout_ms * NS_PER_MS;
  status = job->is_test ? run_tests(session, job, until_ns, out, err)
                        : run_script(r, session, job, until_ns, out, err);
  cancel_remove(job->cancel, &watch);
  if (cancel_raised(job->cancel)) { /* whatever the guest made of it */
    out->end = RUNTIME_CANCELLED;
    status = CAY_OK;
  }
  return status; /* the session goes with its sandbox */
}

/* Other code does not pay for it. */
static bool wants_uvu(const session_runtime *r, const runtime_job *job) {
  return r->base.has_tests &&
         (job->is_test || (job->code.len >= 3 && memmem(job->code.data, job->code.len, "uvu", 3) != NULL));
}

static cay_status mount_modules(const session_runtime *r, cay_sandbox *box, cay_error *err) {
  for (size_t i = 0; i < r->module_count; i++) {
    char path[256];
    (void)snprintf(path, sizeof path, "/home/agent/node_modules/%s", r->modules[i].name);
    S_TRY(cay_mount(box, &CAY_INIT(cay_mount_options, .host_path = r->modules[i].dir, .path = path), err));
  }
  return CAY_OK;
}

static cay_status session_run(runtime *base, const runtime_job *job, runtime_result *out, cay_error *err) {
  session_runtime *r = CONTAINER_OF(base, session_runtime, base);
  cay_sandbox *box = NULL;
  cay_limits limits =
      CAY_INIT(cay_limits, .memory = r->memory, .cpu_ms = r->cpu_ms, .wall_ms = job->timeout_ms);
  S_TRY(cay_sandbox_new(r->engine, &CAY_INIT(cay_sandbox_options, .limits = &limits), &box, err));
  cay_status status = wants_uvu(r, job) ? session_add_uvu(box, err) : CAY_OK;
  if (status == CAY_OK) status = mount_modules(r, box, err);
  if (status == CAY_OK) status = run_in(r, box, job, out, err);
  out->left = box;
  return status;
}

static void session_runtime_clean(runtime *base, void *left) {
  (void)base;
  cay_sandbox_free(left);
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
  cay_sandbox_free(result.left);
  if (status == CAY_OK && result.end != RUNTIME_DONE)
    status = err_set(err, CAY_INTERNAL, "%s does not run: %.150s", r->language, buf_text(&result.error));
  buf_free(&result.error);
  return status;
}

cay_status session_runtime_new(const runtime_options *options, runtime **out, cay_error *err) {
  session_runtime *r = mem_zalloc(sizeof *r);
  if (r == NULL) return err_no_memory(err);
  r->base = (runtime){ .run = session_run, .clean = session_runtime_clean, .free = session_runtime_free };
  r->base.has_tests =
      strcmp(options->language, "javascript") == 0 || strcmp(options->language, "typescript") == 0;
  r->base.suffix = r->base.has_tests ? ".ts" : strcmp(options->language, "python") == 0 ? ".py" : "";
  r->memory = options->memory;
  r->cpu_ms = options->cpu_ms;
  r->modules = options->modules;
  r->module_count = options->module_count;
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
