/* method_workspace.c - workspace.*: workspaces of one client for each server. Calls may take long (a clone, a command), so each
 * runs on a thread of its own and answers later. An operation starts its session where that is needed. */
#include "serve/workspace.h"

#include "base/alloc.h"
#include "base/base64.h"
#include "serve/snapshot.h"

#include <string.h>

method_fn rpc_ws_open, rpc_ws_provision, rpc_ws_start, rpc_ws_exec, rpc_ws_read, rpc_ws_write,
    rpc_ws_list_dir, rpc_ws_patch, rpc_ws_snapshot, rpc_ws_resume, rpc_ws_stop, rpc_ws_park, rpc_ws_sessions,
    rpc_ws_snapshots, rpc_ws_delete, rpc_ws_prune, rpc_ws_fsck, rpc_ws_spawn, rpc_ws_wait, rpc_ws_input,
    rpc_ws_signal, rpc_ws_kill, rpc_ws_forget;

/* "ProvisionFailed: entry 1, …" */
enum answer ws_refuse(call *c, const cay_ws_error *err) {
  return fail(c, RPC_SANDBOX_ERROR, "%s: %s", cay_ws_code_name(err->code), err->cause.message);
}

enum answer ws_done(call *c, cay_status status, const cay_ws_error *err) {
  return status == CAY_OK ? answer_ok(c) : ws_refuse(c, err);
}

static enum answer ws_text(call *c, const char *name, const char *text) {
  return yyjson_mut_obj_add_strcpy(c->doc, c->result, name, text) ? ANSWER_RESULT : fail_memory(c);
}

/* ---- the client ---- */

static bool ws_read_network(call *c, char **text, cay_slice *out) {
  yyjson_val *rules = yyjson_obj_get(c->params, "network");
  if (rules == NULL || yyjson_is_null(rules)) return true;
  if (!yyjson_is_obj(rules)) {
    fail(c, RPC_INVALID_PARAMS, "network: must be an object");
    return false;
  }
  *text = yyjson_val_write_opts(rules, YYJSON_WRITE_NOFLAG, &JSON_ALLOC, &out->len, NULL);
  out->data = *text;
  if (*text == NULL) fail_memory(c);
  return *text != NULL;
}

/* ---- progress of clones: on the thread of workspace.provision ---- */

static _Thread_local const rpc_id *ws_progress_id; /* of the request, if it wants to know */

static void ws_progress(void *ctx, const char *path, uint64_t received, uint64_t total) {
  server *s = ctx;
  if (ws_progress_id == NULL) return;
  yyjson_mut_doc *doc = yyjson_mut_doc_new(&JSON_ALLOC);
  yyjson_mut_val *params = doc != NULL ? yyjson_mut_obj(doc) : NULL;
  size_t len = 0;
  bool fine = params != NULL &&
              yyjson_mut_obj_add_val(doc, params, "id", yyjson_mut_raw(doc, ws_progress_id->text)) &&
              yyjson_mut_obj_add_strcpy(doc, params, "path", path) &&
              yyjson_mut_obj_add_uint(doc, params, "received", received) &&
              yyjson_mut_obj_add_uint(doc, params, "total", total);
  char *line = fine ? rpc_notification_line(doc, "workspace.progress", params, &len) : NULL;
  if (line != NULL) server_send(s, ws_progress_id, line, len);
  yyjson_mut_doc_free(doc);
}

/* Without its guests there is no sandbox; anything else is the host's. */
static enum answer ws_no_engine(call *c, const cay_error *cause) {
  switch (cause->status) {
  case CAY_NOT_FOUND:
  case CAY_CORRUPT:
  case CAY_UNSUPPORTED: return fail(c, RPC_SANDBOX_ERROR, "BackendUnavailable: %s", cause->message);
  case CAY_NO_MEMORY: return fail(c, RPC_SANDBOX_ERROR, "MemoryExceeded: %s", cause->message);
  default: return fail(c, RPC_SANDBOX_ERROR, "EnforcerUnavailable: %s", cause->message);
  }
}

