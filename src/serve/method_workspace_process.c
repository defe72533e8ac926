/* method_workspace_process.c - workspace.exec, and workspace.spawn with what follows: commands of workspaces. */
#include "serve/workspace.h"

#include "base/alloc.h"
#include "base/base64.h"
#include "base/utf8.h"

#include <string.h>

enum { PROCESSES_MAX = 10000 };

/* ---- output as it comes ---- */

/* Lives until the session has ended: what a command leaves running may write, too. */
typedef struct ws_stream {
  server *server;
  rpc_id id;
  pthread_mutex_t mu;
  buf held[2]; /* the beginning of a character whose rest has not come */
  bool closed; /* the answer was sent */
} ws_stream;

static void stream_notify(const ws_stream *t, int fd, cay_slice bytes) {
  yyjson_mut_doc *doc = yyjson_mut_doc_new(&JSON_ALLOC);
  yyjson_mut_val *params = yyjson_mut_obj(doc);
  size_t len = 0;
  bool fine = yyjson_mut_obj_add_val(doc, params, "id", yyjson_mut_raw(doc, t->id.text)) &&
              yyjson_mut_obj_add_str(doc, params, "stream", fd == 1 ? "stdout" : "stderr") &&
              put_text(doc, params, "data", bytes.data, bytes.len);
  char *line = fine ? rpc_notification_line(doc, "workspace.output", params, &len) : NULL;
  server_send(t->server, &t->id, line, len);
  yyjson_mut_doc_free(doc);
}

static void stream_output(void *ctx, int fd, cay_slice bytes) {
  ws_stream *t = ctx;
  buf *held = &t->held[fd == 1 ? 0 : 1];
  pthread_mutex_lock(&t->mu);
  if (!t->closed && buf_append(held, bytes.data, bytes.len) == CAY_OK) {
    size_t whole = utf8_whole_len(held->data, held->len);
    if (whole != 0) stream_notify(t, fd, (cay_slice){ held->data, whole });
    memmove(held->data, held->data + whole, held->len - whole);
    held->len -= whole;
  }
  pthread_mutex_unlock(&t->mu);
}

/* Nothing more is written for this request. */
static void stream_close(ws_stream *t) {
  pthread_mutex_lock(&t->mu);
  for (int fd = 1; fd <= 2 && !t->closed; fd++)
    if (t->held[fd - 1].len != 0)
      stream_notify(t, fd, (cay_slice){ t->held[fd - 1].data, t->held[fd - 1].len });
  t->closed = true;
  for (int i = 0; i < 2; i++) buf_free(&t->held[i]);
  pthread_mutex_unlock(&t->mu);
}

static ws_stream *stream_new(server *s, const rpc_id *id) {
  ws_stream *t = mem_zalloc(sizeof *t);
  if (t == NULL) return NULL;
  *t = (ws_stream){ .server = s, .id = *id, .held = { BUF_INIT(BUF_UNLIMITED), BUF_INIT(BUF_UNLIMITED) } };
  pthread_mutex_init(&t->mu, NULL);
  return t;
}

static void stream_free(ws_stream *t) {
  if (t == NULL) return;
  for (int i = 0; i < 2; i++) buf_free(&t->held[i]);
  pthread_mutex_destroy(&t->mu);
  mem_free(t);
}

/* ---- processes with numbers ---- */

typedef struct ws_process {
  list in_server;
  uint64_t number;
  cay_ws_process *process;
  ws_stream *stream; /* NULL: not wanted */
  uint32_t users;    /* calls that use it, and 1 until it is closed */
} ws_process;

static void process_leave(server *s, ws_process *p) {
  pthread_mutex_lock(&s->mu);
  bool last = --p->users == 0;
  if (last) list_remove(&p->in_server);
  pthread_mutex_unlock(&s->mu);
  if (last) cay_ws_process_free(p->process);
  if (last && p->stream != NULL) stream_close(p->stream);
  if (!last) return;
  pthread_mutex_lock(&s->mu); /* its stream may be written to until the sandbox is gone */
  list_push(&s->ws_gone, &p->in_server);
  pthread_mutex_unlock(&s->mu);
}

