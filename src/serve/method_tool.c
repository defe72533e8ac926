/* method_tool.c - tools.*: WebAssembly tools, one set for each server. Calls run on threads of their own, so
 * that other requests are read meanwhile. */
#include "base/alloc.h"
#include "base/base64.h"
#include "base/error.h"
#include "serve/tool.h"

#include <string.h>

method_fn rpc_tools_open, rpc_tools_call, rpc_tools_cancel, rpc_tools_list, rpc_tools_check, rpc_tools_due,
    rpc_tools_close;

enum { ROUNDS_MAX = 64 };

/* ---- the set ---- */

static bool need_tools(call *c) {
  if (c->server->tools != NULL) return true;
  fail(c, RPC_SANDBOX_ERROR, "ENXIO: there are no tools yet: call tools.open first");
  return false;
}

static void on_log(void *ctx, cay_log_level level, const char *area, const char *line) {
  const server *s = ctx;
  if (s->options.log != NULL) s->options.log(s->options.log_ctx, level, area, line);
}

static bool tool_read_options(call *c, cay_tools_options *o) {
  uint64_t rounds = 0;
  if (!param_text(c, "dir", false, &o->base_dir) || !param_text(c, "database", false, &o->database) ||
      !param_text(c, "audit", false, &o->audit) || !param_text(c, "user", false, &o->user) ||
      !param_number(c, "rounds", 0, ROUNDS_MAX, &rounds) ||
      !param_bool(c, "allowPlaceholders", &o->allow_placeholders))
    return false;
  o->rounds = (uint32_t)rounds;
  return true;
}

enum answer rpc_tools_open(call *c) {
  cay_tools_options o = CAY_INIT(cay_tools_options, .cache_dir = c->server->options.cache_dir, .log = on_log,
                                 .log_ctx = c->server);
  cay_error err;
  char *text = NULL;
  if (!tool_read_options(c, &o)) return ANSWER_ERROR;
  yyjson_val *config = yyjson_obj_get(c->params, "config");
  bool given = config != NULL && !yyjson_is_null(config);
  if (given && !yyjson_is_obj(config)) return fail(c, RPC_INVALID_PARAMS, "config: must be an object");
  if (c->server->tools != NULL) return fail(c, RPC_SANDBOX_ERROR, "EEXIST: the tools were opened already");
  if (given) {
    text = yyjson_val_write_opts(config, YYJSON_WRITE_NOFLAG, &JSON_ALLOC, &o.config.len, NULL);
    if (text == NULL) return fail_memory(c);
    o.config.data = text;
  }
  cay_status status = cay_tools_open(&o, &c->server->tools, &err);
  mem_free(text);
  if (status == CAY_INVALID) return fail(c, RPC_INVALID_PARAMS, "%s", err.message);
  return answer_done(c, status, &err);
}

/* ---- calls ---- */

typedef struct job {
  list in_server;
  server *server;
  rpc_id id;
  char *name, *user, *input;
  size_t input_len;
  uint32_t timeout_ms;
  cay_tool_cancel *cancel;
  bool over; /* it has ended: there is nothing to cancel */
} job;

static void job_free(job *j) {
  mem_free(j->name);
  mem_free(j->user);
  mem_free(j->input);
  cay_tool_cancel_free(j->cancel);
  mem_free(j);
}

static void tool_enter(job *j) {
  pthread_mutex_lock(&j->server->mu);
  list_push(&j->server->tool_calls, &j->in_server);
  pthread_mutex_unlock(&j->server->mu);
}

/* Its answer is on its way, or it never began. From here on the set may be freed. */
static void tool_leave(job *j) {
  server *s = j->server;
  pthread_mutex_lock(&s->mu);
  list_remove(&j->in_server);
  pthread_cond_broadcast(&s->changed);
  pthread_mutex_unlock(&s->mu);
  job_free(j);
}

void tools_end(server *s, bool cancel) {
  pthread_mutex_lock(&s->mu);
  LIST_EACH (j, &s->tool_calls, job, in_server) {
    if (cancel) cay_tool_cancel_raise(j->cancel);
  }
  while (!list_empty(&s->tool_calls)) pthread_cond_wait(&s->changed, &s->mu);
  pthread_mutex_unlock(&s->mu);
  cay_tools_free(s->tools);
  s->tools = NULL;
}

enum answer rpc_tools_close(call *c) {
  if (!need_tools(c)) return ANSWER_ERROR;
  tools_end(c->server, false);
  return answer_ok(c);
}

/* The result is JSON, but may have line ends in it: it is written anew. */
static bool tool_put_result(yyjson_mut_doc *doc, yyjson_mut_val *to, cay_slice json) {
  yyjson_doc *given =
      yyjson_read_opts((char *)(uintptr_t)json.data, json.len, YYJSON_READ_BIGNUM_AS_RAW, &JSON_ALLOC, NULL);
  yyjson_mut_val *copy = given != NULL ? yyjson_val_mut_copy(doc, yyjson_doc_get_root(given)) : NULL;
  yyjson_doc_free(given);
  return copy != NULL && yyjson_mut_obj_add_val(doc, to, "result", copy);
}