enum answer rpc_ws_open(call *c) {
  cay_ws_options o = CAY_INIT(cay_ws_options, .git_progress = ws_progress, .git_progress_ctx = c->server);
  cay_ws_error err;
  cay_error cause;
  char *network = NULL;
  const char *credentials = NULL;
  uint64_t git_ms = 0;
  if (!param_text(c, "store", false, &o.store) || !param_text(c, "gitFiles", false, &o.git_files) ||
      !param_text(c, "gitCredentials", false, &credentials) ||
      !param_text(c, "gitCaFile", false, &o.git_ca_file) ||
      !param_number(c, "gitTimeoutMs", 1, UINT32_MAX, &git_ms))
    return ANSWER_ERROR;
  o.git_timeout_ms = (uint32_t)git_ms;
  if (credentials != NULL) o.git_credentials = (cay_slice){ credentials, strlen(credentials) };
  if (!ws_read_network(c, &network, &o.network)) return ANSWER_ERROR;
  enum answer answer;
  if (c->server->workspaces != NULL)
    answer = fail(c, RPC_SANDBOX_ERROR, "EEXIST: workspaces were opened already");
  else if (engine_for(c->server, "", "", &o.engine, &cause) != CAY_OK)
    answer = ws_no_engine(c, &cause);
  else
    answer = ws_done(c, cay_ws_open(&o, &c->server->workspaces, &err), &err);
  mem_free(network);
  return answer;
}

/* ---- calls on threads of their own ---- */

typedef struct ws_job {
  server *server;
  rpc_id id;
  yyjson_doc *params; /* NULL: none */
  method_fn *fn;
} ws_job;

static void ws_job_leave(ws_job *j) {
  server *s = j->server;
  yyjson_doc_free(j->params);
  mem_free(j);
  pthread_mutex_lock(&s->mu);
  s->ws_calls--;
  pthread_cond_broadcast(&s->changed);
  pthread_mutex_unlock(&s->mu);
}

static void ws_job_run(void *ctx) {
  ws_job *j = ctx;
  call c = { .server = j->server,
             .id = &j->id,
             .params = yyjson_doc_get_root(j->params),
             .doc = yyjson_mut_doc_new(&JSON_ALLOC),
             .kept = BUF_INIT(BUF_UNLIMITED) };
  size_t len = 0;
  c.result = c.doc != NULL ? yyjson_mut_obj(c.doc) : NULL;
  enum answer answer = c.result != NULL ? j->fn(&c) : fail_memory(&c);
  char *line = answer == ANSWER_RESULT ? rpc_result_line(c.doc, &j->id, c.result, &len) : NULL;
  if (answer == ANSWER_RESULT)
    (void)server_send(j->server, &j->id, line, len);
  else
    server_send_error(j->server, &j->id, c.code, c.why);
  yyjson_mut_doc_free(c.doc);
  buf_free(&c.kept);
  ws_job_leave(j);
}

static bool ws_copy_params(const call *c, ws_job *j) {
  size_t len = 0;
  if (c->params == NULL) return true;
  char *text = yyjson_val_write_opts(c->params, YYJSON_WRITE_ALLOW_INVALID_UNICODE, &JSON_ALLOC, &len, NULL);
  if (text != NULL)
    j->params = yyjson_read_opts(text, len, YYJSON_READ_ALLOW_INVALID_UNICODE, &JSON_ALLOC, NULL);
  mem_free(text);
  return j->params != NULL;
}

static enum answer ws_later(call *c, method_fn *fn) {
  cay_error err;
  if (c->server->workspaces == NULL)
    return fail(c, RPC_SANDBOX_ERROR, "ENXIO: there are no workspaces yet: call workspace.open first");
  ws_job *j = mem_zalloc(sizeof *j);
  if (j == NULL) return fail_memory(c);
  *j = (ws_job){ .server = c->server, .id = *c->id, .fn = fn };
  pthread_mutex_lock(&c->server->mu);
  c->server->ws_calls++;
  pthread_mutex_unlock(&c->server->mu);
  bool copied = ws_copy_params(c, j);
  cay_status status = copied ? thread_pool_run(c->server->waiters, ws_job_run, j, &err) : CAY_NO_MEMORY;
  if (status == CAY_OK) return ANSWER_LATER;
  ws_job_leave(j);
  return copied ? fail_status(c, &err) : fail_memory(c);
}

