/* python_job.c - requests to sessions: each has a thread while it runs, so that others are read meanwhile. Those
 * of one session wait in line, in the order in which they were read. */
#include "base/alloc.h"
#include "base/error.h"
#include "serve/python.h"
#include "serve/text.h"

void python_job_free(python_job *j) {
  mem_free(j->code);
  mem_free(j->filter);
  cay_buf_free(&j->input);
  cay_buf_free(&j->bytes);
  mem_free(j);
}

/* ---- the answer of an evaluation ---- */

static bool put_slice(yyjson_mut_doc *doc, yyjson_mut_val *to, const char *name, cay_slice text) {
  return text.len == 0 || put_text(doc, to, name, text.data, text.len);
}

/* The guest's JSON becomes part of ours only if it is JSON. */
static bool put_json(yyjson_mut_doc *doc, yyjson_mut_val *to, const char *name, cay_slice text,
                     bool or_text) {
  if (text.len == 0) return true;
  yyjson_doc *given =
      yyjson_read_opts((char *)(uintptr_t)text.data, text.len, YYJSON_READ_BIGNUM_AS_RAW, &JSON_ALLOC, NULL);
  if (given == NULL) return or_text ? put_text(doc, to, name, text.data, text.len) : true;
  bool fine = yyjson_mut_obj_add_val(doc, to, name, yyjson_val_mut_copy(doc, yyjson_doc_get_root(given)));
  yyjson_doc_free(given);
  return fine;
}

static bool put_error(yyjson_mut_doc *doc, yyjson_mut_val *to, const cay_value *v) {
  if (v->error_type.len == 0) return true;
  yyjson_mut_val *error = yyjson_mut_obj_add_obj(doc, to, "error");
  return error != NULL && put_slice(doc, error, "type", v->error_type) &&
         put_text(doc, error, "message", v->error_text.data, v->error_text.len) &&
         put_slice(doc, error, "traceback", v->traceback) &&
         (v->error_line == 0 || yyjson_mut_obj_add_uint(doc, error, "line", v->error_line));
}

static bool put_stop(yyjson_mut_doc *doc, yyjson_mut_val *to, const cay_value *v) {
  if (v->outcome == CAY_OUTCOME_EXIT) return yyjson_mut_obj_add_int(doc, to, "exitCode", v->exit_code);
  if (v->outcome != CAY_OUTCOME_STOPPED) return true;
  return yyjson_mut_obj_add_str(doc, to, "end", cay_end_name(v->end)) &&
         yyjson_mut_obj_add_bool(doc, to, "undone", v->undone) && put_slice(doc, to, "detail", v->detail) &&
         (v->end != CAY_END_EXIT || yyjson_mut_obj_add_int(doc, to, "exitCode", v->exit_code));
}

static char *value_line(const python_job *j, const cay_value *v, size_t *len) {
  yyjson_mut_doc *doc = yyjson_mut_doc_new(&JSON_ALLOC);
  yyjson_mut_val *to = yyjson_mut_obj(doc);
  double ms = rpc_ms(v->wall_ns);
  bool fine = yyjson_mut_obj_add_str(doc, to, "outcome", cay_outcome_name(v->outcome)) &&
              put_text(doc, to, "stdout", v->out.data, v->out.len) &&
              put_text(doc, to, "stderr", v->err.data, v->err.len) && put_slice(doc, to, "repr", v->repr) &&
              put_json(doc, to, "value", v->json, false) && put_json(doc, to, "bundle", v->bundle, false) &&
              put_error(doc, to, v) && put_stop(doc, to, v) &&
              (!v->out_cut || yyjson_mut_obj_add_bool(doc, to, "stdoutTruncated", true)) &&
              (!v->repr_cut || yyjson_mut_obj_add_bool(doc, to, "reprTruncated", true)) &&
              (!v->json_too_large || yyjson_mut_obj_add_bool(doc, to, "valueTooLarge", true)) &&
              (!v->bundle_too_large || yyjson_mut_obj_add_bool(doc, to, "bundleTooLarge", true)) &&
              (!v->err_cut || yyjson_mut_obj_add_bool(doc, to, "stderrTruncated", true)) &&
              (v->fuel == 0 || yyjson_mut_obj_add_uint(doc, to, "fuel", v->fuel)) &&
              (j->trace == 0 || yyjson_mut_obj_add_uint(doc, to, "traceEvents", v->trace_events)) &&
              yyjson_mut_obj_add_real(doc, to, "executionTimeMs", ms);
  char *line = fine ? rpc_result_line(doc, &j->id, to, len) : NULL;
  yyjson_mut_doc_free(doc);
  return line;
}

