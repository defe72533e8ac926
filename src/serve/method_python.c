/* method_python.c - python.*: sessions, evaluations, state. Each request runs on a thread of its own, so that
 * others are read meanwhile. */
#include "base/alloc.h"
#include "base/error.h"
#include "serve/python.h"
#include "serve/text.h"

#include <string.h>

method_fn rpc_python_eval, rpc_python_cancel, rpc_python_close, rpc_python_save_state, rpc_python_load_state,
    rpc_python_clear_state, rpc_python_fork, rpc_python_open;

enum { NAME_MAX_LEN = 128, SESSIONS_MAX = 1024 };

/* ---- sessions ---- */

static serve_session *session_named(serve_box *box, const char *name) {
  LIST_EACH (one, &box->sessions, serve_session, in_box) {
    if (strcmp(one->name, name) == 0) return one;
  }
  return NULL;
}

static size_t session_count(const serve_box *box) {
  size_t count = 0;
  LIST_EACH (one, &box->sessions, serve_session, in_box) count += one->session != NULL;
  return count;
}

static cay_status session_new(call *c, const char *name, const cay_session_options *options,
                              serve_session **out, cay_error *err) {
  if (session_count(c->box) == SESSIONS_MAX)
    return err_set(err, CAY_LIMIT, "a sandbox has at most %d sessions", SESSIONS_MAX);
  serve_session *one = mem_zalloc(sizeof *one);
  if (one == NULL) return err_no_memory(err);
  one->name = mem_strdup(name);
  cay_status status =
      one->name == NULL ? err_no_memory(err) : cay_session_new(c->box->sandbox, options, &one->session, err);
  if (status != CAY_OK) {
    mem_free(one->name);
    mem_free(one);
    return status;
  }
  pthread_mutex_lock(&c->server->mu);
  list_push(&c->box->sessions, &one->in_box);
  pthread_mutex_unlock(&c->server->mu);
  *out = one;
  return CAY_OK;
}

static bool param_name(call *c, const char *member, bool required, const char **out) {
  *out = "";
  if (!param_text(c, member, required, out)) return false;
  if (strlen(*out) <= NAME_MAX_LEN) return true;
  fail(c, RPC_INVALID_PARAMS, "%s: is longer than %d bytes", member, NAME_MAX_LEN);
  return false;
}

/* The session that the request names; it is made when it is not there. The failure is written. */
static serve_session *session_of(call *c) {
  const char *name;
  cay_error err;
  if (!param_name(c, "session", false, &name)) return NULL;
  serve_session *one = session_named(c->box, name);
  if (one != NULL) return one;
  if (session_new(c, name, &CAY_INIT(cay_session_options, .image = c->box->image), &one, &err) != CAY_OK) {
    fail_status(c, &err);
    return NULL;
  }
  return one;
}

/* With server.mu held on entry and return: waits until nobody uses it. */
static void quiesce(server *s, serve_session *one) {
  one->closing = true;
  while (one->uses != 0) {
    cay_session_cancel(one->session);
    pthread_cond_wait(&s->changed, &s->mu);
  }
}

static void session_free(server *s, serve_session *one) {
  pthread_mutex_lock(&s->mu);
  quiesce(s, one);
  list_remove(&one->in_box);
  pthread_mutex_unlock(&s->mu);
  cay_session_free(one->session);
  mem_free(one->name);
  mem_free(one);
}

static void box_sessions_end(server *s, serve_box *box) {
  LIST_EACH_SAFE (one, &box->sessions, serve_session, in_box) session_free(s, one);
}

void sessions_end(server *s, serve_box *box) {
  if (box != NULL) {
    box_sessions_end(s, box);
    return;
  }
  LIST_EACH (each, &s->boxes, serve_box, in_server) box_sessions_end(s, each);
}

/* ---- requests under way ---- */

enum job_kind { JOB_EVAL, JOB_SAVE, JOB_LOAD, JOB_CLEAR };

typedef struct job {
  server *server;
  serve_session *session;
  rpc_id id;
  enum job_kind kind;
  bool stream;
  char *code, *filter;
  size_t code_len;
  cay_buf input, bytes; /* bytes: of a state */
  uint32_t wall_ms, trace, trace_max;
  uint64_t fuel;
} job;

static void job_free(job *j) {
  mem_free(j->code);
  mem_free(j->filter);
  cay_buf_free(&j->input);
  cay_buf_free(&j->bytes);
  mem_free(j);
}

/* What a client asks once it has the answer finds the session at rest. */
static void settle(job *j) {
  pthread_mutex_lock(&j->server->mu);
  j->session->unanswered--;
  pthread_mutex_unlock(&j->server->mu);
}

