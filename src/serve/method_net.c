/* method_net.c - the network of sandboxes: `net` of create, net.answer, net.publish, net.usage. */
#include "base/alloc.h"
#include "base/json.h"
#include "serve/net.h"

#include <stdio.h>
#include <string.h>

method_fn rpc_net_answer, rpc_net_publish, rpc_net_usage;

/* ---- the member of create ---- */

static bool wanted_rules(call *c, char **out) {
  yyjson_val *rules = yyjson_obj_get(c->params, "rules");
  if (rules == NULL || yyjson_is_null(rules)) return true;
  if (!yyjson_is_arr(rules)) {
    fail(c, RPC_INVALID_PARAMS, "net.rules: must be an array of rules");
    return false;
  }
  *out = yyjson_val_write_opts(rules, 0, &JSON_ALLOC, NULL, NULL);
  if (*out == NULL) fail_memory(c);
  return *out != NULL;
}

static bool wanted_limits(call *c, cay_net_limits *l) {
  uint64_t connections = 0, connect_ms = 0, idle_ms = 0;
  *l = CAY_INIT(cay_net_limits);
  bool fine = param_number(c, "connections", 1, UINT32_MAX, &connections) &&
              param_number(c, "sentBytes", 1, UINT64_MAX / 2, &l->sent) &&
              param_number(c, "receivedBytes", 1, UINT64_MAX / 2, &l->received) &&
              param_number(c, "bytesPerSecond", 1, UINT64_MAX / 2, &l->rate) &&
              param_number(c, "connectTimeoutMs", 1, UINT32_MAX, &connect_ms) &&
              param_number(c, "idleTimeoutMs", 1, UINT32_MAX, &idle_ms);
  l->connections = (uint32_t)connections;
  l->connect_ms = (uint32_t)connect_ms;
  l->idle_ms = (uint32_t)idle_ms;
  return fine;
}

/* A condition that is not understood must not be left out. */
static bool members_are_known(call *c, const char *where, const char *const *known, size_t count) {
  yyjson_obj_iter it = yyjson_obj_iter_with(c->params);
  for (yyjson_val *key; (key = yyjson_obj_iter_next(&it)) != NULL;) {
    size_t i = 0;
    while (i < count && !yyjson_equals_str(key, known[i])) i++;
    if (i < count) continue;
    fail(c, RPC_INVALID_PARAMS, "%s: does not know %.60s", where, yyjson_get_str(key));
    return false;
  }
  return true;
}

static bool wanted_is_known(call *c) {
  static const char *const known[] = {
    "preset",        "allow",       "deny",      "rules",         "hosts",          "decisions",
    "ask",           "connections", "sentBytes", "receivedBytes", "bytesPerSecond", "connectTimeoutMs",
    "idleTimeoutMs", "secrets",     "caFile",    "recordFile",    "replayFile",     "cacheFile",
    "crlFile"
  };
  return members_are_known(c, "net", known, COUNT_OF(known));
}

/* ---- secrets ---- */

static bool secret_read(call *c, cay_net_secret *out) {
  static const char *const known[] = { "name", "value", "hosts", "query", "body", "placeholder" };
  const char **hosts = NULL;
  bool query = false, body = false;
  *out = CAY_INIT(cay_net_secret);
  bool fine = members_are_known(c, "net.secrets", known, COUNT_OF(known)) &&
              param_text(c, "name", true, &out->name) && param_text(c, "value", true, &out->value) &&
              param_texts(c, "hosts", &hosts) && param_bool(c, "query", &query) &&
              param_bool(c, "body", &body) && param_text(c, "placeholder", false, &out->placeholder);
  out->hosts = hosts;
  out->places = CAY_SECRET_HEADER | (query ? CAY_SECRET_QUERY : 0U) | (body ? CAY_SECRET_BODY : 0U);
  return fine;
}