/* ---- while it runs ---- */

static void notify(const python_job *j, const char *method, yyjson_mut_doc *doc, yyjson_mut_val *params,
                   bool fine) {
  size_t len = 0;
  char *line = fine ? rpc_notification_line(doc, method, params, &len) : NULL;
  server_send(j->server, &j->id, line, len);
  yyjson_mut_doc_free(doc);
}

static void on_output(void *ctx, int fd, cay_slice bytes) {
  const python_job *j = ctx;
  yyjson_mut_doc *doc = yyjson_mut_doc_new(&JSON_ALLOC);
  yyjson_mut_val *params = yyjson_mut_obj(doc);
  bool fine = yyjson_mut_obj_add_val(doc, params, "id", yyjson_mut_raw(doc, j->id.text)) &&
              yyjson_mut_obj_add_str(doc, params, "stream", fd == 1 ? "stdout" : "stderr") &&
              put_text(doc, params, "data", bytes.data, bytes.len);
  notify(j, "python.output", doc, params, fine);
}

static void on_trace(void *ctx, uint32_t line, cay_slice event, cay_slice context) {
  const python_job *j = ctx;
  yyjson_mut_doc *doc = yyjson_mut_doc_new(&JSON_ALLOC);
  yyjson_mut_val *params = yyjson_mut_obj(doc);
  bool fine = yyjson_mut_obj_add_val(doc, params, "id", yyjson_mut_raw(doc, j->id.text)) &&
              yyjson_mut_obj_add_uint(doc, params, "line", line) &&
              put_json(doc, params, "event", event, true) && put_json(doc, params, "context", context, true);
  notify(j, "python.trace", doc, params, fine);
}

/* A text that is no JSON is no bundle. */
static void on_display(void *ctx, cay_slice bundle) {
  const python_job *j = ctx;
  yyjson_mut_doc *doc = yyjson_mut_doc_new(&JSON_ALLOC);
  yyjson_mut_val *params = yyjson_mut_obj(doc);
  bool fine = yyjson_mut_obj_add_val(doc, params, "id", yyjson_mut_raw(doc, j->id.text)) &&
              put_json(doc, params, "bundle", bundle, false);
  if (!fine || yyjson_mut_obj_get(params, "bundle") != NULL)
    notify(j, "python.display", doc, params, fine);
  else
    yyjson_mut_doc_free(doc);
}

static cay_eval_options job_eval_options(python_job *j) {
  cay_eval_options options =
      CAY_INIT(cay_eval_options, .code = { j->code, j->code_len }, .input = { j->input.data, j->input.len },
               .wall_ms = j->wall_ms, .fuel = j->fuel, .no_capture = j->stream, .trace = j->trace,
               .trace_max = j->trace_max, .trace_filter = j->filter, .on_trace = on_trace, .trace_ctx = j,
               .value_max = j->value_max, .cancelled = &j->cancelled);
  if (j->stream) {
    options.output = on_output;
    options.output_ctx = j;
  }
  if (j->display) {
    options.display = on_display;
    options.display_ctx = j;
    options.display_max = j->display_max;
  }
  return options;
}

static cay_status evaluate(python_job *j, cay_value **value, cay_error *err) {
  cay_eval_options options = job_eval_options(j);
  return cay_session_eval(j->session->session, &options, value, err);
}

static char *state_line(const python_job *j, const cay_buf *state, size_t *len) {
  yyjson_mut_doc *doc = yyjson_mut_doc_new(&JSON_ALLOC);
  yyjson_mut_val *to = yyjson_mut_obj(doc);
  buf kept = BUF_INIT(BUF_UNLIMITED);
  bool fine = state != NULL ? put_base64(doc, to, "data", &kept, state->data, state->len)
                            : yyjson_mut_obj_add_bool(doc, to, "ok", true);
  char *line = fine ? rpc_result_line(doc, &j->id, to, len) : NULL;
  buf_free(&kept);
  yyjson_mut_doc_free(doc);
  return line;
}

