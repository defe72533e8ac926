/* server.c - a line in, an answer out; the life of a server. */
#include "serve/client_request.h"
#include "serve/python.h"
#include "serve/snapshot.h"
#include "serve/tool.h"
#include "serve/workspace.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { WAITER_STACK = 256 * 1024, WAITERS_KEPT = 2, WAITER_LINGER_MS = 10000, LAST_WORDS_MS = 1000 };

/* ---- the log ---- */

void server_log(const server *s, cay_log_level level, const char *format, ...) {
  if (s->options.log == NULL) return;
  char line[512];
  va_list args;
  va_start(args, format);
  (void)vsnprintf(line, sizeof line, format, args);
  va_end(args);
  s->options.log(s->options.log_ctx, level, "serve", line);
}

/* ---- answering ---- */

bool server_send(server *s, const rpc_id *about, char *line, size_t len) {
  if (line == NULL) {
    server_log(s, CAY_LOG_ERROR, "out of memory: an answer was lost");
    return true;
  }
  const serve_client *client = s->options.client;
  if (client != NULL) {
    client->line(client->ctx, about, line, len);
    return true;
  }
  bool sent = line_write(&s->out, line, len);
  mem_free(line);
  return sent;
}

void server_send_error(server *s, const rpc_id *id, int code, const char *why) {
  size_t len = 0;
  char *line = rpc_error_line(id, code, why, &len);
  server_send(s, id, line, len);
}

static void send_result(call *c) {
  size_t len = 0;
  char *line = rpc_result_line(c->doc, c->id, c->result, &len);
  if (line != NULL)
    server_send(c->server, c->id, line, len);
  else
    server_send_error(c->server, c->id, RPC_INTERNAL, "out of memory");
}

void server_line_too_long(server *s) {
  char why[120];
  (void)snprintf(why, sizeof why, "the line is longer than %zu bytes; it was thrown away",
                 s->options.line_max);
  server_send_error(s, &RPC_ID_NULL, RPC_INVALID_REQUEST, why);
}

/* ---- one request ---- */

static bool find_box(call *c) {
  const char *name = "";
  if (!param_text(c, "sandbox", false, &name)) return false;
  LIST_EACH (b, &c->server->boxes, serve_box, in_server) {
    if (strcmp(b->name, name) == 0) c->box = b;
  }
  if (c->box != NULL) return true;
  if (name[0] == '\0')
    fail(c, RPC_SANDBOX_ERROR, "ENXIO: there is no sandbox yet: call create first");
  else
    fail(c, RPC_SANDBOX_ERROR, "ENXIO: there is no sandbox of the id \"%.100s\"", name);
  return false;
}

static enum answer dispatch(call *c, const char *name) {
  const method *m = method_find(name);
  if (m == NULL) return fail(c, RPC_METHOD_NOT_FOUND, "method not found: %.100s", name);
  if (m->needs_box && !find_box(c)) return ANSWER_ERROR;
  return m->fn(c);
}

static void end_all(server *s, int wait_ms) {
  runs_end(s, NULL, wait_ms);
  sessions_end(s, NULL);
  snapshot_takes_end(s, NULL);
}

/* False: the server is to end. */
static bool answer_request(server *s, const rpc_message *m) {
  call c = { .server = s,
             .id = &m->id,
             .params = m->params,
             .doc = yyjson_mut_doc_new(&JSON_ALLOC),
             .kept = BUF_INIT(BUF_UNLIMITED) };
  c.result = yyjson_mut_obj(c.doc);
  if (c.result == NULL) {
    yyjson_mut_doc_free(c.doc);
    server_send_error(s, &m->id, RPC_INTERNAL, "out of memory");
    return true;
  }
  server_log(s, CAY_LOG_DEBUG, "%.60s, id %.60s", m->method, m->id.text);
  enum answer a = dispatch(&c, m->method);
  if (a == ANSWER_QUIT) end_all(s, LAST_WORDS_MS);
  if (a == ANSWER_RESULT || a == ANSWER_QUIT) send_result(&c);
  if (a == ANSWER_ERROR) server_send_error(s, &m->id, c.code, c.why);
  yyjson_mut_doc_free(c.doc);
  buf_free(&c.kept);
  return a != ANSWER_QUIT;
}

static bool server_is_blank(const char *data, size_t len) {
  for (size_t i = 0; i < len; i++)
    if (data[i] != ' ' && data[i] != '\t' && data[i] != '\r') return false;
  return true;
}

bool server_line(server *s, const char *data, size_t len) {
  if (server_is_blank(data, len)) return true;
  rpc_message m;
  bool go_on = true;
  rpc_parse(data, len, &m);
  switch (m.kind) {
  case RPC_REQUEST: go_on = answer_request(s, &m); break;
  case RPC_NOTIFICATION:
    server_log(s, CAY_LOG_WARN, "the notification %.60s was ignored: requests need an id", m.method);
    break;
  case RPC_RESPONSE: asks_answer(s, &m); break;
  case RPC_BAD: server_send_error(s, &m.id, m.code, m.why); break;
  }
  rpc_message_free(&m);
  return go_on;
}

/* ---- life ---- */

cay_status server_open(server *s, const serve_options *options, cay_error *err) {
  *s = (server){ .options = *options };
  if (s->options.line_max == 0) s->options.line_max = SERVE_LINE_MAX;
  thread_pool_options waiters = { "cay-wait", WAITER_STACK, WAITERS_KEPT, WAITER_LINGER_MS };
  S_TRY(thread_pool_new(&waiters, &s->waiters, err));
  cay_status status = options->client == NULL ? line_writer_init(&s->out, options->out, err) : CAY_OK;
  if (status != CAY_OK) {
    thread_pool_free(s->waiters);
    return status;
  }
  pthread_mutex_init(&s->mu, NULL);
  clock_cond_init(&s->changed);
  list_init(&s->engines);
  list_init(&s->boxes);
  list_init(&s->snapshots);
  list_init(&s->ws_processes);
  list_init(&s->ws_gone);
  list_init(&s->runs);
  list_init(&s->asks);
  list_init(&s->tool_calls);
  return CAY_OK;
}

static void end_engine(server *s, serve_engine *e) {
  if (s->options.unfinished != NULL && cay_engine_compiling(e->engine) > 0)
    *s->options.unfinished = true;
  else
    engine_free(e);
}

void server_close(server *s) {
  if (s->options.client == NULL) line_writer_end(&s->out, LAST_WORDS_MS);
  end_all(s, -1);
  tools_end(s, true);
  workspaces_end(s);
  thread_pool_free(s->waiters);
  LIST_EACH_SAFE (b, &s->boxes, serve_box, in_server) box_free(b);
  snapshots_free(s);
  LIST_EACH_SAFE (e, &s->engines, serve_engine, in_server) end_engine(s, e);
  if (s->options.client == NULL) line_writer_destroy(&s->out);
  pthread_mutex_destroy(&s->mu);
  pthread_cond_destroy(&s->changed);
}