static void leave(job *j) {
  server *s = j->server;
  pthread_mutex_lock(&s->mu);
  j->session->uses--;
  pthread_cond_broadcast(&s->changed);
  pthread_mutex_unlock(&s->mu);
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
      yyjson_read_opts((char *)(uintptr_t)text.data, text.len, YYJSON_READ_BIGNUM_AS_RAW, &RPC_ALLOC, NULL);
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

static char *value_line(const job *j, const cay_value *v, size_t *len) {
  yyjson_mut_doc *doc = yyjson_mut_doc_new(&RPC_ALLOC);
  yyjson_mut_val *to = yyjson_mut_obj(doc);
  double ms = (double)(v->wall_ns / 1000) / 1000.0;
  bool fine = yyjson_mut_obj_add_str(doc, to, "outcome", cay_outcome_name(v->outcome)) &&
              put_text(doc, to, "stdout", v->out.data, v->out.len) &&
              put_text(doc, to, "stderr", v->err.data, v->err.len) && put_slice(doc, to, "repr", v->repr) &&
              put_json(doc, to, "value", v->json, false) && put_error(doc, to, v) && put_stop(doc, to, v) &&
              (!v->out_cut || yyjson_mut_obj_add_bool(doc, to, "stdoutTruncated", true)) &&
              (!v->err_cut || yyjson_mut_obj_add_bool(doc, to, "stderrTruncated", true)) &&
              (v->fuel == 0 || yyjson_mut_obj_add_uint(doc, to, "fuel", v->fuel)) &&
              (j->trace == 0 || yyjson_mut_obj_add_uint(doc, to, "traceEvents", v->trace_events)) &&
              yyjson_mut_obj_add_real(doc, to, "executionTimeMs", ms);
  char *line = fine ? rpc_result_line(doc, &j->id, to, len) : NULL;
  yyjson_mut_doc_free(doc);
  return line;
}

/* ---- while it runs ---- */

static void notify(const job *j, const char *method, yyjson_mut_doc *doc, yyjson_mut_val *params, bool fine) {
  size_t len = 0;
  char *line = fine ? rpc_notification_line(doc, method, params, &len) : NULL;
  server_send(j->server, line, len);
  yyjson_mut_doc_free(doc);
}

static void on_output(void *ctx, int fd, cay_slice bytes) {
  const job *j = ctx;
  yyjson_mut_doc *doc = yyjson_mut_doc_new(&RPC_ALLOC);
  yyjson_mut_val *params = yyjson_mut_obj(doc);
  bool fine = yyjson_mut_obj_add_val(doc, params, "id", yyjson_mut_raw(doc, j->id.text)) &&
              yyjson_mut_obj_add_str(doc, params, "stream", fd == 1 ? "stdout" : "stderr") &&
              put_text(doc, params, "data", bytes.data, bytes.len);
  notify(j, "python.output", doc, params, fine);
}

static void on_trace(void *ctx, uint32_t line, cay_slice event, cay_slice context) {
  const job *j = ctx;
  yyjson_mut_doc *doc = yyjson_mut_doc_new(&RPC_ALLOC);
  yyjson_mut_val *params = yyjson_mut_obj(doc);
  bool fine = yyjson_mut_obj_add_val(doc, params, "id", yyjson_mut_raw(doc, j->id.text)) &&
              yyjson_mut_obj_add_uint(doc, params, "line", line) &&
              put_json(doc, params, "event", event, true) && put_json(doc, params, "context", context, true);
  notify(j, "python.trace", doc, params, fine);
}

static cay_status evaluate(job *j, char **line, size_t *len, cay_error *err) {
  cay_value *value = NULL;
  cay_eval_options options =
      CAY_INIT(cay_eval_options, .code = { j->code, j->code_len }, .input = { j->input.data, j->input.len },
               .wall_ms = j->wall_ms, .fuel = j->fuel, .no_capture = j->stream, .trace = j->trace,
               .trace_max = j->trace_max, .trace_filter = j->filter, .on_trace = on_trace, .trace_ctx = j);
  if (j->stream) {
    options.output = on_output;
    options.output_ctx = j;
  }
  S_TRY(cay_session_eval(j->session->session, &options, &value, err));
  *line = value_line(j, value, len);
  cay_value_free(value);
  return *line != NULL ? CAY_OK : err_no_memory(err);
}

static char *state_line(const job *j, const cay_buf *state, size_t *len) {
  yyjson_mut_doc *doc = yyjson_mut_doc_new(&RPC_ALLOC);
  yyjson_mut_val *to = yyjson_mut_obj(doc);
  buf kept = BUF_INIT(BUF_UNLIMITED);
  bool fine = state != NULL ? put_base64(doc, to, "data", &kept, state->data, state->len)
                            : yyjson_mut_obj_add_bool(doc, to, "ok", true);
  char *line = fine ? rpc_result_line(doc, &j->id, to, len) : NULL;
  buf_free(&kept);
  yyjson_mut_doc_free(doc);
  return line;
}

static cay_status transfer(job *j, char **line, size_t *len, cay_error *err) {
  cay_session *session = j->session->session;
  cay_buf state = { 0 };
  if (j->kind == JOB_SAVE)
    S_TRY(cay_session_save_state(session, &state, err));
  else if (j->kind == JOB_LOAD)
    S_TRY(cay_session_load_state(session, (cay_slice){ j->bytes.data, j->bytes.len }, err));
  else
    S_TRY(cay_session_clear_state(session, err));
  *line = state_line(j, j->kind == JOB_SAVE ? &state : NULL, len);
  cay_buf_free(&state);
  return *line != NULL ? CAY_OK : err_no_memory(err);
}

static void run_job(void *ctx) {
  job *j = ctx;
  char *line = NULL;
  size_t len = 0;
  cay_error err = { 0 };
  call c = { .server = j->server };
  cay_status status = j->kind == JOB_EVAL ? evaluate(j, &line, &len, &err) : transfer(j, &line, &len, &err);
  settle(j);
  if (status == CAY_OK) {
    server_send(j->server, line, len);
  } else {
    fail_status(&c, &err);
    server_send_error(j->server, &j->id, c.code, c.why);
  }
  leave(j);
  job_free(j);
}

static enum answer start(call *c, job *j) {
  cay_error err;
  serve_session *one = j->session;
  pthread_mutex_lock(&c->server->mu);
  one->uses++;
  one->unanswered++;
  pthread_mutex_unlock(&c->server->mu);
  if (thread_pool_run(c->server->waiters, run_job, j, &err) == CAY_OK) return ANSWER_LATER;
  settle(j);
  leave(j);
  job_free(j);
  return fail_status(c, &err);
}

/* ---- what a request wants ---- */

static bool read_trace(call *c, job *j) {
  static const struct {
    const char *name;
    uint32_t flag;
  } flags[] = { { "line", CAY_TRACE_LINE },
                { "call", CAY_TRACE_CALL },
                { "return", CAY_TRACE_RETURN },
                { "exception", CAY_TRACE_EXCEPTION },
                { "locals", CAY_TRACE_LOCALS } };
  yyjson_val *list = yyjson_obj_get(c->params, "trace"), *one;
  if (list == NULL || yyjson_is_null(list)) return true;
  if (!yyjson_is_arr(list)) {
    fail(c, RPC_INVALID_PARAMS, "trace: must be a list of line, call, return, exception, locals");
    return false;
  }
  yyjson_arr_iter it = yyjson_arr_iter_with(list);
  while ((one = yyjson_arr_iter_next(&it)) != NULL) {
    uint32_t flag = 0;
    for (size_t i = 0; i < COUNT_OF(flags); i++)
      if (yyjson_equals_str(one, flags[i].name)) flag = flags[i].flag;
    if (flag == 0) {
      fail(c, RPC_INVALID_PARAMS, "trace: knows line, call, return, exception, locals");
      return false;
    }
    j->trace |= flag;
  }
  return true;
}

static bool copy_text(call *c, const char *text, size_t len, char **out) {
  if (text == NULL) return true;
  *out = mem_strndup(text, len);
  if (*out == NULL) fail_memory(c);
  return *out != NULL;
}

static bool read_eval(call *c, job *j) {
  const char *code = NULL, *input = NULL, *filter = NULL;
  size_t input_len = 0;
  uint64_t wall = c->box->timeout_ms, most = 0;
  if (!param_text_len(c, "code", true, &code, &j->code_len) ||
      !param_text_len(c, "stdin", false, &input, &input_len) || !param_bool(c, "stream", &j->stream) ||
      !param_number(c, "timeoutMs", 1, UINT32_MAX - 1, &wall) ||
      !param_number(c, "fuel", 1, UINT64_MAX / 2, &j->fuel) ||
      !param_text(c, "traceFilter", false, &filter) || !param_number(c, "traceMax", 1, 10000000, &most) ||
      !read_trace(c, j))
    return false;
  j->wall_ms = (uint32_t)wall;
  j->trace_max = (uint32_t)most;
  char *copied = NULL;
  if (!copy_text(c, code, j->code_len, &j->code) || !copy_text(c, input, input_len, &copied)) return false;
  j->input = (cay_buf){ copied, input_len };
  return filter == NULL || copy_text(c, filter, strlen(filter), &j->filter);
}

static job *job_new(call *c, enum job_kind kind) {
  serve_session *one = session_of(c);
  if (one == NULL) return NULL;
  job *j = mem_zalloc(sizeof *j);
  if (j == NULL) {
    fail_memory(c);
    return NULL;
  }
  *j = (job){ .server = c->server, .session = one, .id = *c->id, .kind = kind };
  return j;
}

enum answer rpc_python_eval(call *c) {
  job *j = job_new(c, JOB_EVAL);
  if (j == NULL) return ANSWER_ERROR;
  if (read_eval(c, j)) return start(c, j);
  job_free(j);
  return ANSWER_ERROR;
}

enum answer rpc_python_save_state(call *c) {
  job *j = job_new(c, JOB_SAVE);
  return j != NULL ? start(c, j) : ANSWER_ERROR;
}

enum answer rpc_python_clear_state(call *c) {
  job *j = job_new(c, JOB_CLEAR);
  return j != NULL ? start(c, j) : ANSWER_ERROR;
}

enum answer rpc_python_load_state(call *c) {
  const char *data = NULL;
  size_t len = 0;
  if (!param_text_len(c, "data", true, &data, &len)) return ANSWER_ERROR;
  job *j = job_new(c, JOB_LOAD);
  if (j == NULL) return ANSWER_ERROR;
  cay_status status = text_from_base64(data, len, &j->bytes);
  if (status == CAY_OK) return start(c, j);
  job_free(j);
  return status == CAY_NO_MEMORY ? fail_memory(c) : fail(c, RPC_INVALID_PARAMS, "data: is not base64");
}

/* ---- answered at once ---- */

enum answer rpc_python_cancel(call *c) {
  const char *name;
  if (!param_name(c, "session", false, &name)) return ANSWER_ERROR;
  serve_session *one = session_named(c->box, name);
  bool running = false;
  if (one != NULL) {
    pthread_mutex_lock(&c->server->mu);
    running = one->unanswered != 0;
    pthread_mutex_unlock(&c->server->mu);
    cay_session_cancel(one->session);
  }
  if (!yyjson_mut_obj_add_bool(c->doc, c->result, "ok", true)) return fail_memory(c);
  return yyjson_mut_obj_add_bool(c->doc, c->result, "cancelled", running) ? ANSWER_RESULT : fail_memory(c);
}

enum answer rpc_python_close(call *c) {
  const char *name;
  if (!param_name(c, "session", false, &name)) return ANSWER_ERROR;
  serve_session *one = session_named(c->box, name);
  if (one == NULL) return fail(c, RPC_SANDBOX_ERROR, "ENOENT: there is no session \"%.100s\"", name);
  session_free(c->server, one);
  return answer_ok(c);
}

static cay_status fork_session(call *c, serve_session *from, const char *name, cay_error *err) {
  cay_image *image = NULL;
  serve_session *one = NULL;
  S_TRY(cay_session_freeze(from->session, &image, err));
  cay_status status = session_new(c, name, &CAY_INIT(cay_session_options, .image = image), &one, err);
  cay_image_free(image);
  return status;
}

static cay_status open_session(call *c, const char *name, const char *path, cay_error *err) {
  cay_image *image = NULL;
  serve_session *one = NULL;
  S_TRY(cay_image_load(c->box->engine, NULL, path, &image, err));
  cay_status status = session_new(c, name, &CAY_INIT(cay_session_options, .image = image), &one, err);
  cay_image_free(image);
  return status;
}

enum answer rpc_python_open(call *c) {
  const char *name;
  char path[SERVE_PATH_MAX];
  cay_error err;
  if (!param_name(c, "session", false, &name) || !param_file(c, "image", true, path)) return ANSWER_ERROR;
  if (session_named(c->box, name) != NULL)
    return fail(c, RPC_SANDBOX_ERROR, "EEXIST: there is a session \"%.100s\" already", name);
  return answer_done(c, open_session(c, name, path, &err), &err);
}

enum answer rpc_python_fork(call *c) {
  const char *to = NULL;
  cay_error err;
  serve_session *from = session_of(c);
  if (from == NULL || !param_name(c, "to", true, &to)) return ANSWER_ERROR;
  if (session_named(c->box, to) != NULL)
    return fail(c, RPC_SANDBOX_ERROR, "EEXIST: there is a session \"%.100s\" already", to);
  return answer_done(c, fork_session(c, from, to, &err), &err);
}
