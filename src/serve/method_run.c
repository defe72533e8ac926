/* method_run.c - run: a command, its end, and its answer. */
#include "base/alloc.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/error.h"
#include "serve/client_request.h"
#include "serve/run.h"

#include <errno.h>
#include <string.h>

method_fn rpc_run;

/* ---- the answer ---- */

static bool put_output(const run *r, yyjson_mut_doc *doc, yyjson_mut_val *to, const char *name,
                       const buf *bytes, buf *kept) {
  return r->base64 ? put_base64(doc, to, name, kept, bytes->data, bytes->len)
                   : put_text(doc, to, name, bytes->data, bytes->len);
}

static int exit_code(const run *r, const cay_result *result) {
  return r->timed_out ? 124 : cay_result_exit_code(result);
}

static bool put_end(const run *r, yyjson_mut_doc *doc, yyjson_mut_val *to, const cay_result *result) {
  cay_end end = r->timed_out ? CAY_END_TIME : result->end;
  return (!r->cut[0] || yyjson_mut_obj_add_bool(doc, to, "stdoutTruncated", true)) &&
         (!r->cut[1] || yyjson_mut_obj_add_bool(doc, to, "stderrTruncated", true)) &&
         (end == CAY_END_EXIT || yyjson_mut_obj_add_str(doc, to, "end", cay_end_name(end))) &&
         (result->detail.len == 0 || put_text(doc, to, "detail", result->detail.data, result->detail.len)) &&
         (result->fuel == 0 || yyjson_mut_obj_add_uint(doc, to, "fuel", result->fuel));
}

static char *run_result_line(const run *r, const cay_result *result, size_t *len) {
  yyjson_mut_doc *doc = yyjson_mut_doc_new(&JSON_ALLOC);
  yyjson_mut_val *to = yyjson_mut_obj(doc);
  buf out = BUF_INIT(BUF_UNLIMITED), err = BUF_INIT(BUF_UNLIMITED);
  double ms = rpc_ms(result->wall_ns);
  bool fine = yyjson_mut_obj_add_int(doc, to, "exitCode", exit_code(r, result)) &&
              put_output(r, doc, to, "stdout", &r->kept[0], &out) &&
              put_output(r, doc, to, "stderr", &r->kept[1], &err) &&
              yyjson_mut_obj_add_real(doc, to, "executionTimeMs", ms) && put_end(r, doc, to, result);
  char *line = fine ? rpc_result_line(doc, &r->id, to, len) : NULL;
  buf_free(&out);
  buf_free(&err);
  yyjson_mut_doc_free(doc);
  return line;
}

static void run_tell_end(const run *r, const serve_client *client, const cay_result *result) {
  client->run_end(client->ctx, &r->id,
                  &(serve_run_end){ .exit_code = exit_code(r, result),
                                    .end = r->timed_out ? CAY_END_TIME : result->end,
                                    .out = { r->kept[0].data, r->kept[0].len },
                                    .err = { r->kept[1].data, r->kept[1].len },
                                    .out_cut = r->cut[0],
                                    .err_cut = r->cut[1],
                                    .detail = result->detail,
                                    .fuel = result->fuel,
                                    .wall_ns = result->wall_ns });
}

static void run_answer(const run *r, cay_status status, const cay_result *result, const cay_error *err) {
  const serve_client *client = r->server->options.client;
  size_t len = 0;
  if (client != NULL && status == CAY_OK && !r->stream) {
    run_tell_end(r, client, result);
    return;
  }
  char *line = status == CAY_OK ? run_result_line(r, result, &len) : NULL;
  if (line != NULL)
    server_send(r->server, &r->id, line, len);
  else
    server_send_error(r->server, &r->id, RPC_INTERNAL, status == CAY_OK ? "out of memory" : err->message);
}

/* ---- the end ---- */

static void serve_run_free(run *r) {
  mem_free(r->command);
  for (int i = 0; i < 2; i++) {
    buf_free(&r->held[i]);
    buf_free(&r->kept[i]);
  }
  mem_free(r);
}

/* Its process has no owner any more. From the end of this on, the box may go away at any moment. */
static void run_leave(run *r) {
  server *s = r->server;
  pthread_mutex_lock(&s->mu);
  cay_process *process = r->process;
  r->process = NULL; /* run.cancel must not find it */
  pthread_mutex_unlock(&s->mu);
  cay_process_free(process);

  pthread_mutex_lock(&s->mu);
  list_remove(&r->in_server);
  r->box->runs--;
  pthread_cond_broadcast(&s->changed);
  pthread_mutex_unlock(&s->mu);
}

