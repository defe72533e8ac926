/* exec.c - commands of a session: waited for, or in the background. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/utf8.h"
#include "workspace/client.h"

#include <string.h>

typedef struct ws_output {
  cay_ws_output public;
  cay_result *result; /* owns the bytes */
} ws_output;

struct cay_ws_process {
  list in_session;
  cay_ws_session *s;    /* a reference */
  cay_process *process; /* NULL: the session has ended */
  int32_t pid;
};

/* ---- results ---- */

static cay_slice output_cut(cay_slice bytes, bool cut) {
  return (cay_slice){ bytes.data, cut ? utf8_whole_len(bytes.data, bytes.len) : bytes.len };
}

static uint64_t exec_mebibytes(const cay_ws_session *s) {
  cay_limits limits;
  (void)ws_session_options(s, &limits);
  return (limits.memory + (1 << 20) - 1) >> 20;
}

/* A program that never ran has no exit code. `result` is gone afterwards. */
static cay_status output_refuse(const cay_ws_session *s, cay_result *result, cay_ws_error *err) {
  cay_ws_code code = result->start == CAY_START_MEMORY ? CAY_WS_MEMORY_EXCEEDED : CAY_WS_ENFORCER_UNAVAILABLE;
  cay_status status = ws_fail(err, code, CAY_LIMIT, code == CAY_WS_ENFORCER_UNAVAILABLE ? "cay" : NULL,
                              "%.*s", (int)result->detail.len, (const char *)result->detail.data);
  if (err != NULL && code == CAY_WS_MEMORY_EXCEEDED) err->limit = exec_mebibytes(s);
  cay_result_free(result);
  return status;
}

/* `result` is the output's, and gone on failure. */
static cay_status output_new(const cay_ws_session *s, cay_result *result, cay_ws_output **out,
                             cay_ws_error *err) {
  if (result->start != CAY_START_OK) return output_refuse(s, result, err);
  ws_output *o = mem_zalloc(sizeof *o);
  if (o == NULL) {
    cay_result_free(result);
    return ws_no_memory(err);
  }
  o->result = result;
  o->public = (cay_ws_output){ .out = output_cut(result->out, result->out_cut),
                               .err = output_cut(result->err, result->err_cut),
                               .out_cut = result->out_cut,
                               .err_cut = result->err_cut,
                               .exit_code = cay_result_exit_code(result),
                               .duration_ns = result->wall_ns,
                               .timed_out = result->end == CAY_END_TIME };
  *out = &o->public;
  return CAY_OK;
}

void cay_ws_output_free(cay_ws_output *output) {
  if (output == NULL) return;
  ws_output *o = CONTAINER_OF(output, ws_output, public);
  cay_result_free(o->result);
  mem_free(o);
}

/* ---- commands ---- */

static uint32_t exec_time(const cay_ws_session *s, uint32_t wanted) {
  const cay_limits *limits = cay_ws_manifest_get(s->document)->limits;
  uint32_t most = limits != NULL && limits->wall_ms != 0 ? limits->wall_ms : s->ws->limits.wall_ms;
  if (wanted != 0) return wanted;
  return most != 0 ? 0 : WS_TIMEOUT_MS; /* 0: the sandbox's own, which is `most` */
}

static cay_status exec_prepare(cay_ws_session *s, const cay_ws_exec_options *given, cay_ws_exec_options *o,
                               ws_path *place, cay_run_options *run, cay_ws_error *err) {
  memset(o, 0, sizeof *o);
  if (given != NULL) memcpy(o, given, given->size < sizeof *o ? given->size : sizeof *o);
  if (o->command == NULL)
    return ws_fail(err, CAY_WS_INVALID_REQUEST, CAY_INVALID, NULL, "exec: a command is needed");
  S_TRY(ws_path_resolve(s->box, o->working_dir != NULL ? o->working_dir : ".", true, place, err));
  *run = CAY_INIT(cay_run_options, .command = o->command, .cwd = place->text, .env = o->env,
                  .input = o->input, .input_open = o->input_open, .wall_ms = exec_time(s, o->timeout_ms),
                  .output = o->output, .output_ctx = o->output_ctx);
  return CAY_OK;
}

static bool exec_was_stopped(cay_ws_session *s) {
  pthread_mutex_lock(&s->mu);
  bool stopped = s->state == CAY_WS_STOPPED;
  pthread_mutex_unlock(&s->mu);
  return stopped;
}

/* Why the sandbox did not run a command: a quota is the policy's refusal, a shell that cannot be read the sandbox's own fault, and the
 * rest the command's. */
static cay_status exec_fail(cay_ws_session *s, const cay_error *cause, cay_ws_error *err) {
  if (exec_was_stopped(s))
    return ws_fail(err, CAY_WS_SESSION_NOT_FOUND, CAY_NOT_FOUND, s->handle, "the session was stopped");
  cay_ws_code code = cause->status == CAY_LIMIT ? CAY_WS_POLICY_VIOLATION
                     : cause->status == CAY_IO  ? CAY_WS_ENFORCER_FAILED
                                                : CAY_WS_EXECUTION_FAILED;
  return ws_fail_from(err, code, NULL, cause);
}