void ws_processes_free(server *s) {
  LIST_EACH_SAFE (p, &s->ws_gone, ws_process, in_server) {
    list_remove(&p->in_server);
    stream_free(p->stream);
    mem_free(p);
  }
}

void ws_processes_close(server *s) {
  for (;;) {
    pthread_mutex_lock(&s->mu);
    ws_process *p =
        list_empty(&s->ws_processes) ? NULL : CONTAINER_OF(s->ws_processes.next, ws_process, in_server);
    pthread_mutex_unlock(&s->mu);
    if (p == NULL) return;
    process_leave(s, p);
  }
}

static ws_process *process_find(server *s, uint64_t number) {
  LIST_EACH (p, &s->ws_processes, ws_process, in_server) {
    if (p->number == number) return p;
  }
  return NULL;
}

static bool param_process(call *c, uint64_t *number) {
  *number = 0;
  if (!param_number(c, "process", 1, INT64_MAX, number)) return false;
  if (*number == 0) fail(c, RPC_INVALID_PARAMS, "process: is required");
  return *number != 0;
}

/* A use of it. The failure is written. */
static ws_process *process_enter(call *c, uint64_t number) {
  server *s = c->server;
  pthread_mutex_lock(&s->mu);
  ws_process *p = process_find(s, number);
  if (p != NULL) p->users++;
  pthread_mutex_unlock(&s->mu);
  if (p == NULL)
    fail(c, RPC_SANDBOX_ERROR, "InvalidRequest: there is no process %llu", (unsigned long long)number);
  return p;
}

static enum answer process_done(call *c, ws_process *p, cay_status status, const cay_ws_error *err) {
  process_leave(c->server, p);
  return ws_done(c, status, err);
}

/* ---- what a command is told ---- */

typedef struct ws_wanted {
  cay_ws_exec_options o;
  char **env;
  bool stream;
} ws_wanted;

static bool wanted_read(call *c, ws_wanted *w) {
  const char *input = NULL;
  uint64_t timeout = 0;
  *w = (ws_wanted){ .o = CAY_INIT(cay_ws_exec_options) };
  if (!param_text(c, "command", true, &w->o.command) ||
      !param_text(c, "workingDir", false, &w->o.working_dir) ||
      !param_text_len(c, "stdin", false, &input, &w->o.input.len) ||
      !param_number(c, "timeoutMs", 1, UINT32_MAX - 1, &timeout) || !param_bool(c, "stream", &w->stream) ||
      !param_bool(c, "inputOpen", &w->o.input_open) || !param_env(c, "env", &w->env))
    return false;
  w->o.input.data = input;
  w->o.timeout_ms = (uint32_t)timeout;
  w->o.env = (const char *const *)w->env;
  return true;
}

static bool wanted_stream(call *c, ws_wanted *w, ws_stream **out) {
  if (!w->stream) return true;
  *out = stream_new(c->server, c->id);
  if (*out == NULL) fail_memory(c);
  w->o.output = stream_output;
  w->o.output_ctx = *out;
  return *out != NULL;
}

static bool ws_put_output(call *c, const cay_ws_output *o) {
  return put_text(c->doc, c->result, "stdout", o->out.data, o->out.len) &&
         put_text(c->doc, c->result, "stderr", o->err.data, o->err.len) &&
         yyjson_mut_obj_add_int(c->doc, c->result, "exitCode", o->exit_code) &&
         yyjson_mut_obj_add_real(c->doc, c->result, "durationMs", rpc_ms(o->duration_ns)) &&
         yyjson_mut_obj_add_bool(c->doc, c->result, "timedOut", o->timed_out) &&
         (!o->out_cut || yyjson_mut_obj_add_bool(c->doc, c->result, "stdoutTruncated", true)) &&
         (!o->err_cut || yyjson_mut_obj_add_bool(c->doc, c->result, "stderrTruncated", true));
}

/* ---- spawn ---- */