static bool wanted_secrets(call *c, net_wanted *out) {
  yyjson_val *array = yyjson_obj_get(c->params, "secrets"), *outer = c->params;
  if (array == NULL || yyjson_is_null(array)) return true;
  if (!yyjson_is_arr(array)) {
    fail(c, RPC_INVALID_PARAMS, "net.secrets: must be an array of objects");
    return false;
  }
  size_t count = yyjson_arr_size(array);
  out->secrets = mem_zalloc_array(count + 1, sizeof *out->secrets);
  out->to_secrets = mem_zalloc_array(count + 1, sizeof *out->to_secrets);
  bool fine = out->secrets != NULL && out->to_secrets != NULL;
  if (!fine) fail_memory(c);
  yyjson_arr_iter it = yyjson_arr_iter_with(array);
  for (yyjson_val *one; fine && (one = yyjson_arr_iter_next(&it)) != NULL; out->secret_count++) {
    c->params = one;
    fine = secret_read(c, &out->secrets[out->secret_count]);
    out->to_secrets[out->secret_count] = &out->secrets[out->secret_count];
  }
  c->params = outer;
  return fine;
}

/* The members of `net` are read as params are. */
bool net_wanted_read(call *c, net_wanted *out) {
  yyjson_val *outer = c->params, *net = yyjson_obj_get(outer, "net");
  *out = (net_wanted){ 0 };
  if (net == NULL || yyjson_is_null(net)) return true;
  if (!yyjson_is_obj(net)) {
    fail(c, RPC_INVALID_PARAMS, "net: must be an object");
    return false;
  }
  out->given = true;
  c->params = net;
  bool fine = wanted_is_known(c) && param_text(c, "preset", false, &out->preset) &&
              param_texts(c, "allow", &out->allow) && param_texts(c, "deny", &out->deny) &&
              wanted_rules(c, &out->rules) && param_env(c, "hosts", &out->hosts) &&
              param_bool(c, "decisions", &out->decisions) && param_bool(c, "ask", &out->ask) &&
              wanted_limits(c, &out->limits) && param_text(c, "caFile", false, &out->ca_file) &&
              param_text(c, "recordFile", false, &out->record) &&
              param_text(c, "replayFile", false, &out->replay) &&
              param_text(c, "cacheFile", false, &out->cache) &&
              param_text(c, "crlFile", false, &out->crl_file) && wanted_secrets(c, out);
  c->params = outer;
  return fine;
}

void net_wanted_free(net_wanted *wanted) {
  mem_free((void *)wanted->allow);
  mem_free((void *)wanted->deny);
  mem_free(wanted->rules);
  param_env_free(wanted->hosts);
  for (size_t i = 0; wanted->secrets != NULL && i <= wanted->secret_count; i++) {
    char *value = (char *)(uintptr_t)wanted->secrets[i].value; /* of the request, which is answered */
    if (value != NULL) explicit_bzero(value, strlen(value));
    mem_free((void *)(uintptr_t)wanted->secrets[i].hosts);
  }
  mem_free(wanted->secrets);
  mem_free(wanted->to_secrets);
}

/* ---- decisions: on the library's network thread ---- */

static bool put_decision(yyjson_mut_doc *doc, yyjson_mut_val *to, const serve_box *box,
                         const cay_net_decision *d) {
  bool named = box->name[0] != '\0', http = d->method != NULL;
  return (!named || yyjson_mut_obj_add_strcpy(doc, to, "sandbox", box->name)) &&
         yyjson_mut_obj_add_strcpy(doc, to, "event", d->event) &&
         yyjson_mut_obj_add_strcpy(doc, to, "host", d->host) &&
         yyjson_mut_obj_add_strcpy(doc, to, "address", d->address) &&
         yyjson_mut_obj_add_uint(doc, to, "port", d->port) &&
         (!http || (yyjson_mut_obj_add_strcpy(doc, to, "method", d->method) &&
                    yyjson_mut_obj_add_strcpy(doc, to, "path", d->path))) &&
         (d->secret == NULL || yyjson_mut_obj_add_strcpy(doc, to, "secret", d->secret)) &&
         yyjson_mut_obj_add_strcpy(doc, to, "reason", d->reason);
}