static char *tool_result_line(const job *j, const cay_tool_result *r, size_t *len) {
  yyjson_mut_doc *doc = yyjson_mut_doc_new(&JSON_ALLOC);
  yyjson_mut_val *to = yyjson_mut_obj(doc);
  bool fine = yyjson_mut_obj_add_str(doc, to, "code", r->code) &&
              (r->why.len == 0 || put_text(doc, to, "why", r->why.data, r->why.len)) &&
              tool_put_result(doc, to, r->json) &&
              yyjson_mut_obj_add_uint(doc, to, "capabilities", r->capabilities) &&
              yyjson_mut_obj_add_real(doc, to, "executionTimeMs", rpc_ms(r->wall_ns));
  char *line = fine ? rpc_result_line(doc, &j->id, to, len) : NULL;
  yyjson_mut_doc_free(doc);
  return line;
}

static void run_job(void *ctx) {
  job *j = ctx;
  server *s = j->server;
  cay_error err = { 0 };
  cay_tool_result *r = NULL;
  size_t len = 0;
  call c = { .server = s };
  cay_status status = cay_tool_call(
      s->tools, j->name, (cay_slice){ j->input, j->input_len },
      &CAY_INIT(cay_tool_call_options, .user = j->user, .timeout_ms = j->timeout_ms, .cancel = j->cancel), &r,
      &err);
  pthread_mutex_lock(&s->mu);
  j->over = true;
  pthread_mutex_unlock(&s->mu);
  if (status == CAY_OK) {
    char *line = tool_result_line(j, r, &len);
    server_send(s, &j->id, line, len);
  } else {
    fail_status(&c, &err);
    server_send_error(s, &j->id, status == CAY_INVALID ? RPC_INVALID_PARAMS : c.code, c.why);
  }
  cay_tool_result_free(r);
  tool_leave(j);
}

static bool read_job(call *c, job *j) {
  const char *name = NULL, *user = NULL;
  uint64_t timeout = 0;
  yyjson_val *input = yyjson_obj_get(c->params, "input");
  if (!param_text(c, "name", true, &name) || !param_text(c, "user", false, &user) ||
      !param_number(c, "timeoutMs", 1, UINT32_MAX - 1, &timeout))
    return false;
  if (yyjson_is_null(input)) input = NULL;
  if (input != NULL && !yyjson_is_obj(input)) {
    fail(c, RPC_INVALID_PARAMS, "input: must be an object");
    return false;
  }
  *j = (job){ .server = c->server, .id = *c->id, .timeout_ms = (uint32_t)timeout, .name = mem_strdup(name) };
  if (user != NULL) j->user = mem_strdup(user);
  j->input = input != NULL
                 ? yyjson_val_write_opts(input, YYJSON_WRITE_NOFLAG, &JSON_ALLOC, &j->input_len, NULL)
                 : mem_strdup("{}");
  if (input == NULL) j->input_len = 2;
  if (j->name != NULL && j->input != NULL && (user == NULL || j->user != NULL)) return true;
  fail_memory(c);
  return false;
}

enum answer rpc_tools_call(call *c) {
  cay_error err;
  job *j = mem_zalloc(sizeof *j);
  if (j == NULL) return fail_memory(c);
  j->server = c->server;
  if (!read_job(c, j) || !need_tools(c)) {
    job_free(j);
    return ANSWER_ERROR;
  }
  cay_status status = cay_tool_cancel_new(&j->cancel, &err);
  tool_enter(j);
  if (status == CAY_OK) status = thread_pool_run(c->server->waiters, run_job, j, &err);
  if (status == CAY_OK) return ANSWER_LATER;
  tool_leave(j);
  return fail_status(c, &err);
}

enum answer rpc_tools_cancel(call *c) {
  rpc_id id;
  bool found = false;
  if (!rpc_id_from(yyjson_obj_get(c->params, "id"), &id))
    return fail(c, RPC_INVALID_PARAMS, "id: must be the id of a call");
  pthread_mutex_lock(&c->server->mu);
  LIST_EACH (j, &c->server->tool_calls, job, in_server) {
    if (j->over || strcmp(j->id.text, id.text) != 0) continue;
    cay_tool_cancel_raise(j->cancel);
    found = true;
  }
  pthread_mutex_unlock(&c->server->mu);
  if (!yyjson_mut_obj_add_bool(c->doc, c->result, "ok", true)) return fail_memory(c);
  return yyjson_mut_obj_add_bool(c->doc, c->result, "cancelled", found) ? ANSWER_RESULT : fail_memory(c);
}

/* ---- what there is ---- */

struct listing {
  call *c;
  yyjson_mut_val *array;
  bool fine;
};

