/* method_running.c - run.list, run.cancel, run.signal, run.ack, run.input, run.resize: a command while it runs. */
#include "base/alloc.h"
#include "base/base64.h"
#include "base/error.h"
#include "serve/run.h"

#include <string.h>

method_fn rpc_run_list, rpc_run_cancel, rpc_run_signal, rpc_run_ack, rpc_run_input, rpc_run_resize;

static bool param_run_id(call *c, rpc_id *out) {
  if (rpc_id_from(yyjson_obj_get(c->params, "id"), out)) return true;
  fail(c, RPC_INVALID_PARAMS, "id: must be the id of a run");
  return false;
}

static bool is_meant(const call *c, const run *r, const rpc_id *id) {
  return r->box == c->box && !r->over && strcmp(r->id.text, id->text) == 0;
}

enum answer rpc_run_cancel(call *c) {
  rpc_id id;
  if (!param_run_id(c, &id)) return ANSWER_ERROR;
  bool found = false;
  pthread_mutex_lock(&c->server->mu);
  LIST_EACH (r, &c->server->runs, run, in_server) {
    if (!is_meant(c, r, &id)) continue;
    run_stop(r);
    found = true;
  }
  pthread_mutex_unlock(&c->server->mu);
  if (!yyjson_mut_obj_add_bool(c->doc, c->result, "ok", true)) return fail_memory(c);
  return yyjson_mut_obj_add_bool(c->doc, c->result, "cancelled", found) ? ANSWER_RESULT : fail_memory(c);
}

enum answer rpc_run_ack(call *c) {
  rpc_id id;
  uint64_t bytes = UINT64_MAX;
  if (!param_run_id(c, &id) || !param_number(c, "bytes", 0, INT64_MAX, &bytes)) return ANSWER_ERROR;
  if (bytes == UINT64_MAX) return fail(c, RPC_INVALID_PARAMS, "bytes: is required");
  pthread_mutex_lock(&c->server->mu);
  LIST_EACH (r, &c->server->runs, run, in_server) {
    if (is_meant(c, r, &id)) r->unacked -= bytes < r->unacked ? bytes : r->unacked;
  }
  pthread_cond_broadcast(&c->server->changed);
  pthread_mutex_unlock(&c->server->mu);
  return answer_ok(c);
}

/* ---- input ---- */

/* With server.mu: the command of this id, or NULL. */
static run *running_find(const call *c, const rpc_id *id) {
  LIST_EACH (r, &c->server->runs, run, in_server) {
    if (is_meant(c, r, id)) return r;
  }
  return NULL;
}

static enum answer answer_running(call *c, bool running) {
  bool fine = yyjson_mut_obj_add_bool(c->doc, c->result, "ok", true) &&
              yyjson_mut_obj_add_bool(c->doc, c->result, "running", running);
  return fine ? ANSWER_RESULT : fail_memory(c);
}

/* Nothing here waits for the command: its output could be waiting for this very thread. */
static cay_status type(run *r, cay_slice bytes, bool end, size_t *taken, cay_error *err) {
  cay_status status = cay_process_write_some(r->process, bytes, taken, err);
  if (status == CAY_OK && end && *taken == bytes.len) cay_process_close_input(r->process);
  return status;
}

static cay_status decode(const run *r, cay_slice *bytes, cay_buf *decoded) {
  if (!r->base64) return CAY_OK;
  cay_status status = base64_decode_new(bytes->data, bytes->len, decoded);
  if (status == CAY_OK) *bytes = (cay_slice){ decoded->data, decoded->len };
  return status;
}

struct typed {
  cay_slice bytes;
  bool end, running;
  size_t taken;
};

