/* mcp.c - the MCP client over either transport: configuration, connecting, requests (mcp.h). */
#include "tool/capability/net/mcp.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define NEWEST "2025-11-25"
enum { GRACE_MS = 1000, HASTE_MS = 50, NOTICE_MS = 200 };
static const char *const versions[] = { NEWEST, "2025-06-18", "2025-03-26", "2024-11-05" };

/* ---- configuration ---- */

static cay_status read_command(const reach_place *p, yyjson_val *value, mcp_server *s) {
  reach_place args = reach_below(p, "args"), env = reach_below(p, "env");
  yyjson_val *list = yyjson_obj_get(value, "args");
  size_t count = 1;
  if (list != NULL && (!yyjson_is_arr(list) || yyjson_arr_size(list) > MCP_ARGS_MAX))
    return reach_wrong(&args, "must be an array of at most 64 texts");
  yyjson_arr_iter it = yyjson_arr_iter_with(list);
  for (yyjson_val *one; (one = yyjson_arr_iter_next(&it)) != NULL; count++)
    if ((s->argv[count] = reach_text_of(one)) == NULL) return reach_wrong(&args, "must be an array of texts");
  S_TRY(reach_text(p, value, "cwd", &s->cwd));
  S_TRY(reach_values_read(&env, yyjson_obj_get(value, "env"), &s->env));
  for (size_t i = 0; i < s->env.count; i++)
    if (strchr(s->env.list[i].name, '=') != NULL) return reach_wrong(&env, "a name has no '='");
  s->way = &MCP_PIPE;
  return CAY_OK;
}

static cay_status read_server(const reach_place *p, yyjson_val *value, mcp_server *s) {
  static const char *const known[] = { "command", "args",  "env",        "cwd",     "url", "headers",
                                       "key",     "tools", "timeout_ms", "ca_file", NULL };
  reach_place tools = reach_below(p, "tools");
  if (!yyjson_is_obj(value)) return reach_wrong(p, "must be an object");
  S_TRY(reach_object(p, value, known));
  S_TRY(reach_text(p, value, "command", &s->argv[0]));
  S_TRY(reach_endpoint_read(p, value, &s->endpoint));
  s->timeout_ms = s->endpoint.timeout_ms;
  s->tools = yyjson_obj_get(value, "tools");
  if (s->tools != NULL && !yyjson_is_arr(s->tools)) return reach_wrong(&tools, "must be an array of names");
  if ((s->argv[0] != NULL) == s->endpoint.there) return reach_wrong(p, "must have either command or url");
  s->way = &MCP_WEB;
  return s->argv[0] != NULL ? read_command(p, value, s) : CAY_OK;
}

cay_status mcp_server_read(const tool_reach *reach, const reach_place *p, const char *name, yyjson_val *value,
                           mcp_server **out, cay_error *err) {
  mcp_server *s = mem_zalloc(sizeof *s);
  if (s == NULL) return err_no_memory(err);
  s->reach = reach;
  s->name = name;
  s->to = s->from = s->errors = -1;
  s->in.max = MCP_MESSAGE_MAX;
  s->log.max = 8192;
  pthread_mutex_init(&s->mu, NULL);
  clock_cond_init(&s->freed);
  cay_status status = read_server(p, value, s);
  if (status == CAY_OK)
    *out = s;
  else
    mcp_server_free(s);
  return status;
}

void mcp_server_free(mcp_server *server) {
  if (server == NULL) return;
  if (server->way != NULL) server->way->end(server, GRACE_MS);
  reach_keys_wipe(&server->keys);
  buf_free(&server->in);
  buf_free(&server->log);
  pthread_cond_destroy(&server->freed);
  pthread_mutex_destroy(&server->mu);
  mem_free(server);
}

/* ---- messages ---- */

/* `id` 0: a notification. */
static cay_status write_message(yyjson_mut_doc *doc, const char *method, yyjson_mut_val *params, int64_t id,
                                buf *out, cay_error *err) {
  yyjson_mut_val *root = yyjson_mut_obj(doc);
  bool fine = root != NULL && yyjson_mut_obj_add_str(doc, root, "jsonrpc", "2.0") &&
              (id == 0 || yyjson_mut_obj_add_int(doc, root, "id", id)) &&
              yyjson_mut_obj_add_str(doc, root, "method", method) &&
              (params == NULL || yyjson_mut_obj_add_val(doc, root, "params", params));
  if (!fine) return err_no_memory(err);
  yyjson_mut_doc_set_root(doc, root);
  return tool_json_write(doc, out, err);
}