static cay_status exec_run(cay_ws_session *s, const cay_ws_exec_options *options, cay_ws_output **out,
                           cay_ws_error *err) {
  cay_ws_exec_options o;
  cay_run_options run;
  cay_result *result = NULL;
  cay_error cause;
  ws_path place;
  S_TRY(exec_prepare(s, options, &o, &place, &run, err));
  if (o.input_open)
    return ws_fail(err, CAY_WS_INVALID_REQUEST, CAY_INVALID, NULL, "exec: input_open is for cay_ws_spawn");
  if (cay_run(s->box, &run, &result, &cause) != CAY_OK) return exec_fail(s, &cause, err);
  return output_new(s, result, out, err);
}

cay_status cay_ws_exec(cay_ws_session *s, const cay_ws_exec_options *options, cay_ws_output **out,
                       cay_ws_error *err) {
  S_TRY(ws_session_enter(s, WS_USE, err));
  cay_status status = exec_run(s, options, out, err);
  ws_session_leave(s);
  return status;
}

/* ---- processes ---- */

static cay_status process_start(cay_ws_session *s, const cay_ws_exec_options *options, cay_ws_process *p,
                                cay_ws_error *err) {
  cay_ws_exec_options o;
  cay_run_options run;
  cay_error cause;
  ws_path place;
  S_TRY(exec_prepare(s, options, &o, &place, &run, err));
  if (cay_spawn(s->box, &run, &p->process, &cause) != CAY_OK) return exec_fail(s, &cause, err);
  p->pid = cay_process_pid(p->process);
  pthread_mutex_lock(&s->mu);
  list_push(&s->processes, &p->in_session);
  s->refs++;
  pthread_mutex_unlock(&s->mu);
  return CAY_OK;
}

cay_status cay_ws_spawn(cay_ws_session *s, const cay_ws_exec_options *options, cay_ws_process **out,
                        cay_ws_error *err) {
  cay_ws_process *p = mem_zalloc(sizeof *p);
  if (p == NULL) return ws_no_memory(err);
  p->s = s;
  list_init(&p->in_session);
  cay_status status = ws_session_enter(s, WS_USE, err);
  if (status == CAY_OK) {
    status = process_start(s, options, p, err);
    ws_session_leave(s);
  }
  if (status == CAY_OK)
    *out = p;
  else
    mem_free(p);
  return status;
}

int32_t cay_ws_process_pid(const cay_ws_process *process) { return process->pid; }

cay_status cay_ws_process_wait(cay_ws_process *p, int64_t timeout_ms, cay_ws_output **out,
                               cay_ws_error *err) {
  cay_result *result = NULL;
  cay_error cause;
  S_TRY(ws_session_enter(p->s, WS_USE, err));
  cay_status status = cay_process_wait(p->process, timeout_ms, &result, &cause);
  if (status == CAY_OK) {
    status = output_new(p->s, result, out, err);
  } else {
    ws_fail_from(err, CAY_WS_EXECUTION_FAILED, NULL, &cause);
    if (err != NULL && status == CAY_TIMEOUT) err->limit = (uint64_t)timeout_ms;
  }
  ws_session_leave(p->s);
  return status;
}

cay_status cay_ws_process_write(cay_ws_process *p, cay_slice bytes, cay_ws_error *err) {
  cay_error cause;
  S_TRY(ws_session_enter(p->s, WS_USE, err));
  cay_status status = cay_process_write(p->process, bytes, &cause);
  if (status != CAY_OK) ws_fail_from(err, CAY_WS_EXECUTION_FAILED, NULL, &cause);
  ws_session_leave(p->s);
  return status;
}

/* Nothing is left to be told once the session has ended. */
static bool process_enter(cay_ws_process *p) {
  return p != NULL && ws_session_enter(p->s, WS_USE, NULL) == CAY_OK;
}

void cay_ws_process_close_input(cay_ws_process *p) {
  if (!process_enter(p)) return;
  cay_process_close_input(p->process);
  ws_session_leave(p->s);
}

void cay_ws_process_signal(cay_ws_process *p, int signal) {
  if (!process_enter(p)) return;
  cay_process_signal(p->process, signal);
  ws_session_leave(p->s);
}

void cay_ws_process_kill(cay_ws_process *p) {
  if (!process_enter(p)) return;
  cay_process_kill(p->process);
  ws_session_leave(p->s);
}

void cay_ws_process_free(cay_ws_process *p) {
  if (p == NULL) return;
  cay_ws_session *s = p->s;
  pthread_mutex_lock(&s->mu);
  list_remove(&p->in_session);
  cay_process *process = MOVE(p->process);
  pthread_mutex_unlock(&s->mu);
  cay_process_free(process);
  mem_free(p);
  cay_ws_session_free(s);
}

void ws_processes_end(cay_ws_session *s) {
  pthread_mutex_lock(&s->mu);
  while (!list_empty(&s->processes)) {
    cay_ws_process *p = CONTAINER_OF(s->processes.next, cay_ws_process, in_session);
    list_remove(&p->in_session);
    cay_process *process = MOVE(p->process);
    pthread_mutex_unlock(&s->mu);
    cay_process_kill(process);
    cay_process_free(process);
    pthread_mutex_lock(&s->mu);
  }
  pthread_mutex_unlock(&s->mu);
}