static cay_status transfer(python_job *j, char **line, size_t *len, cay_error *err) {
  cay_session *session = j->session->session;
  cay_buf state = { 0 };
  if (__atomic_load_n(&j->cancelled, __ATOMIC_ACQUIRE)) return err_set(err, CAY_CANCELLED, "cancelled");
  if (j->kind == PYTHON_SAVE)
    S_TRY(cay_session_save_state(session, &state, err));
  else if (j->kind == PYTHON_LOAD)
    S_TRY(cay_session_load_state(session, (cay_slice){ j->bytes.data, j->bytes.len }, err));
  else
    S_TRY(cay_session_clear_state(session, err));
  *line = state_line(j, j->kind == PYTHON_SAVE ? &state : NULL, len);
  cay_buf_free(&state);
  return *line != NULL ? CAY_OK : err_no_memory(err);
}

static void cancel_job(python_job *j) { __atomic_store_n(&j->cancelled, true, __ATOMIC_RELEASE); }

/* ---- taking turns ---- */

/* A client that has its answer finds the session at rest. */
static void job_count_answered(python_job *j) {
  pthread_mutex_lock(&j->server->mu);
  j->session->unanswered--;
  pthread_mutex_unlock(&j->server->mu);
}

static void job_answer_error(const python_job *j, const cay_error *err) {
  call c = { .server = j->server };
  fail_status(&c, err);
  server_send_error(j->server, &j->id, c.code, c.why);
}

/* Takes the value, NULL unless the status is CAY_OK. */
static void job_answer_value(python_job *j, cay_status status, cay_value *value, const cay_error *err) {
  const serve_client *client = j->server->options.client;
  size_t len = 0;
  job_count_answered(j);
  if (status != CAY_OK) {
    job_answer_error(j, err);
  } else if (client != NULL) {
    client->value(client->ctx, &j->id, value);
  } else {
    char *line = value_line(j, value, &len);
    server_send(j->server, &j->id, line, len);
    cay_value_free(value);
  }
}

static void job_answer_state(python_job *j) {
  char *line = NULL;
  size_t len = 0;
  cay_error err = { 0 };
  cay_status status = transfer(j, &line, &len, &err);
  job_count_answered(j);
  if (status == CAY_OK)
    server_send(j->server, &j->id, line, len);
  else
    job_answer_error(j, &err);
}

static void answer_job(python_job *j) {
  cay_value *value = NULL;
  cay_error err = { 0 };
  if (j->kind != PYTHON_EVAL) {
    job_answer_state(j);
    return;
  }
  cay_status status = evaluate(j, &value, &err);
  job_answer_value(j, status, value, &err);
}

/* Frees the request that is over; the next in line, or NULL: then nothing runs there. */
static python_job *next_job(python_job *over) {
  server *s = over->server;
  serve_session *one = over->session;
  pthread_mutex_lock(&s->mu);
  python_job *next = list_empty(&one->line) ? NULL : CONTAINER_OF(one->line.next, python_job, in_line);
  if (next != NULL) {
    list_remove(&next->in_line);
    one->waiting--;
  }
  one->running = next;
  one->uses--;
  pthread_cond_broadcast(&s->changed);
  pthread_mutex_unlock(&s->mu);
  python_job_free(over);
  return next;
}

static void run_jobs(void *ctx) {
  for (python_job *j = ctx; j != NULL; j = next_job(j)) answer_job(j);
}

/* cay_eval_done_fn: on the thread of the session, where the next one in line cannot begin. */
static void job_on_done(void *ctx, cay_status status, cay_value *value, const cay_error *err) {
  python_job *j = ctx;
  server *s = j->server;
  job_answer_value(j, status, value, err);
  python_job *next = next_job(j);
  while (next != NULL && thread_pool_run(s->waiters, run_jobs, next, NULL) != CAY_OK) {
    cay_error none;
    err_no_memory(&none);
    job_answer_value(next, CAY_NO_MEMORY, NULL, &none);
    next = next_job(next);
  }
}

/* An evaluation needs no thread of ours, unless the session is still busy with something. */
static bool job_run(python_job *j, cay_error *err) {
  if (j->kind == PYTHON_EVAL) {
    cay_eval_options options = job_eval_options(j);
    cay_status status = cay_session_start(j->session->session, &options, job_on_done, j, err);
    if (status == CAY_OK) return true;
    if (status != CAY_BUSY) return false;
  }
  return thread_pool_run(j->server->waiters, run_jobs, j, err) == CAY_OK;
}

enum turn { TURN_NOW, TURN_LATER, TURN_NEVER };

/* With server.mu. */
static enum turn take_turn(python_job *j) {
  serve_session *one = j->session;
  if ((j->no_wait && one->unanswered != 0) || one->waiting == PYTHON_WAITING_MAX) return TURN_NEVER;
  bool now = one->running == NULL;
  if (now) {
    one->running = j;
  } else {
    list_push(&one->line, &j->in_line);
    one->waiting++;
  }
  one->uses++;
  one->unanswered++;
  return now ? TURN_NOW : TURN_LATER;
}