/* At the deadline it ends with all that it started, and so the same as cancelled. */
static cay_status await_result(run *r, cay_result **out, cay_error *err) {
  int64_t left_ns = r->deadline_ns - clock_mono_ns();
  int64_t left_ms = left_ns > 0 ? (left_ns + NS_PER_MS - 1) / NS_PER_MS : 0;
  cay_status status = cay_process_wait(r->process, left_ms, out, err);
  if (status != CAY_TIMEOUT) return status;
  pthread_mutex_lock(&r->server->mu);
  if (!r->ended) r->timed_out = true; /* or else it was cancelled before */
  pthread_mutex_unlock(&r->server->mu);
  cay_process_kill(r->process);
  return cay_process_wait(r->process, -1, out, err);
}

/* There is nothing to cancel any more. True: its time was up, or it was cancelled. */
static bool serve_run_is_over(run *r) {
  pthread_mutex_lock(&r->server->mu);
  r->over = true;
  bool stopped = r->timed_out || r->ended;
  pthread_mutex_unlock(&r->server->mu);
  return stopped;
}

/* The thread of one run. */
static void await_end(void *ctx) {
  run *r = ctx;
  cay_result *result = NULL;
  cay_error err;
  cay_status status = await_result(r, &result, &err);
  if (serve_run_is_over(r) || status != CAY_OK) cay_process_kill(r->process); /* and nothing of it lives on */
  sink_close(r);
  run_answer(r, status, result, &err);
  cay_result_free(result);
  run_leave(r);
  serve_run_free(r);
}

void run_stop(run *r) {
  r->ended = true;
  if (r->process != NULL) cay_process_kill(r->process);
  pthread_cond_broadcast(&r->server->changed);
}

void runs_end_input(server *s) {
  pthread_mutex_lock(&s->mu);
  LIST_EACH (r, &s->runs, run, in_server) {
    r->window = 0;
    if (r->process != NULL) cay_process_close_input(r->process);
  }
  pthread_cond_broadcast(&s->changed);
  pthread_mutex_unlock(&s->mu);
}

void runs_end(server *s, serve_box *box, int wait_ms) {
  struct timespec until = clock_timespec(clock_mono_ns() + wait_ms * NS_PER_MS);
  int waited = 0;
  asks_end(s, box); /* the answers that runs wait for would come through the thread that waits here */
  pthread_mutex_lock(&s->mu);
  LIST_EACH (r, &s->runs, run, in_server) {
    if (box == NULL || r->box == box) run_stop(r);
  }
  while ((box != NULL ? box->runs != 0 : !list_empty(&s->runs)) && waited == 0)
    waited = wait_ms < 0 ? pthread_cond_wait(&s->changed, &s->mu)
                         : pthread_cond_timedwait(&s->changed, &s->mu, &until);
  pthread_mutex_unlock(&s->mu);
}

/* ---- the beginning ---- */

struct wanted {
  const char *command, *cwd, *input, *encoding;
  size_t input_len;
  uint64_t timeout, window, fuel;
  bool stream, base64, input_open, tty, announce;
  uint64_t rows, cols;
  char **env;
  cay_buf decoded;
  char cwd_room[SERVE_PATH_MAX];
};

static void wanted_clear(struct wanted *w) {
  mem_free(w->decoded.data);
  param_env_free(w->env);
}

static bool run_read_input(call *c, struct wanted *w) {
  if (!param_text_len(c, "stdin", false, &w->input, &w->input_len)) return false;
  if (!w->base64) return true;
  cay_status status = base64_decode_new(w->input, w->input_len, &w->decoded);
  if (status == CAY_OK) {
    w->input = w->decoded.data;
    w->input_len = w->decoded.len;
  } else if (status == CAY_NO_MEMORY) {
    fail_memory(c);
  } else {
    fail(c, RPC_INVALID_PARAMS, "stdin: is not base64");
  }
  return status == CAY_OK;
}

static bool read_cwd(call *c, struct wanted *w) {
  yyjson_val *text = yyjson_obj_get(c->params, "cwd"), *bytes = yyjson_obj_get(c->params, "cwdBase64");
  if ((text == NULL || yyjson_is_null(text)) && (bytes == NULL || yyjson_is_null(bytes))) return true;
  w->cwd = w->cwd_room;
  return param_path(c, "cwd", w->cwd_room);
}

static bool read_side(call *c, yyjson_val *size, const char *name, uint64_t *out) {
  yyjson_val *value = yyjson_obj_get(size, name);
  if (value == NULL) return true;
  *out = yyjson_get_uint(value);
  if (yyjson_is_uint(value) && *out >= 1 && *out <= UINT16_MAX) return true;
  fail(c, RPC_INVALID_PARAMS, "tty: rows and cols are numbers from 1 to 65535");
  return false;
}

static bool read_tty(call *c, struct wanted *w) {
  yyjson_val *size = yyjson_obj_get(c->params, "tty");
  if (size == NULL || yyjson_is_null(size)) return true;
  w->tty = true;
  if (yyjson_is_obj(size))
    return read_side(c, size, "rows", &w->rows) && read_side(c, size, "cols", &w->cols);
  fail(c, RPC_INVALID_PARAMS, "tty: must be an object");
  return false;
}

