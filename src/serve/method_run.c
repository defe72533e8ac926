/* method_run.c - run and run.cancel: a command, its output as it appears or at the end, and its result. */
#include "base/alloc.h"
#include "base/thread.h"
#include "serve/server.h"
#include "serve/text.h"

#include <string.h>

method_fn rpc_run, rpc_run_cancel;

enum { WAITER_STACK = 256 * 1024 };

typedef struct run {
  list in_server;
  server *server;
  serve_box *box;
  rpc_id id;
  cay_process *process; /* set before the run is in the list */
  bool base64, stream, cancelled;
  buf held[2]; /* of a stream: bytes of a character that is not whole yet */
} run;

/* ---- output ---- */

static const char *const STREAMS[] = { "stdout", "stderr" };

static bool put_bytes(buf *text, const void *data, size_t len, bool base64, bool more, size_t *used) {
  *used = len;
  return base64 ? text_put_base64(text, data, len) : text_put_utf8(text, data, len, more, used);
}

static bool add_bytes(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *name, cay_slice bytes,
                      bool base64) {
  buf text = BUF_INIT(BUF_UNLIMITED);
  size_t used;
  bool fine = put_bytes(&text, bytes.data, bytes.len, base64, false, &used) &&
              yyjson_mut_obj_add_strncpy(doc, object, name, buf_text(&text), text.len);
  buf_free(&text);
  return fine;
}

/* One notification; `text` is the data as it goes out. */
static void notify(run *r, int which, const buf *text) {
  if (text->len == 0) return;
  yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
  yyjson_mut_val *params = doc != NULL ? yyjson_mut_obj(doc) : NULL;
  buf line = BUF_INIT(BUF_UNLIMITED);
  if (params != NULL) {
    yyjson_mut_doc_set_root(doc, params);
    yyjson_mut_obj_add_val(doc, params, "id", yyjson_mut_raw(doc, r->id.text));
    yyjson_mut_obj_add_str(doc, params, "stream", STREAMS[which]);
    if (yyjson_mut_obj_add_strn(doc, params, "data", buf_text(text), text->len) &&
        rpc_put_notification(&line, "run.output", doc))
      line_write(&r->server->out, buf_text(&line), line.len);
  }
  buf_free(&line);
  yyjson_mut_doc_free(doc);
}

/* On the guest's thread. */
static void on_output(void *ctx, int fd, cay_slice bytes) {
  run *r = ctx;
  buf *held = &r->held[fd - 1], text = BUF_INIT(BUF_UNLIMITED);
  size_t used = 0;
  if (buf_append(held, bytes.data, bytes.len) != CAY_OK) return;
  if (put_bytes(&text, held->data, held->len, r->base64, true, &used)) notify(r, fd - 1, &text);
  memmove(held->data, held->data + used, held->len - used);
  held->len -= used;
  buf_free(&text);
}

static void flush_held(run *r) {
  for (int i = 0; i < 2; i++) {
    buf text = BUF_INIT(BUF_UNLIMITED);
    size_t used;
    if (put_bytes(&text, r->held[i].data, r->held[i].len, r->base64, false, &used)) notify(r, i, &text);
    buf_free(&text);
  }
}

/* ---- the end ---- */

static bool put_result(run *r, const cay_result *result, buf *line) {
  yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
  if (doc == NULL) return false;
  yyjson_mut_val *root = yyjson_mut_obj(doc);
  yyjson_mut_doc_set_root(doc, root);
  bool fine =
      yyjson_mut_obj_add_int(doc, root, "exitCode", cay_result_exit_code(result)) &&
      add_bytes(doc, root, "stdout", result->out, r->base64) &&
      add_bytes(doc, root, "stderr", result->err, r->base64) &&
      yyjson_mut_obj_add_real(doc, root, "executionTimeMs", (double)(result->wall_ns / 1000) / 1000.0);
  if (result->out_cut) yyjson_mut_obj_add_bool(doc, root, "stdoutTruncated", true);
  if (result->err_cut) yyjson_mut_obj_add_bool(doc, root, "stderrTruncated", true);
  if (result->end != CAY_END_EXIT) yyjson_mut_obj_add_str(doc, root, "end", cay_end_name(result->end));
  if (result->end == CAY_END_TRAP) fine = fine && add_bytes(doc, root, "detail", result->detail, false);
  fine = fine && rpc_put_result(line, &r->id, doc);
  yyjson_mut_doc_free(doc);
  return fine;
}

static void run_free(run *r) {
  cay_process_free(r->process);
  buf_free(&r->held[0]);
  buf_free(&r->held[1]);
  mem_free(r);
}

static void leave(run *r) {
  server *s = r->server;
  pthread_mutex_lock(&s->mu);
  list_remove(&r->in_server);
  r->box->runs--;
  pthread_cond_broadcast(&s->run_ended);
  pthread_mutex_unlock(&s->mu);
}