static cay_status mcp_notify(mcp_server *s, const char *method, int64_t cancelled, reach_limit limit,
                             cay_error *err) {
  OWNED(yyjson_mut_doc_free) yyjson_mut_doc *doc = yyjson_mut_doc_new(&JSON_ALLOC);
  OWNED(buf_free) buf message = BUF_INIT(4096);
  if (doc == NULL) return err_no_memory(err);
  yyjson_mut_val *params = cancelled != 0 ? yyjson_mut_obj(doc) : NULL;
  if (cancelled != 0 && !yyjson_mut_obj_add_int(doc, params, "requestId", cancelled))
    return err_no_memory(err);
  S_TRY(write_message(doc, method, params, 0, &message, err));
  return s->way->send(s, &message, 0, limit, NULL, err);
}

bool mcp_is_answer(yyjson_doc *message, int64_t id, buf *reply) {
  yyjson_val *root = yyjson_doc_get_root(message), *its_id = yyjson_obj_get(root, "id");
  yyjson_val *method = yyjson_obj_get(root, "method");
  if (method == NULL) return id != 0 && yyjson_is_int(its_id) && yyjson_get_sint(its_id) == id;
  if (its_id == NULL || (!yyjson_is_int(its_id) && !yyjson_is_str(its_id))) return false; /* a notification */
  char *text = yyjson_val_write_opts(its_id, 0, &JSON_ALLOC, NULL, NULL);
  /* A request that does not fit gets no answer: the server's own limit ends its waiting. */
  if (text != NULL && strlen(text) < 200)
    IGNORED(buf_appendf(reply, "{\"jsonrpc\":\"2.0\",\"id\":%s,%s}", text,
                        yyjson_equals_str(method, "ping")
                            ? "\"result\":{}"
                            : "\"error\":{\"code\":-32601,\"message\":\"not offered by this client\"}"));
  mem_free(text);
  return false;
}

static cay_status check_answer(const mcp_server *s, yyjson_doc *answer, cay_error *err) {
  enum { INVALID_PARAMS = -32602 };
  yyjson_val *root = yyjson_doc_get_root(answer), *error = yyjson_obj_get(root, "error");
  if (yyjson_is_obj(yyjson_obj_get(root, "result"))) return CAY_OK;
  const char *message = yyjson_get_str(yyjson_obj_get(error, "message"));
  if (message == NULL) return err_set(err, CAY_CORRUPT, "server %.60s gave no answer of MCP", s->name);
  bool invalid = yyjson_get_sint(yyjson_obj_get(error, "code")) == INVALID_PARAMS;
  return err_set(err, invalid ? CAY_INVALID : CAY_IO, "server %.60s: %.150s", s->name, message);
}

static cay_status mcp_call(mcp_server *s, const char *method, yyjson_mut_doc *doc, yyjson_mut_val *params,
                           reach_limit limit, yyjson_doc **out, cay_error *err) {
  OWNED(buf_free) buf message = BUF_INIT(MCP_MESSAGE_MAX);
  int64_t id = ++s->last_id;
  S_TRY(write_message(doc, method, params, id, &message, err));
  OWNED(yyjson_doc_free) yyjson_doc *answer = NULL;
  cay_status status = s->way->send(s, &message, id, limit, &answer, err);
  if ((status == CAY_TIMEOUT || status == CAY_CANCELLED) &&
      s->ready) { /* the error that counts is the first */
    reach_limit soon = { .deadline_ns = clock_mono_ns() + NOTICE_MS * NS_PER_MS };
    IGNORED(mcp_notify(s, "notifications/cancelled", id, soon, NULL));
  }
  if (status != CAY_OK) return err_prefix(err, status, "server %.60s", s->name);
  S_TRY(check_answer(s, answer, err));
  *out = MOVE(answer);
  return CAY_OK;
}

/* ---- connecting ---- */

static cay_status take_version(mcp_server *s, yyjson_doc *answer, cay_error *err) {
  const char *version =
      reach_text_of(yyjson_obj_get(yyjson_obj_get(yyjson_doc_get_root(answer), "result"), "protocolVersion"));
  for (size_t i = 0; version != NULL && i < COUNT_OF(versions); i++) {
    if (strcmp(version, versions[i]) != 0) continue;
    (void)snprintf(s->version, sizeof s->version, "%s", version);
    return CAY_OK;
  }
  return err_set(err, CAY_UNSUPPORTED, "server %.60s speaks version %.30s, which is not known here", s->name,
                 version != NULL ? version : "(none)");
}