static bool process_add(server *s, ws_process *p) {
  size_t count = 0;
  pthread_mutex_lock(&s->mu);
  LIST_EACH (one, &s->ws_processes, ws_process, in_server) count++;
  if (count < PROCESSES_MAX) {
    p->number = ++s->ws_last_process;
    list_push(&s->ws_processes, &p->in_server);
  }
  pthread_mutex_unlock(&s->mu);
  return count < PROCESSES_MAX;
}

/* Takes the stream over, also on failure. */
static cay_status process_spawn(call *c, cay_ws_session *s, const ws_wanted *w, ws_stream *stream,
                                ws_process **out, cay_ws_error *err) {
  ws_process *p = mem_zalloc(sizeof *p);
  cay_status status = p != NULL ? cay_ws_spawn(s, &w->o, &p->process, err) : CAY_NO_MEMORY;
  if (p == NULL)
    *err = (cay_ws_error){ .code = CAY_WS_ENFORCER_FAILED, .cause = { .message = "out of memory" } };
  if (status != CAY_OK) {
    stream_free(stream);
    mem_free(p);
    return status;
  }
  p->stream = stream;
  p->users = 1;
  list_init(&p->in_server);
  if (!process_add(c->server, p)) {
    cay_ws_process_kill(p->process);
    process_leave(c->server, p);
    *err = (cay_ws_error){ .code = CAY_WS_POLICY_VIOLATION,
                           .cause = { .message = "too many processes are held" } };
    return CAY_LIMIT;
  }
  *out = p;
  return CAY_OK;
}

/* In the session that the call names. ANSWER_RESULT: it runs; the stream is its, or is freed. */
static enum answer call_spawn(call *c, const ws_wanted *w, ws_stream *stream, ws_process **out) {
  cay_ws_session *s = NULL;
  cay_ws_error err;
  if (!ws_begin(c, &s)) {
    stream_free(stream);
    return ANSWER_ERROR;
  }
  cay_status status = process_spawn(c, s, w, stream, out, &err);
  cay_ws_session_free(s);
  return status == CAY_OK ? ANSWER_RESULT : ws_refuse(c, &err);
}

static enum answer spawn_answer(call *c, const ws_wanted *w, ws_stream *stream) {
  ws_process *p = NULL;
  enum answer a = call_spawn(c, w, stream, &p);
  if (a != ANSWER_RESULT) return a;
  bool fine = yyjson_mut_obj_add_uint(c->doc, c->result, "process", p->number) &&
              yyjson_mut_obj_add_int(c->doc, c->result, "pid", cay_ws_process_pid(p->process));
  return fine ? ANSWER_RESULT : fail_memory(c);
}

enum answer serve_ws_spawn(call *c) {
  ws_wanted w;
  ws_stream *stream = NULL;
  enum answer a = ANSWER_ERROR;
  if (wanted_read(c, &w) && wanted_stream(c, &w, &stream)) a = spawn_answer(c, &w, stream);
  param_env_free(w.env);
  return a;
}

/* ---- exec: a process that is waited for ---- */

static enum answer exec_plain(call *c, const ws_wanted *w) {
  cay_ws_session *s = NULL;
  cay_ws_output *out = NULL;
  cay_ws_error err;
  if (!ws_begin(c, &s)) return ANSWER_ERROR;
  cay_status status = cay_ws_exec(s, &w->o, &out, &err);
  enum answer a = status != CAY_OK        ? ws_refuse(c, &err)
                  : ws_put_output(c, out) ? ANSWER_RESULT
                                          : fail_memory(c);
  cay_ws_output_free(out);
  cay_ws_session_free(s);
  return a;
}

static enum answer exec_streamed(call *c, const ws_wanted *w, ws_stream *stream) {
  ws_process *p = NULL;
  cay_ws_output *out = NULL;
  cay_ws_error err;
  enum answer a = call_spawn(c, w, stream, &p);
  if (a != ANSWER_RESULT) return a;
  cay_status status = cay_ws_process_wait(p->process, -1, &out, &err);
  process_leave(c->server, p); /* all of its output goes before the answer */
  a = status != CAY_OK ? ws_refuse(c, &err) : ws_put_output(c, out) ? ANSWER_RESULT : fail_memory(c);
  cay_ws_output_free(out);
  return a;
}