static void tell_client(const serve_box *box, const char *method, yyjson_mut_doc *doc, yyjson_mut_val *params,
                        bool fine) {
  size_t len = 0;
  char *line = fine ? rpc_notification_line(doc, method, params, &len) : NULL;
  (void)server_send(box->server, NULL, line, len);
  yyjson_mut_doc_free(doc);
}

static void net_on_decision(void *ctx, const cay_net_decision *d) {
  const serve_box *box = ctx;
  yyjson_mut_doc *doc = yyjson_mut_doc_new(&JSON_ALLOC);
  yyjson_mut_val *params = yyjson_mut_obj(doc);
  bool fine = yyjson_mut_obj_add_bool(doc, params, "allowed", d->allowed) &&
              (d->rule < 0 || yyjson_mut_obj_add_int(doc, params, "rule", d->rule)) &&
              put_decision(doc, params, box, d);
  tell_client(box, "net.decision", doc, params, fine);
}

static void net_on_ask(void *ctx, const cay_net_decision *d, uint64_t id) {
  const serve_box *box = ctx;
  yyjson_mut_doc *doc = yyjson_mut_doc_new(&JSON_ALLOC);
  yyjson_mut_val *params = yyjson_mut_obj(doc);
  bool fine = yyjson_mut_obj_add_uint(doc, params, "ask", id) && put_decision(doc, params, box, d);
  tell_client(box, "net.ask", doc, params, fine);
}

cay_net_options net_wanted_options(const net_wanted *w, serve_box *box) {
  return CAY_INIT(cay_net_options, .preset = w->preset, .allow = w->allow, .deny = w->deny, .rules = w->rules,
                  .hosts = (const char *const *)w->hosts, .limits = &w->limits,
                  .decision = w->decisions ? net_on_decision : NULL, .ask = w->ask ? net_on_ask : NULL,
                  .ctx = box, .secrets = w->to_secrets, .ca_file = w->ca_file, .record = w->record,
                  .replay = w->replay, .cache = w->cache, .crl_file = w->crl_file);
}

/* ---- methods ---- */

enum answer rpc_net_answer(call *c) {
  uint64_t id = 0;
  bool allow = false;
  cay_error err;
  if (!param_number(c, "ask", 1, UINT64_MAX, &id) || !param_bool(c, "allow", &allow)) return ANSWER_ERROR;
  if (id == 0) return fail(c, RPC_INVALID_PARAMS, "ask: is missing");
  return answer_done(c, cay_net_answer(c->box->sandbox, id, allow, &err), &err);
}

enum answer rpc_net_publish(call *c) {
  uint64_t port = 0;
  uint16_t bound = 0;
  const char *host = "0";
  cay_error err;
  if (!param_number(c, "port", 1, UINT16_MAX, &port) || !param_text(c, "host", false, &host))
    return ANSWER_ERROR;
  if (port == 0) return fail(c, RPC_INVALID_PARAMS, "port: is missing");
  if (cay_sandbox_publish(c->box->sandbox, (uint16_t)port, host, &bound, &err) != CAY_OK)
    return fail_status(c, &err);
  bool fine = bound == 0 || yyjson_mut_obj_add_uint(c->doc, c->result, "hostPort", bound);
  return fine ? ANSWER_RESULT : fail_memory(c);
}

enum answer rpc_net_usage(call *c) {
  cay_net_usage u;
  cay_net_usage_get(c->box->sandbox, &u);
  bool fine = yyjson_mut_obj_add_uint(c->doc, c->result, "connections", u.connections) &&
              yyjson_mut_obj_add_uint(c->doc, c->result, "connectionsMade", u.connections_made) &&
              yyjson_mut_obj_add_uint(c->doc, c->result, "sentBytes", u.sent) &&
              yyjson_mut_obj_add_uint(c->doc, c->result, "receivedBytes", u.received);
  return fine ? ANSWER_RESULT : fail_memory(c);
}