void workspaces_end(server *s) {
  if (s->workspaces == NULL) return;
  cay_ws_stop_all(s->workspaces);
  pthread_mutex_lock(&s->mu);
  while (s->ws_calls > 0) pthread_cond_wait(&s->changed, &s->mu);
  pthread_mutex_unlock(&s->mu);
  ws_processes_close(s);
  cay_ws_close(s->workspaces);
  s->workspaces = NULL;
  ws_processes_free(s);
}

/* ---- lifecycle ---- */

static enum answer ws_provision(call *c) {
  yyjson_val *value = yyjson_obj_get(c->params, "manifest");
  cay_ws_document *d = NULL;
  cay_ws_error err;
  char handle[CAY_WS_ID_MAX];
  size_t len = 0;
  bool progress = false;
  if (!param_bool(c, "progress", &progress)) return ANSWER_ERROR;
  if (!yyjson_is_obj(value)) return fail(c, RPC_INVALID_PARAMS, "manifest: must be an object");
  char *text = yyjson_val_write_opts(value, YYJSON_WRITE_NOFLAG, &JSON_ALLOC, &len, NULL);
  if (text == NULL) return fail_memory(c);
  cay_status status = cay_ws_manifest_parse((cay_slice){ text, len }, &d, &err);
  mem_free(text);
  ws_progress_id = progress ? c->id : NULL;
  if (status == CAY_OK)
    status = cay_ws_provision(c->server->workspaces, cay_ws_manifest_get(d), handle, &err);
  ws_progress_id = NULL;
  cay_ws_manifest_free(d);
  return status == CAY_OK ? ws_text(c, "handle", handle) : ws_refuse(c, &err);
}

bool ws_begin(call *c, cay_ws_session **out) {
  const char *handle = NULL;
  cay_ws_error err;
  if (!param_text(c, "handle", true, &handle)) return false;
  if (cay_ws_start(c->server->workspaces, handle, out, &err) == CAY_OK) return true;
  ws_refuse(c, &err);
  return false;
}

static enum answer ws_start(call *c) {
  cay_ws_session *s = NULL;
  if (!ws_begin(c, &s)) return ANSWER_ERROR;
  cay_ws_session_free(s);
  return answer_ok(c);
}

/* Takes one name and gives nothing, or another name. */
static enum answer ws_by_name(call *c, const char *param,
                              cay_status (*act)(cay_ws *, const char *, cay_ws_error *)) {
  const char *name = NULL;
  cay_ws_error err;
  if (!param_text(c, param, true, &name)) return ANSWER_ERROR;
  return ws_done(c, act(c->server->workspaces, name, &err), &err);
}

static enum answer ws_stop(call *c) { return ws_by_name(c, "handle", cay_ws_stop); }
static enum answer ws_park(call *c) { return ws_by_name(c, "handle", cay_ws_park); }
static enum answer ws_delete(call *c) { return ws_by_name(c, "id", cay_ws_snapshot_delete); }

static enum answer ws_snapshot(call *c) {
  const char *handle = NULL;
  char id[CAY_WS_ID_MAX];
  cay_ws_error err;
  if (!param_text(c, "handle", true, &handle)) return ANSWER_ERROR;
  cay_status status = cay_ws_snapshot(c->server->workspaces, handle, id, &err);
  return status == CAY_OK ? ws_text(c, "id", id) : ws_refuse(c, &err);
}

static enum answer ws_resume(call *c) {
  const char *id = NULL;
  char handle[CAY_WS_ID_MAX];
  cay_ws_error err;
  if (!param_text(c, "id", true, &id)) return ANSWER_ERROR;
  cay_status status = cay_ws_resume(c->server->workspaces, id, handle, &err);
  return status == CAY_OK ? ws_text(c, "handle", handle) : ws_refuse(c, &err);
}

/* ---- operations ---- */

static enum answer ws_read(call *c) {
  const char *path = NULL;
  cay_ws_session *s = NULL;
  cay_buf bytes = { 0 };
  cay_ws_error err;
  if (!param_text(c, "path", true, &path) || !ws_begin(c, &s)) return ANSWER_ERROR;
  cay_status status = cay_ws_read_file(s, path, &bytes, &err);
  cay_ws_session_free(s);
  if (status != CAY_OK) return ws_refuse(c, &err);
  bool fine = put_base64(c->doc, c->result, "data", &c->kept, bytes.data, bytes.len);
  cay_buf_free(&bytes);
  return fine ? ANSWER_RESULT : fail_memory(c);
}