enum answer serve_ws_exec(call *c) {
  ws_wanted w;
  ws_stream *stream = NULL;
  enum answer a = ANSWER_ERROR;
  if (wanted_read(c, &w) && wanted_stream(c, &w, &stream)) {
    if (w.o.input_open)
      a = fail(c, RPC_INVALID_PARAMS, "inputOpen: is for workspace.spawn");
    else
      a = w.stream ? exec_streamed(c, &w, stream) : exec_plain(c, &w);
    if (w.o.input_open) stream_free(stream);
  }
  param_env_free(w.env);
  return a;
}

/* ---- a process that goes on ---- */

enum answer serve_ws_wait(call *c) {
  uint64_t timeout = UINT64_MAX;
  uint64_t number;
  cay_ws_output *out = NULL;
  cay_ws_error err;
  if (!param_process(c, &number) || !param_number(c, "timeoutMs", 0, UINT32_MAX - 1, &timeout))
    return ANSWER_ERROR;
  ws_process *p = process_enter(c, number);
  if (p == NULL) return ANSWER_ERROR;
  cay_status status =
      cay_ws_process_wait(p->process, timeout == UINT64_MAX ? -1 : (int64_t)timeout, &out, &err);
  if (status != CAY_OK) return process_done(c, p, status, &err);
  if (p->stream != NULL) stream_close(p->stream);
  process_leave(c->server, p);
  bool fine = ws_put_output(c, out);
  cay_ws_output_free(out);
  return fine ? ANSWER_RESULT : fail_memory(c);
}

enum answer serve_ws_input(call *c) {
  const char *data = "";
  size_t len = 0;
  bool end = false;
  cay_buf bytes = { 0 };
  uint64_t number;
  cay_ws_error err;
  if (!param_process(c, &number) || !param_text_len(c, "data", false, &data, &len) ||
      !param_bool(c, "end", &end))
    return ANSWER_ERROR;
  cay_status status = base64_decode_new(data, len, &bytes);
  if (status == CAY_NO_MEMORY) return fail_memory(c);
  if (status != CAY_OK) return fail(c, RPC_INVALID_PARAMS, "data: is not base64");
  ws_process *p = process_enter(c, number);
  if (p != NULL && bytes.len != 0)
    status = cay_ws_process_write(p->process, (cay_slice){ bytes.data, bytes.len }, &err);
  cay_buf_free(&bytes);
  if (p == NULL) return ANSWER_ERROR;
  if (end && status == CAY_OK) cay_ws_process_close_input(p->process);
  return process_done(c, p, status, &err);
}

enum answer serve_ws_signal(call *c) {
  uint64_t number, signal = 15;
  if (!param_process(c, &number) || !param_number(c, "signal", 1, 64, &signal)) return ANSWER_ERROR;
  ws_process *p = process_enter(c, number);
  if (p == NULL) return ANSWER_ERROR;
  cay_ws_process_signal(p->process, (int)signal);
  return process_done(c, p, CAY_OK, NULL);
}

enum answer serve_ws_kill(call *c) {
  uint64_t number;
  if (!param_process(c, &number)) return ANSWER_ERROR;
  ws_process *p = process_enter(c, number);
  if (p == NULL) return ANSWER_ERROR;
  cay_ws_process_kill(p->process);
  return process_done(c, p, CAY_OK, NULL);
}

/* Its number is forgotten; the process itself goes on. */
enum answer serve_ws_forget(call *c) {
  uint64_t number;
  if (!param_process(c, &number)) return ANSWER_ERROR;
  ws_process *p = process_enter(c, number);
  if (p == NULL) return ANSWER_ERROR;
  pthread_mutex_lock(&c->server->mu);
  bool held = p->number != 0;
  p->number = 0;
  if (held) p->users--;
  pthread_mutex_unlock(&c->server->mu);
  return process_done(c, p, CAY_OK, NULL);
}