/* No thread: only the reading thread starts requests, so that none can have come to wait for this one. */
static void give_up_turn(python_job *j) {
  pthread_mutex_lock(&j->server->mu);
  j->session->running = NULL;
  j->session->uses--;
  j->session->unanswered--;
  pthread_mutex_unlock(&j->server->mu);
  python_job_free(j);
}

enum answer python_job_start(call *c, python_job *j) {
  cay_error err;
  pthread_mutex_lock(&c->server->mu);
  enum turn turn = take_turn(j);
  pthread_mutex_unlock(&c->server->mu);
  if (turn == TURN_LATER) return ANSWER_LATER;
  if (turn == TURN_NEVER) {
    bool full = !j->no_wait;
    python_job_free(j);
    if (full)
      return fail(c, RPC_SANDBOX_ERROR, "EBUSY: %d requests wait for the session already",
                  PYTHON_WAITING_MAX);
    return fail(c, RPC_SANDBOX_ERROR, "EBUSY: the session is running something else");
  }
  if (job_run(j, &err)) return ANSWER_LATER;
  give_up_turn(j);
  return fail_status(c, &err);
}

bool serve_session_is_busy(server *s, const serve_session *one) {
  pthread_mutex_lock(&s->mu);
  bool busy = one->unanswered != 0;
  pthread_mutex_unlock(&s->mu);
  return busy;
}

/* ---- the end ---- */

/* With server.mu: takes the waiting request of this id out of the line. NULL: none has it. */
static python_job *leave_line(serve_session *one, const rpc_id *id) {
  LIST_EACH (j, &one->line, python_job, in_line) {
    if (strcmp(j->id.text, id->text) != 0) continue;
    list_remove(&j->in_line);
    one->waiting--;
    one->unanswered--;
    return j;
  }
  return NULL;
}

/* The answer of a request that never ran. */
static void answer_unrun(python_job *j) {
  server *s = j->server;
  size_t len = 0;
  if (j->kind == PYTHON_EVAL) {
    char *line =
        value_line(j, &(cay_value){ .outcome = CAY_OUTCOME_STOPPED, .end = CAY_END_CANCELLED }, &len);
    server_send(s, &j->id, line, len);
  } else {
    server_send_error(s, &j->id, RPC_SANDBOX_ERROR, "ECANCELED: cancelled");
  }
  pthread_mutex_lock(&s->mu);
  j->session->uses--;
  pthread_cond_broadcast(&s->changed);
  pthread_mutex_unlock(&s->mu);
  python_job_free(j);
}

bool python_job_cancel(serve_session *one, server *s, const rpc_id *id) {
  pthread_mutex_lock(&s->mu);
  python_job *waiting = id != NULL ? leave_line(one, id) : NULL, *running = one->running;
  bool meant = waiting == NULL && running != NULL && one->unanswered > one->waiting &&
               (id == NULL || strcmp(running->id.text, id->text) == 0);
  if (meant) cancel_job(running);
  if (meant) cay_session_cancel(one->session);
  pthread_mutex_unlock(&s->mu);
  if (waiting != NULL) answer_unrun(waiting);
  return meant || waiting != NULL;
}

/* With server.mu held on entry and return: waits until no request uses the session. */
static void quiesce(server *s, serve_session *one) {
  while (one->uses != 0) {
    LIST_EACH (j, &one->line, python_job, in_line) cancel_job(j);
    if (one->running != NULL) cancel_job(one->running);
    cay_session_cancel(one->session);
    pthread_cond_wait(&s->changed, &s->mu);
  }
}

void serve_session_free(server *s, serve_session *one) {
  pthread_mutex_lock(&s->mu);
  quiesce(s, one);
  list_remove(&one->in_box);
  pthread_mutex_unlock(&s->mu);
  cay_session_free(one->session);
  cay_buf_free(&one->state);
  mem_free(one->name);
  mem_free(one);
}

static void box_sessions_end(server *s, serve_box *box) {
  LIST_EACH_SAFE (one, &box->sessions, serve_session, in_box) serve_session_free(s, one);
}

void sessions_end(server *s, serve_box *box) {
  if (box != NULL) {
    box_sessions_end(s, box);
    return;
  }
  LIST_EACH (each, &s->boxes, serve_box, in_server) box_sessions_end(s, each);
}
