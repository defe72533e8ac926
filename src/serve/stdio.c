/* stdio.c - the loop of the JSON-RPC server: a line in, a line out. */
#include "base/alloc.h"
#include "base/error.h"
#include "serve/line.h"
#include "serve/server.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LINE_MAX_DEFAULT = 64 << 20 };

static void log_line(const server *s, cay_log_level level, const char *text) {
  if (s->options.log != NULL) s->options.log(s->options.log_ctx, level, "serve", text);
}

/* ---- answering ---- */

static void send_line(server *s, buf *line, bool fine) {
  if (fine)
    line_write(&s->out, buf_text(line), line->len);
  else
    log_line(s, CAY_LOG_ERROR, "out of memory: an answer was lost");
  buf_free(line);
}

static void send_error(server *s, const rpc_id *id, int code, const char *why) {
  buf line = BUF_INIT(BUF_UNLIMITED);
  send_line(s, &line, rpc_put_error(&line, id, code, why));
}

static void send_result(call *c) {
  buf line = BUF_INIT(BUF_UNLIMITED);
  send_line(c->server, &line, rpc_put_result(&line, c->id, c->result));
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

/* False: the server is to end. */
static bool answer_request(server *s, const rpc_message *m) {
  call c = { .server = s, .id = &m->id, .params = m->params, .result = yyjson_mut_doc_new(NULL) };
  if (c.result == NULL) {
    send_error(s, &m->id, RPC_INTERNAL, "out of memory");
    return true;
  }
  yyjson_mut_doc_set_root(c.result, yyjson_mut_obj(c.result));
  enum answer a = dispatch(&c, m->method);
  if (a == ANSWER_RESULT || a == ANSWER_QUIT) send_result(&c);
  if (a == ANSWER_ERROR) send_error(s, &m->id, c.code, c.why);
  yyjson_mut_doc_free(c.result);
  return a != ANSWER_QUIT;
}

static bool blank(const char *data, size_t len) {
  for (size_t i = 0; i < len; i++)
    if (data[i] != ' ' && data[i] != '\t' && data[i] != '\r') return false;
  return true;
}

/* False: the server is to end. Also the door for tests that have a line and no descriptor. */
bool serve_line(server *s, char *data, size_t len);
bool serve_line(server *s, char *data, size_t len) {
  if (blank(data, len)) return true;
  rpc_message m;
  bool go_on = true;
  rpc_parse(data, len, &m);
  switch (m.kind) {
  case RPC_REQUEST: go_on = answer_request(s, &m); break;
  case RPC_NOTIFICATION: log_line(s, CAY_LOG_WARN, "a notification was ignored: requests need an id"); break;
  case RPC_RESPONSE: log_line(s, CAY_LOG_WARN, "a response that nobody waits for was ignored"); break;
  case RPC_BAD: send_error(s, &m.id, m.code, m.why); break;
  }
  rpc_message_free(&m);
  return go_on;
}

/* ---- the loop ---- */

static cay_status loop(server *s, line_reader *reader, cay_error *err) {
  static const rpc_id nobody = { "null" };
  for (;;) {
    char *data;
    size_t len;
    switch (line_next(reader, &data, &len)) {
    case LINE_READY:
      if (!serve_line(s, data, len)) return CAY_OK;
      break;
    case LINE_TOO_LONG: {
      char why[120];
      snprintf(why, sizeof why, "the line is longer than %zu bytes; it was thrown away", s->options.line_max);
      send_error(s, &nobody, RPC_INVALID_REQUEST, why);
      break;
    }
    case LINE_END: return CAY_OK;
    case LINE_FAILED: return err_set(err, CAY_IO, "cannot read requests");
    case LINE_NO_MEMORY: return err_no_memory(err);
    }
    if (s->out.broken) return CAY_OK;
  }
}

static void server_end(server *s) {
  runs_end(s, NULL);
  LIST_EACH_SAFE (b, &s->boxes, serve_box, in_server) {
    cay_sandbox_free(b->sandbox);
    mem_free(b->name);
    mem_free(b);
  }
  LIST_EACH_SAFE (e, &s->engines, serve_engine, in_server) {
    cay_engine_free(e->engine);
    mem_free(e->guest_dir);
    mem_free(e);
  }
  line_writer_destroy(&s->out);
  pthread_mutex_destroy(&s->mu);
  pthread_cond_destroy(&s->run_ended);
}

/* Readable when the process that started us is gone, even if another one still holds our input open. */
static int watch_parent(void) {
  pid_t parent = getppid();
  return parent > 1 ? (int)syscall(SYS_pidfd_open, parent, 0) : -1;
}

cay_status serve_stdio(const serve_options *options, cay_error *err) {
  server s = { .options = *options };
  if (s.options.line_max == 0) s.options.line_max = LINE_MAX_DEFAULT;
  signal(SIGPIPE, SIG_IGN);
  line_writer_init(&s.out, options->out);
  pthread_mutex_init(&s.mu, NULL);
  pthread_cond_init(&s.run_ended, NULL);
  list_init(&s.engines);
  list_init(&s.boxes);
  list_init(&s.runs);
  int parent = watch_parent();
  line_reader reader;
  line_reader_init(&reader, options->in, parent, s.options.line_max);
  cay_status status = loop(&s, &reader, err);
  server_end(&s);
  line_reader_free(&reader);
  if (parent >= 0) close(parent);
  return status;
}