static enum answer ws_write(call *c) {
  const char *path = NULL, *data = NULL;
  size_t len = 0;
  uint64_t mode = 0;
  cay_buf bytes = { 0 };
  cay_ws_session *s = NULL;
  cay_ws_error err;
  if (!param_text(c, "path", true, &path) || !param_text_len(c, "data", true, &data, &len) ||
      !param_number(c, "mode", 0, 07777, &mode))
    return ANSWER_ERROR;
  cay_status status = base64_decode_new(data, len, &bytes);
  if (status == CAY_NO_MEMORY) return fail_memory(c);
  if (status != CAY_OK) return fail(c, RPC_INVALID_PARAMS, "data: is not base64");
  enum answer answer = ANSWER_ERROR;
  if (ws_begin(c, &s)) {
    status = cay_ws_write_file(s, path, (cay_slice){ bytes.data, bytes.len }, (uint32_t)mode, &err);
    answer = ws_done(c, status, &err);
    cay_ws_session_free(s);
  }
  cay_buf_free(&bytes);
  return answer;
}

static enum answer ws_patch(call *c) {
  cay_ws_patch_options o = CAY_INIT(cay_ws_patch_options);
  const char *patch = NULL;
  size_t len = 0;
  uint64_t fuzz = 2, strip = UINT64_MAX;
  cay_ws_session *s = NULL;
  cay_ws_error err;
  if (!param_text_len(c, "patch", true, &patch, &len) || !param_bool(c, "strict", &o.strict) ||
      !param_number(c, "fuzz", 0, 1000, &fuzz) || !param_number(c, "strip", 0, 99, &strip) ||
      !ws_begin(c, &s))
    return ANSWER_ERROR;
  o.fuzz = fuzz != 0 ? (uint32_t)fuzz : CAY_WS_NO_FUZZ;
  o.strip = strip != UINT64_MAX ? (int32_t)strip + 1 : 0;
  cay_status status = cay_ws_apply_patch(s, (cay_slice){ patch, len }, &o, &err);
  cay_ws_session_free(s);
  return ws_done(c, status, &err);
}

/* ---- lists ---- */

typedef struct ws_lister {
  call *c;
  yyjson_mut_val *list;
  bool fine;
} ws_lister;

static bool ws_lister_begin(call *c, const char *name, ws_lister *l) {
  *l = (ws_lister){ c, yyjson_mut_obj_add_arr(c->doc, c->result, name), true };
  if (l->list == NULL) fail_memory(c);
  return l->list != NULL;
}

static enum answer ws_lister_end(ws_lister *l, cay_status status, const cay_ws_error *err) {
  if (status != CAY_OK) return ws_refuse(l->c, err);
  return l->fine ? ANSWER_RESULT : fail_memory(l->c);
}

static bool ws_put_entry(void *ctx, const char *name, const cay_stat *stat) {
  static const char *const kinds[] = { "file", "directory", "link", "other" };
  ws_lister *l = ctx;
  yyjson_mut_val *one = yyjson_mut_arr_add_obj(l->c->doc, l->list);
  return l->fine = one != NULL && put_file_name(l->c->doc, one, "name", name, strlen(name)) &&
                   yyjson_mut_obj_add_str(l->c->doc, one, "type", kinds[stat->kind]) &&
                   yyjson_mut_obj_add_uint(l->c->doc, one, "size", stat->len);
}

static enum answer ws_list_dir(call *c) {
  const char *path = ".";
  cay_ws_session *s = NULL;
  cay_ws_error err;
  ws_lister l;
  if (!param_text(c, "path", false, &path) || !ws_lister_begin(c, "entries", &l) || !ws_begin(c, &s))
    return ANSWER_ERROR;
  cay_status status = cay_ws_list_dir(s, path, ws_put_entry, &l, &err);
  cay_ws_session_free(s);
  return ws_lister_end(&l, status, &err);
}