static bool run_read_wanted(call *c, struct wanted *w) {
  w->encoding = "utf8";
  w->input = "";
  w->timeout = c->box->timeout_ms;
  if (!param_text(c, "command", true, &w->command) || !read_cwd(c, w) ||
      !param_text(c, "encoding", false, &w->encoding) ||
      !param_number(c, "timeoutMs", 1, UINT32_MAX - 1, &w->timeout) || !param_bool(c, "stream", &w->stream) ||
      !param_number(c, "window", 0, UINT32_MAX, &w->window) ||
      !param_number(c, "fuel", 1, UINT64_MAX / 2, &w->fuel) || !param_bool(c, "announce", &w->announce) ||
      !param_bool(c, "inputOpen", &w->input_open) || !read_tty(c, w))
    return false;
  w->base64 = strcmp(w->encoding, "base64") == 0;
  if (!w->base64 && strcmp(w->encoding, "utf8") != 0) {
    fail(c, RPC_INVALID_PARAMS, "encoding: must be \"utf8\" or \"base64\"");
    return false;
  }
  return run_read_input(c, w) && param_env(c, "env", &w->env);
}

static cay_status serve_run_new(call *c, const struct wanted *w, run **out, cay_error *err) {
  run *r = mem_zalloc(sizeof *r);
  if (r == NULL) return err_no_memory(err);
  *r = (run){ .server = c->server,
              .box = c->box,
              .id = *c->id,
              .stream = w->stream,
              .base64 = w->base64,
              .window = w->window,
              .deadline_ns = clock_mono_ns() + (int64_t)w->timeout * NS_PER_MS,
              .held = { BUF_INIT(BUF_UNLIMITED), BUF_INIT(BUF_UNLIMITED) },
              .kept = { BUF_INIT(BUF_UNLIMITED), BUF_INIT(BUF_UNLIMITED) } };
  r->command = mem_strdup(w->command);
  if (r->command == NULL || sink_new(r, err) != CAY_OK) {
    serve_run_free(r);
    return err_no_memory(err);
  }
  pthread_mutex_lock(&c->server->mu);
  list_push(&c->server->runs, &r->in_server);
  r->box->runs++;
  pthread_mutex_unlock(&c->server->mu);
  *out = r;
  return CAY_OK;
}

/* It never had a thread to wait for it. */
static void give_up(run *r) {
  if (r->process != NULL) cay_process_kill(r->process);
  sink_close(r);
  run_leave(r);
  serve_run_free(r);
}

/* Before its answer: the process is running, and this is its number. */
static void run_announce(const run *r) {
  yyjson_mut_doc *doc = yyjson_mut_doc_new(&JSON_ALLOC);
  yyjson_mut_val *params = yyjson_mut_obj(doc);
  size_t len = 0;
  bool fine = yyjson_mut_obj_add_val(doc, params, "id", yyjson_mut_raw(doc, r->id.text)) &&
              yyjson_mut_obj_add_int(doc, params, "pid", r->pid);
  char *line = fine ? rpc_notification_line(doc, "run.started", params, &len) : NULL;
  server_send(r->server, &r->id, line, len);
  yyjson_mut_doc_free(doc);
}

static cay_status serve_run_start(run *r, const struct wanted *w, cay_error *err) {
  cay_run_options options =
      CAY_INIT(cay_run_options, .command = w->command, .cwd = w->cwd, .env = (const char *const *)w->env,
               .input = { w->input, w->input_len }, .input_open = w->input_open, .tty = w->tty,
               .tty_rows = (uint16_t)w->rows, .tty_cols = (uint16_t)w->cols, .no_capture = true,
               .output = sink_write, .output_ctx = r->sink, .fuel = w->fuel);
  cay_process *process = NULL;
  S_TRY(cay_spawn(r->box->sandbox, &options, &process, err));
  pthread_mutex_lock(&r->server->mu);
  r->process = process;
  pthread_mutex_unlock(&r->server->mu);
  r->pid = cay_process_pid(process);
  if (w->announce) run_announce(r);
  return thread_pool_run(r->server->waiters, await_end, r, err);
}

enum answer rpc_run(call *c) {
  struct wanted w = { 0 };
  run *r = NULL;
  cay_error err;
  enum answer a = ANSWER_ERROR;
  if (run_read_wanted(c, &w)) {
    cay_status status = serve_run_new(c, &w, &r, &err);
    if (status == CAY_OK) status = serve_run_start(r, &w, &err);
    a = status == CAY_OK ? ANSWER_LATER : fail_status(c, &err);
    if (status != CAY_OK && r != NULL) give_up(r);
  }
  wanted_clear(&w);
  return a;
}
