/* client_test.c - a client in the same process: lines, values, ends of commands and callbacks come to functions
 * (src/serve/client.h). */
#include "fake_cay.h"
#include "serve/server.h"
#include "test.h"

#include "base/alloc.h"

#include <cay/session.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

typedef struct heard {
  server server;
  serve_client client;
  sem_t came, streamed;
  char text[400];   /* the last answer */
  char output[400]; /* the last notification */
} heard;

static void heard_on_line(void *ctx, const rpc_id *about, char *line, size_t len) {
  heard *h = ctx;
  bool notified = memmem(line, len, "\"method\"", 8) != NULL;
  char *to = notified ? h->output : h->text;
  (void)snprintf(to, sizeof h->text, "line %s: %.*s", about != NULL ? about->text : "-", (int)len - 1, line);
  mem_free(line);
  sem_post(notified ? &h->streamed : &h->came);
}

static void heard_on_value(void *ctx, const rpc_id *about, cay_value *value) {
  heard *h = ctx;
  (void)snprintf(h->text, sizeof h->text, "value %s: %.*s", about->text, (int)value->repr.len,
                 (const char *)value->repr.data);
  cay_value_free(value);
  sem_post(&h->came);
}

static void heard_on_run_end(void *ctx, const rpc_id *about, const serve_run_end *end) {
  heard *h = ctx;
  (void)snprintf(h->text, sizeof h->text, "end %s: %d %.*s", about->text, end->exit_code, (int)end->out.len,
                 (const char *)end->out.data);
  sem_post(&h->came);
}

static void heard_on_callback(void *ctx, const char *sandbox, cay_callback_call *call, const char *name,
                              cay_slice args) {
  char answer[100];
  (void)ctx;
  int len = snprintf(answer, sizeof answer, "\"%s.%s(%zu)\"", sandbox, name, args.len);
  cay_callback_answer(call, (cay_slice){ answer, (size_t)len });
}

static void heard_open(heard *h) {
  cay_error err;
  memset(h, 0, sizeof *h);
  sem_init(&h->came, 0, 0);
  sem_init(&h->streamed, 0, 0);
  h->client = (serve_client){ h, heard_on_line, heard_on_value, heard_on_run_end, heard_on_callback };
  EXPECT_EQ(server_open(&h->server, &(serve_options){ .client = &h->client }, &err), CAY_OK);
}

static const char *heard_ask(heard *h, int id, const char *method, const char *params) {
  char line[400];
  int len = snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\",\"params\":%s}", id,
                     method, params);
  EXPECT(server_line(&h->server, line, (size_t)len));
  sem_wait(&h->came);
  return h->text;
}

TEST(client_in_the_process_gets_values_and_ends_as_structs) {
  heard h;
  int alive = fake_alive();
  heard_open(&h);
  EXPECT_TEXT(heard_ask(&h, 1, "create", "{\"id\":\"a\"}"),
              "line 1: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"ok\":true}}");
  EXPECT_TEXT(heard_ask(&h, 2, "python.eval", "{\"sandbox\":\"a\",\"code\":\"1\"}"), "value 2: 1");
  EXPECT_TEXT(heard_ask(&h, 3, "python.eval", "{\"sandbox\":\"a\",\"code\":\"pool\"}"), "value 3: pool");
  EXPECT_TEXT(heard_ask(&h, 4, "run", "{\"sandbox\":\"a\",\"command\":\"exit 3\"}"), "end 4: 3 ");
  EXPECT_TEXT(heard_ask(&h, 5, "run", "{\"sandbox\":\"a\",\"command\":\"dots 4\"}"), "end 5: 0 ....");
  server_close(&h.server);
  EXPECT_EQ(fake_alive(), alive);
}

TEST(client_in_the_process_answers_callbacks_itself) {
  heard h;
  heard_open(&h);
  (void)heard_ask(&h, 1, "create", "{\"id\":\"a\"}");
  (void)heard_ask(&h, 2, "callbacks.set", "{\"sandbox\":\"a\",\"callbacks\":[{\"name\":\"f\"}]}");
  EXPECT_TEXT(heard_ask(&h, 3, "python.eval", "{\"sandbox\":\"a\",\"code\":\"ask\"}"), "value 3: \"a.f(8)\"");
  server_close(&h.server);
}

TEST(client_in_the_process_hears_refusals_and_streams_as_lines) {
  heard h;
  heard_open(&h);
  (void)heard_ask(&h, 1, "create", "{}");
  EXPECT(strstr(heard_ask(&h, 2, "nothing", "{}"), "line 2: ") == h.text);
  EXPECT(strstr(heard_ask(&h, 3, "python.eval", "{\"code\":\"busy\"}"), "EBUSY") != NULL);
  EXPECT(strstr(heard_ask(&h, 4, "run", "{\"command\":\"dots 2\",\"stream\":true}"), "exitCode") != NULL);
  sem_wait(&h.streamed);
  EXPECT(strstr(h.output, "line 4: ") == h.output);
  server_close(&h.server);
}