static cay_status running_give(call *c, const rpc_id *id, struct typed *t, cay_error *err) {
  cay_buf decoded = { 0 };
  cay_status status = CAY_OK;
  pthread_mutex_lock(&c->server->mu);
  run *r = running_find(c, id);
  if (r != NULL && r->process != NULL) {
    status = decode(r, &t->bytes, &decoded);
    if (status != CAY_OK) err_set(err, status, "data: is not base64");
    if (status == CAY_OK) status = type(r, t->bytes, t->end, &t->taken, err);
    t->running = status != CAY_IO;
  }
  pthread_mutex_unlock(&c->server->mu);
  mem_free(decoded.data);
  return status == CAY_IO ? CAY_OK : status;
}

enum answer rpc_run_input(call *c) {
  rpc_id id;
  struct typed t = { 0 };
  const char *data = "";
  size_t len = 0;
  cay_error err;
  if (!param_run_id(c, &id) || !param_text_len(c, "data", false, &data, &len) ||
      !param_bool(c, "end", &t.end))
    return ANSWER_ERROR;
  t.bytes = (cay_slice){ data, len };
  cay_status status = running_give(c, &id, &t, &err);
  if (status == CAY_INVALID || status == CAY_CORRUPT) return fail(c, RPC_INVALID_PARAMS, "%s", err.message);
  if (status != CAY_OK) return fail_status(c, &err);
  if (!yyjson_mut_obj_add_uint(c->doc, c->result, "taken", t.taken)) return fail_memory(c);
  return answer_running(c, t.running);
}

enum answer rpc_run_resize(call *c) {
  rpc_id id;
  uint64_t rows = 0, cols = 0;
  if (!param_run_id(c, &id) || !param_number(c, "rows", 1, UINT16_MAX, &rows) ||
      !param_number(c, "cols", 1, UINT16_MAX, &cols))
    return ANSWER_ERROR;
  if (rows == 0 || cols == 0) return fail(c, RPC_INVALID_PARAMS, "rows, cols: are required");
  pthread_mutex_lock(&c->server->mu);
  run *r = running_find(c, &id);
  bool running = r != NULL && r->process != NULL &&
                 cay_process_resize(r->process, (uint16_t)rows, (uint16_t)cols, NULL) == CAY_OK;
  pthread_mutex_unlock(&c->server->mu);
  return answer_running(c, running);
}

enum answer rpc_run_signal(call *c) {
  enum { SIGNAL_MAX = 64 };
  rpc_id id;
  uint64_t number = 0;
  if (!param_run_id(c, &id) || !param_number(c, "signal", 1, SIGNAL_MAX, &number)) return ANSWER_ERROR;
  if (number == 0) return fail(c, RPC_INVALID_PARAMS, "signal: is required");
  pthread_mutex_lock(&c->server->mu);
  run *r = running_find(c, &id);
  bool running = r != NULL && r->process != NULL;
  if (running) cay_process_signal(r->process, (int)number);
  pthread_mutex_unlock(&c->server->mu);
  return answer_running(c, running);
}

/* ---- which there are ---- */

static bool running_put_run(yyjson_mut_doc *doc, yyjson_mut_val *list, const run *r) {
  yyjson_mut_val *one = yyjson_mut_arr_add_obj(doc, list);
  return one != NULL && yyjson_mut_obj_add_val(doc, one, "id", yyjson_mut_rawcpy(doc, r->id.text)) &&
         yyjson_mut_obj_add_int(doc, one, "pid", r->pid) &&
         put_text(doc, one, "command", r->command, strlen(r->command));
}

enum answer rpc_run_list(call *c) {
  yyjson_mut_val *list = yyjson_mut_obj_add_arr(c->doc, c->result, "runs");
  bool fine = list != NULL;
  pthread_mutex_lock(&c->server->mu);
  LIST_EACH (r, &c->server->runs, run, in_server) {
    if (r->box == c->box && !r->over && r->process != NULL) fine = fine && running_put_run(c->doc, list, r);
  }
  pthread_mutex_unlock(&c->server->mu);
  return fine ? ANSWER_RESULT : fail_memory(c);
}