static cay_status connect_to(mcp_server *s, reach_limit limit, cay_error *err) {
  OWNED(yyjson_mut_doc_free) yyjson_mut_doc *doc = yyjson_mut_doc_new(&JSON_ALLOC);
  if (doc == NULL) return err_no_memory(err);
  yyjson_mut_val *params = yyjson_mut_obj(doc), *info = yyjson_mut_obj(doc), *caps = yyjson_mut_obj(doc);
  bool fine = params != NULL && info != NULL && caps != NULL &&
              yyjson_mut_obj_add_str(doc, params, "protocolVersion", NEWEST) &&
              yyjson_mut_obj_add_val(doc, params, "capabilities", caps) &&
              yyjson_mut_obj_add_str(doc, info, "name", "cay") &&
              yyjson_mut_obj_add_str(doc, info, "version", cay_version()) &&
              yyjson_mut_obj_add_val(doc, params, "clientInfo", info);
  if (!fine) return err_no_memory(err);
  OWNED(yyjson_doc_free) yyjson_doc *answer = NULL;
  S_TRY(mcp_call(s, "initialize", doc, params, limit, &answer, err));
  S_TRY(take_version(s, answer, err));
  cay_status status = mcp_notify(s, "notifications/initialized", 0, limit, err);
  if (status != CAY_OK) return err_prefix(err, status, "server %.60s", s->name);
  s->ready = true;
  return CAY_OK;
}

static void mcp_disconnect(mcp_server *s, int64_t grace_ms) {
  s->way->end(s, grace_ms);
  s->ready = false;
  s->version[0] = '\0';
  s->session[0] = '\0';
  reach_keys_wipe(&s->keys);
}

static cay_status mcp_try_once(mcp_server *s, const char *method, yyjson_mut_doc *doc, yyjson_mut_val *params,
                               reach_limit limit, yyjson_doc **out, cay_error *err) {
  s->again = false;
  cay_status status = s->ready ? CAY_OK : connect_to(s, limit, err);
  bool connected = status == CAY_OK;
  if (connected) status = mcp_call(s, method, doc, params, limit, out, err);
  if (!connected) {
    mcp_disconnect(s, cancel_raised(limit.stop) ? HASTE_MS : GRACE_MS);
    s->again = false;
  }
  return status;
}

/* ---- one request at a time ---- */

static void mcp_on_cancel(void *ctx) {
  mcp_server *s = ctx;
  pthread_mutex_lock(&s->mu);
  pthread_cond_broadcast(&s->freed);
  pthread_mutex_unlock(&s->mu);
}

static bool mcp_enter(mcp_server *s, reach_limit limit) {
  struct timespec until = clock_timespec(limit.deadline_ns);
  cancel_watch watch = { .fn = mcp_on_cancel, .ctx = s };
  cancel_add(limit.stop, &watch);
  pthread_mutex_lock(&s->mu);
  while (s->busy && !cancel_raised(limit.stop) && clock_mono_ns() < limit.deadline_ns)
    pthread_cond_timedwait(&s->freed, &s->mu, &until);
  bool entered = !s->busy;
  s->busy = true;
  pthread_mutex_unlock(&s->mu);
  cancel_remove(limit.stop, &watch);
  return entered;
}

static void mcp_leave(mcp_server *s) {
  pthread_mutex_lock(&s->mu);
  s->busy = false;
  pthread_cond_broadcast(&s->freed);
  pthread_mutex_unlock(&s->mu);
}

cay_status mcp_request(mcp_server *s, const char *method, yyjson_mut_doc *doc, yyjson_mut_val *params,
                       bool repeatable, reach_limit limit, yyjson_doc **out, cay_error *err) {
  if (!mcp_enter(s, limit))
    return cancel_raised(limit.stop)
               ? err_set(err, CAY_CANCELLED, "cancelled")
               : err_set(err, CAY_TIMEOUT, "server %.60s is busy with another request", s->name);
  yyjson_mut_val *copy = params != NULL ? yyjson_mut_val_mut_copy(doc, params) : NULL;
  bool was_ready = s->ready;
  cay_status status = mcp_try_once(s, method, doc, params, limit, out, err);
  bool gone = status == CAY_IO && !s->ready;
  if (was_ready && (s->again || (repeatable && gone))) {
    mcp_disconnect(s, GRACE_MS);
    status = mcp_try_once(s, method, doc, copy, limit, out, err);
  }
  mcp_leave(s);
  return status;
}