static bool put_tool(struct listing *l, const cay_tool *tool) {
  yyjson_mut_doc *doc = l->c->doc;
  yyjson_mut_val *one = yyjson_mut_arr_add_obj(doc, l->array);
  bool fine = one != NULL && yyjson_mut_obj_add_strcpy(doc, one, "name", tool->name) &&
              put_text(doc, one, "module", tool->module, strlen(tool->module)) &&
              put_text(doc, one, "entrypoint", tool->entrypoint, strlen(tool->entrypoint)) &&
              yyjson_mut_obj_add_bool(doc, one, "configured", tool->configured) &&
              yyjson_mut_obj_add_str(doc, one, "code", tool->verdict.code) &&
              put_text(doc, one, "why", tool->verdict.why, strlen(tool->verdict.why)) &&
              yyjson_mut_obj_add_uint(doc, one, "timeoutMs", tool->timeout_ms) &&
              yyjson_mut_obj_add_uint(doc, one, "fuel", tool->fuel);
  yyjson_mut_val *allow = fine ? yyjson_mut_obj_add_arr(doc, one, "allow") : NULL;
  if (allow == NULL) return false;
  for (size_t i = 0; tool->allow[i] != NULL; i++)
    if (!yyjson_mut_arr_add_strcpy(doc, allow, tool->allow[i])) return false;
  return true;
}

static bool serve_tool_on_tool(void *ctx, const cay_tool *tool) {
  struct listing *l = ctx;
  return l->fine = put_tool(l, tool);
}

enum answer rpc_tools_list(call *c) {
  cay_error err;
  if (!need_tools(c)) return ANSWER_ERROR;
  struct listing l = { .c = c, .array = yyjson_mut_obj_add_arr(c->doc, c->result, "tools"), .fine = true };
  if (l.array == NULL) return fail_memory(c);
  if (cay_tools_list(c->server->tools, serve_tool_on_tool, &l, &err) != CAY_OK) return fail_status(c, &err);
  return l.fine ? ANSWER_RESULT : fail_memory(c);
}

enum answer rpc_tools_check(call *c) {
  const char *data = NULL, *entrypoint = NULL;
  size_t len = 0;
  cay_buf bytes = { 0 };
  cay_tool_verdict verdict;
  cay_error err;
  if (!param_text_len(c, "data", true, &data, &len) || !param_text(c, "entrypoint", false, &entrypoint))
    return ANSWER_ERROR;
  cay_status status = base64_decode_new(data, len, &bytes);
  if (status == CAY_NO_MEMORY) return fail_memory(c);
  if (status != CAY_OK) return fail(c, RPC_INVALID_PARAMS, "data: is not base64");
  if (!need_tools(c)) {
    cay_buf_free(&bytes);
    return ANSWER_ERROR;
  }
  status = cay_tool_check(c->server->tools, (cay_slice){ bytes.data, bytes.len }, entrypoint, &verdict, &err);
  cay_buf_free(&bytes);
  if (status != CAY_OK) return fail_status(c, &err);
  bool fine = yyjson_mut_obj_add_str(c->doc, c->result, "code", verdict.code) &&
              put_text(c->doc, c->result, "why", verdict.why, strlen(verdict.why));
  return fine ? ANSWER_RESULT : fail_memory(c);
}

/* ---- entries that are due ---- */

static bool put_event(const struct listing *l, const cay_tool_event *e) {
  yyjson_mut_doc *doc = l->c->doc;
  yyjson_mut_val *one = yyjson_mut_arr_add_obj(doc, l->array);
  return one != NULL && yyjson_mut_obj_add_str(doc, one, "kind", e->kind) &&
         yyjson_mut_obj_add_int(doc, one, "id", e->id) &&
         yyjson_mut_obj_add_strcpy(doc, one, "userId", e->user) &&
         yyjson_mut_obj_add_strcpy(doc, one, "name", e->name) &&
         (e->prompt == NULL || yyjson_mut_obj_add_strcpy(doc, one, "prompt", e->prompt)) &&
         yyjson_mut_obj_add_int(doc, one, "dueAt", e->due_at) &&
         yyjson_mut_obj_add_int(doc, one, "missed", e->missed);
}

static bool serve_tool_on_due(void *ctx, const cay_tool_event *event) {
  struct listing *l = ctx;
  return l->fine = l->fine && put_event(l, event);
}

enum answer rpc_tools_due(call *c) {
  cay_error err;
  if (!need_tools(c)) return ANSWER_ERROR;
  struct listing l = { .c = c, .array = yyjson_mut_obj_add_arr(c->doc, c->result, "events"), .fine = true };
  if (l.array == NULL) return fail_memory(c);
  cay_status status = cay_tools_due(c->server->tools, serve_tool_on_due, &l, NULL, &err);
  if (status != CAY_OK) return fail_status(c, &err);
  return l.fine ? ANSWER_RESULT : fail_memory(c);
}