/* The thread of one run. */
static void await(void *ctx) {
  run *r = ctx;
  cay_result *result = NULL;
  cay_error err;
  buf line = BUF_INIT(BUF_UNLIMITED);
  cay_status status = cay_process_wait(r->process, -1, &result, &err);
  /* A process that it left behind may still write: its output has no run to belong to. */
  cay_process_kill(r->process);
  if (r->stream) flush_held(r);
  bool fine = status == CAY_OK ? put_result(r, result, &line)
                               : rpc_put_error(&line, &r->id, RPC_INTERNAL, err.message);
  if (!fine) {
    line.len = 0;
    fine = rpc_put_error(&line, &r->id, RPC_INTERNAL, "out of memory");
  }
  if (fine) line_write(&r->server->out, buf_text(&line), line.len);
  buf_free(&line);
  cay_result_free(result);
  leave(r);
  run_free(r);
}

/* ---- the calls ---- */

struct wanted {
  const char *command, *cwd, *input, *encoding;
  size_t input_len;
  uint64_t timeout;
  bool stream;
  char **env;
};

static bool read_params(call *c, struct wanted *w) {
  w->encoding = "utf8";
  w->input = "";
  if (!param_text(c, "command", true, &w->command) || !param_text(c, "cwd", false, &w->cwd) ||
      !param_text_len(c, "stdin", false, &w->input, &w->input_len) ||
      !param_text(c, "encoding", false, &w->encoding) ||
      !param_number(c, "timeoutMs", 1, UINT32_MAX - 1, &w->timeout) || !param_bool(c, "stream", &w->stream))
    return false;
  if (strcmp(w->encoding, "utf8") != 0 && strcmp(w->encoding, "base64") != 0) {
    fail(c, RPC_INVALID_PARAMS, "encoding: must be \"utf8\" or \"base64\"");
    return false;
  }
  return param_env(c, "env", &w->env);
}

static enum answer start(call *c, run *r, const struct wanted *w, cay_slice input) {
  cay_run_options options =
      CAY_INIT(cay_run_options, .command = w->command, .cwd = w->cwd, .env = (const char *const *)w->env,
               .input = input, .wall_ms = (uint32_t)w->timeout, .no_capture = r->stream,
               .output = r->stream ? on_output : NULL, .output_ctx = r);
  cay_error err;
  if (cay_spawn(c->box->sandbox, &options, &r->process, &err) != CAY_OK) {
    mem_free(r);
    return fail_status(c, &err);
  }
  pthread_mutex_lock(&c->server->mu);
  list_push(&c->server->runs, &r->in_server);
  r->box->runs++;
  pthread_mutex_unlock(&c->server->mu);
  pthread_t thread;
  if (thread_start("cay-run", WAITER_STACK, await, r, &thread, &err) != CAY_OK) {
    leave(r);
    cay_process_kill(r->process);
    run_free(r);
    return fail_status(c, &err);
  }
  pthread_detach(thread);
  return ANSWER_LATER;
}

enum answer rpc_run(call *c) {
  struct wanted w = { 0 };
  if (!read_params(c, &w)) return ANSWER_ERROR;
  bool base64 = strcmp(w.encoding, "base64") == 0;
  cay_buf decoded = { 0 };
  cay_slice input = { w.input, w.input_len };
  enum answer a = ANSWER_ERROR;
  if (base64 && text_from_base64(w.input, w.input_len, &decoded) != CAY_OK) {
    fail(c, RPC_INVALID_PARAMS, "stdin: is not base64");
  } else {
    if (base64) input = (cay_slice){ decoded.data, decoded.len };
    run *r = mem_alloc(sizeof *r);
    if (r == NULL) {
      fail(c, RPC_INTERNAL, "out of memory");
    } else {
      *r = (run){ .server = c->server,
                  .box = c->box,
                  .id = *c->id,
                  .base64 = base64,
                  .stream = w.stream,
                  .held = { BUF_INIT(BUF_UNLIMITED), BUF_INIT(BUF_UNLIMITED) } };
      list_init(&r->in_server);
      a = start(c, r, &w, input);
    }
  }
  mem_free(decoded.data);
  param_env_free(w.env);
  return a;
}

enum answer rpc_run_cancel(call *c) {
  rpc_id id;
  if (!rpc_id_from(yyjson_obj_get(c->params, "id"), &id))
    return fail(c, RPC_INVALID_PARAMS, "id: must be the id of a run");
  bool found = false;
  pthread_mutex_lock(&c->server->mu);
  LIST_EACH (r, &c->server->runs, run, in_server) {
    if (r->box != c->box || strcmp(r->id.text, id.text) != 0) continue;
    cay_process_kill(r->process);
    found = true;
  }
  pthread_mutex_unlock(&c->server->mu);
  yyjson_mut_obj_add_bool(c->result, result_root(c), "ok", true);
  yyjson_mut_obj_add_bool(c->result, result_root(c), "cancelled", found);
  return ANSWER_RESULT;
}

void runs_end(server *s, serve_box *box) {
  pthread_mutex_lock(&s->mu);
  LIST_EACH (r, &s->runs, run, in_server) {
    if (box == NULL || r->box == box) cay_process_kill(r->process);
  }
  while (box != NULL ? box->runs != 0 : !list_empty(&s->runs)) pthread_cond_wait(&s->run_ended, &s->mu);
  pthread_mutex_unlock(&s->mu);
}