static bool ws_put_session(void *ctx, const cay_ws_session_info *info) {
  ws_lister *l = ctx;
  yyjson_mut_val *one = yyjson_mut_arr_add_obj(l->c->doc, l->list);
  return l->fine = one != NULL && yyjson_mut_obj_add_strcpy(l->c->doc, one, "handle", info->handle) &&
                   yyjson_mut_obj_add_str(l->c->doc, one, "state", cay_ws_state_name(info->state)) &&
                   yyjson_mut_obj_add_int(l->c->doc, one, "createdMs", info->created_ns / 1000000);
}

static enum answer ws_sessions(call *c) {
  cay_ws_error err;
  ws_lister l;
  if (!ws_lister_begin(c, "sessions", &l)) return ANSWER_ERROR;
  return ws_lister_end(&l, cay_ws_sessions(c->server->workspaces, ws_put_session, &l, &err), &err);
}

static bool ws_put_snapshot(void *ctx, const cay_ws_snapshot_info *info) {
  ws_lister *l = ctx;
  yyjson_mut_val *one = yyjson_mut_arr_add_obj(l->c->doc, l->list);
  return l->fine = one != NULL && yyjson_mut_obj_add_strcpy(l->c->doc, one, "id", info->id) &&
                   yyjson_mut_obj_add_strcpy(l->c->doc, one, "handle", info->handle) &&
                   yyjson_mut_obj_add_int(l->c->doc, one, "createdMs", info->created_ns / 1000000) &&
                   yyjson_mut_obj_add_uint(l->c->doc, one, "files", info->files) &&
                   yyjson_mut_obj_add_uint(l->c->doc, one, "bytes", info->len);
}

static enum answer ws_snapshots(call *c) {
  cay_ws_error err;
  ws_lister l;
  if (!ws_lister_begin(c, "snapshots", &l)) return ANSWER_ERROR;
  return ws_lister_end(&l, cay_ws_snapshots(c->server->workspaces, ws_put_snapshot, &l, &err), &err);
}

/* ---- care of the store ---- */

static enum answer ws_prune(call *c) {
  uint64_t keep = 0, age = 0;
  size_t removed = 0;
  cay_ws_error err;
  if (!param_number(c, "keep", 1, UINT32_MAX, &keep) || !param_number(c, "maxAgeMs", 1, INT64_MAX, &age))
    return ANSWER_ERROR;
  cay_ws_retention rules = CAY_INIT(cay_ws_retention, .keep = (uint32_t)keep, .max_age_ms = age);
  if (cay_ws_prune(c->server->workspaces, &rules, &removed, &err) != CAY_OK) return ws_refuse(c, &err);
  return yyjson_mut_obj_add_uint(c->doc, c->result, "removed", removed) ? ANSWER_RESULT : fail_memory(c);
}

static void ws_put_problem(void *ctx, const char *line) {
  ws_lister *l = ctx;
  l->fine = l->fine && yyjson_mut_arr_add_strcpy(l->c->doc, l->list, line);
}

static enum answer ws_fsck(call *c) {
  bool repair = false;
  size_t count = 0;
  cay_ws_error err;
  ws_lister l;
  if (!param_bool(c, "repair", &repair) || !ws_lister_begin(c, "problems", &l)) return ANSWER_ERROR;
  return ws_lister_end(&l, cay_ws_fsck(c->server->workspaces, repair, ws_put_problem, &l, &count, &err),
                       &err);
}

#define WS_LATER(name)                                                                                       \
  enum answer rpc_ws_##name(call *c) { return ws_later(c, ws_##name); }
WS_LATER(provision)
WS_LATER(start)
WS_LATER(read)
WS_LATER(write)
WS_LATER(list_dir)
WS_LATER(patch)
WS_LATER(snapshot)
WS_LATER(resume)
WS_LATER(stop)
WS_LATER(park)
WS_LATER(sessions)
WS_LATER(snapshots)
WS_LATER(delete)
WS_LATER(prune)
WS_LATER(fsck)

#define WS_LATER_PROCESS(name)                                                                               \
  enum answer rpc_ws_##name(call *c) { return ws_later(c, serve_ws_##name); }
WS_LATER_PROCESS(exec)
WS_LATER_PROCESS(spawn)
WS_LATER_PROCESS(wait)
WS_LATER_PROCESS(input)
WS_LATER_PROCESS(signal)
WS_LATER_PROCESS(kill)
WS_LATER_PROCESS(forget)
