/* network_test.c - the network of a sandbox as <cay/net.h> promises it: rules, decisions, questions, limits, over sockets
 * of this machine's loopback. */
#include "base/thread.h"
#include "box.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* ---- a server ---- */

/* Greets each client, and keeps the connection until it is stopped. */
typedef struct server {
  int fd;
  uint16_t port;
  pthread_t thread;
} server;

static void server_serve(void *ctx) {
  const server *s = ctx;
  int clients[64];
  size_t n = 0;
  for (int fd; n < 64 && (fd = accept(s->fd, NULL, NULL)) >= 0; clients[n++] = fd) {
    IGNORED(send(fd, "hello\n", 6, MSG_NOSIGNAL)); /* a client may be gone again */
    IGNORED(shutdown(fd, SHUT_WR));
  }
  while (n > 0) (void)close(clients[--n]);
}

static server *server_new(void) {
  server *s = calloc(1, sizeof *s);
  struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  socklen_t len = sizeof at;
  EXPECT(s != NULL);
  s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT(s->fd >= 0 && bind(s->fd, (struct sockaddr *)&at, len) == 0 && listen(s->fd, 64) == 0);
  EXPECT_EQ(getsockname(s->fd, (struct sockaddr *)&at, &len), 0);
  s->port = ntohs(at.sin_port);
  EXPECT_EQ(thread_start("server", 0, server_serve, s, &s->thread, NULL), CAY_OK);
  return s;
}

static void server_free(server *s) {
  EXPECT_EQ(shutdown(s->fd, SHUT_RDWR), 0);
  thread_join(s->thread);
  (void)close(s->fd);
  free(s);
}

/* ---- what the embedder is told ---- */

typedef struct told {
  char event[16], host[64], address[64];
  bool allowed;
  uint16_t port;
  int64_t rule;
} told;

typedef struct ear {
  pthread_mutex_t mu;
  pthread_cond_t more;
  told decisions[64];
  size_t count;
  cay_sandbox *box;
  uint16_t yes; /* the port that `ear_answer` allows */
  uint64_t asked;
} ear;

#define EAR { .mu = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER }

static told told_of(const cay_net_decision *d) {
  told t = { .allowed = d->allowed, .port = d->port, .rule = d->rule };
  (void)snprintf(t.event, sizeof t.event, "%s", d->event);
  (void)snprintf(t.host, sizeof t.host, "%s", d->host);
  (void)snprintf(t.address, sizeof t.address, "%s", d->address);
  return t;
}

static void ear_hear(void *ctx, const cay_net_decision *d) {
  ear *e = ctx;
  pthread_mutex_lock(&e->mu);
  if (e->count < 64) e->decisions[e->count++] = told_of(d);
  pthread_cond_broadcast(&e->more);
  pthread_mutex_unlock(&e->mu);
}

/* e->mu is held. */
static void ear_wait(ear *e) {
  struct timespec late;
  EXPECT_EQ(clock_gettime(CLOCK_REALTIME, &late), 0);
  late.tv_sec += 300;
  EXPECT_EQ(pthread_cond_timedwait(&e->more, &e->mu, &late), 0);
}

/* Waits until a decision of this kind was told, and returns the first one. What never comes ends the test. */
static told ear_await(ear *e, const char *event, const char *host, bool allowed) {
  pthread_mutex_lock(&e->mu);
  for (size_t i = 0;; i++) {
    while (i == e->count) ear_wait(e);
    told t = e->decisions[i];
    if (t.allowed != allowed || strcmp(t.event, event) != 0 || strcmp(t.host, host) != 0) continue;
    pthread_mutex_unlock(&e->mu);
    return t;
  }
}

/* The answer is given before the function returns. */
static void ear_answer(void *ctx, const cay_net_decision *d, uint64_t id) {
  const ear *e = ctx;
  EXPECT_EQ(d->rule, -1);
  EXPECT_EQ(cay_net_answer(e->box, id, d->port == 0 || d->port == e->yes, NULL), CAY_OK);
}

/* The question is kept for another thread. */
static void ear_keep(void *ctx, const cay_net_decision *d, uint64_t id) {
  ear *e = ctx;
  (void)d;
  pthread_mutex_lock(&e->mu);
  e->asked = id;
  pthread_cond_broadcast(&e->more);
  pthread_mutex_unlock(&e->mu);
}

static uint64_t ear_question(ear *e) {
  pthread_mutex_lock(&e->mu);
  while (e->asked == 0) ear_wait(e);
  uint64_t id = e->asked;
  e->asked = 0;
  pthread_mutex_unlock(&e->mu);
  return id;
}

static bool ear_was_asked(ear *e) {
  pthread_mutex_lock(&e->mu);
  bool asked = e->asked != 0;
  pthread_mutex_unlock(&e->mu);
  return asked;
}

static void ear_answer_later(void *ctx) {
  ear *e = ctx;
  for (int i = 0; i < 2; i++) EXPECT_EQ(cay_net_answer(e->box, ear_question(e), i == 0, NULL), CAY_OK);
}

/* ---- sandboxes ---- */

static cay_sandbox *networked(cay_engine *engine, const cay_net_options *net) {
  cay_sandbox *box = NULL;
  cay_error err = { .message = "" };
  if (cay_sandbox_new(engine, &CAY_INIT(cay_sandbox_options, .net = net), &box, &err) != CAY_OK)
    fprintf(stderr, "%s\n", err.message);
  EXPECT(box != NULL);
  return box;
}

/* What bash gets of that server, under the name that it has in the sandbox. */
static void expect_greeting(cay_sandbox *box, const char *host, uint16_t port, const char *out) {
  char command[200];
  cay_result *r = NULL;
  (void)snprintf(command, sizeof command, "exec 3<>/dev/tcp/%s/%u && cat <&3", host, port);
  EXPECT_EQ(cay_run(box, &CAY_INIT(cay_run_options, .command = command), &r, NULL), CAY_OK);
  EXPECT_TEXT((const char *)r->out.data, out);
  EXPECT_EQ(r->end, CAY_END_EXIT);
  EXPECT_EQ(r->code == 0, out[0] != '\0');
  if (out[0] == '\0') EXPECT(strstr((const char *)r->err.data, "Permission denied") != NULL);
  cay_result_free(r);
}

/* "127.0.0.1:PORT", until the next call. */
static const char *loopback(const server *s) {
  static char text[32];
  (void)snprintf(text, sizeof text, "127.0.0.1:%u", s->port);
  return text;
}

static const char *const pinned[] = { "good.test=127.0.0.1", "bad.test=127.0.0.1", NULL };

/* ---- rules ---- */

TEST(rules_decide_in_their_order_and_each_decision_is_told) {
  server *s = server_new();
  ear e = EAR;
  const char *deny[] = { "other.test", "bad.test", NULL }, *allow[] = { "*.test", loopback(s), NULL };
  cay_sandbox *box = networked(box_engine(), &CAY_INIT(cay_net_options, .deny = deny, .allow = allow,
                                                       .hosts = pinned, .decision = ear_hear, .ctx = &e));
  expect_greeting(box, "good.test", s->port, "hello\n");
  expect_greeting(box, "bad.test", s->port, "");
  told t = ear_await(&e, "connect", "good.test", true);
  EXPECT_TEXT(t.address, "127.0.0.1");
  EXPECT_EQ(t.port, s->port);
  EXPECT_EQ(t.rule, 3);
  EXPECT_EQ(ear_await(&e, "connect", "bad.test", false).rule, 1);
  cay_sandbox_free(box);
  server_free(s);
}

TEST(rules_in_json_come_behind_the_words) {
  server *s = server_new();
  ear e = EAR;
  char rules[200];
  (void)snprintf(
      rules, sizeof rules,
      "[{\"action\":\"deny\",\"host\":\"bad.test\"},{\"action\":\"allow\",\"host\":\"*.test\",\"cidr\":"
      "\"127.0.0.0/8\",\"port\":%u}]",
      s->port);
  const char *deny[] = { "elsewhere.test", NULL };
  cay_sandbox *box = networked(box_engine(), &CAY_INIT(cay_net_options, .deny = deny, .rules = rules,
                                                       .hosts = pinned, .decision = ear_hear, .ctx = &e));
  expect_greeting(box, "bad.test", s->port, "");
  EXPECT_EQ(ear_await(&e, "connect", "bad.test", false).rule, 1);
  cay_sandbox_free(box);
  server_free(s);
}

TEST(without_options_the_network_is_off) {
  cay_sandbox *box = box_new();
  cay_result *r = NULL;
  cay_error err;
  cay_net_usage used;
  EXPECT_EQ(cay_run(box, &CAY_INIT(cay_run_options, .command = "exec 3<>/dev/tcp/10.0.0.1/80"), &r, NULL),
            CAY_OK);
  EXPECT(r->code != 0 && strstr((const char *)r->err.data, "etwork") != NULL);
  cay_result_free(r);
  EXPECT_EQ(cay_net_answer(box, 1, true, &err), CAY_INVALID);
  EXPECT(strstr(err.message, "the network is off") != NULL);
  cay_net_usage_get(box, &used);
  EXPECT(used.connections_made == 0 && used.sent == 0 && used.received == 0);
  cay_sandbox_free(box);
}

TEST(options_that_mean_nothing_are_named) {
  static const char *const no_rule[] = { "a b", NULL }, *const no_pin[] = { "a.test", NULL };
  static const char *const host[] = { "a.test", NULL };
  const cay_net_secret nameless = CAY_INIT(cay_net_secret, .name = "a-b", .value = "12345678", .hosts = host);
  const struct {
    cay_net_options net;
    const char *words;
  } table[] = {
    { { .preset = "everything" }, "preset" },
    { { .allow = no_rule }, "a b" },
    { { .deny = no_rule }, "a b" },
    { { .rules = "x" }, "no JSON" },
    { { .rules = "[{\"action\":\"alow\"}]" }, "allow or deny" },
    { { .allow = host, .hosts = no_pin }, "NAME=ADDRESS" },
    { { .allow = host, .record = "/nonexistent/a", .replay = "/nonexistent/b" }, "exclude" },
    { { .allow = host, .secrets = (const cay_net_secret *const[]){ &nameless, NULL } }, "a-b" },
    { { .allow = host, .ca_file = "/nonexistent/ca.pem" }, "ca_file" },
  };
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
    cay_net_options net = table[i].net;
    cay_sandbox *box = NULL;
    cay_error err = { .message = "" };
    net.size = sizeof net;
    EXPECT(cay_sandbox_new(box_engine(), &CAY_INIT(cay_sandbox_options, .net = &net), &box, &err) != CAY_OK);
    if (strstr(err.message, table[i].words) == NULL) EXPECT_TEXT(err.message, table[i].words);
    EXPECT(box == NULL);
  }
}

/* ---- questions ---- */

TEST(a_function_decides_where_no_rule_does) {
  server *yes = server_new(), *no = server_new();
  ear e = EAR;
  e.yes = yes->port;
  e.box = networked(box_engine(), &CAY_INIT(cay_net_options, .hosts = pinned, .ask = ear_answer,
                                            .decision = ear_hear, .ctx = &e));
  expect_greeting(e.box, "good.test", yes->port, "hello\n");
  expect_greeting(e.box, "good.test", no->port, "");
  EXPECT_EQ(ear_await(&e, "connect", "good.test", true).port, yes->port);
  EXPECT_EQ(ear_await(&e, "connect", "good.test", false).port, no->port);
  cay_sandbox_free(e.box);
  server_free(yes);
  server_free(no);
}

TEST(another_thread_may_answer) {
  server *s = server_new();
  ear e = EAR;
  pthread_t thread;
  e.box = networked(box_engine(), &CAY_INIT(cay_net_options, .hosts = pinned, .ask = ear_keep, .ctx = &e));
  EXPECT_EQ(thread_start("answers", 0, ear_answer_later, &e, &thread, NULL), CAY_OK);
  expect_greeting(e.box, "good.test", s->port, "hello\n");
  expect_greeting(e.box, "good.test", s->port, "");
  thread_join(thread);
  cay_sandbox_free(e.box);
  server_free(s);
}

TEST(who_waits_for_an_answer_has_its_deadline) {
  server *s = server_new();
  ear e = EAR;
  char command[100];
  cay_result *r = NULL;
  e.box = networked(box_engine(), &CAY_INIT(cay_net_options, .hosts = pinned, .ask = ear_keep, .ctx = &e));
  (void)snprintf(command, sizeof command, "exec 3<>/dev/tcp/good.test/%u", s->port);
  do { /* on a machine with much to do bash may not come to its question in that time */
    EXPECT_EQ(cay_run(e.box, &CAY_INIT(cay_run_options, .command = command, .wall_ms = 1000), &r, NULL),
              CAY_OK);
    EXPECT_EQ(r->end, CAY_END_TIME);
    cay_result_free(r);
  } while (!ear_was_asked(&e));
  EXPECT_EQ(cay_net_answer(e.box, ear_question(&e), true, NULL), CAY_OK); /* no guest waits any more */
  cay_net_usage used;
  cay_net_usage_get(e.box, &used);
  EXPECT_EQ(used.received, 0);
  cay_sandbox_free(e.box);
  server_free(s);
}

/* ---- limits ---- */

TEST(bytes_and_connections_are_counted) {
  server *s = server_new();
  const char *allow[] = { loopback(s), NULL };
  cay_net_usage used;
  cay_sandbox *box = networked(box_engine(), &CAY_INIT(cay_net_options, .allow = allow));
  for (int i = 0; i < 3; i++) expect_greeting(box, "host.cay.internal", s->port, "hello\n");
  cay_net_usage_get(box, &used);
  EXPECT_EQ(used.connections_made, 3);
  EXPECT_EQ(used.received, 18);
  EXPECT_EQ(used.sent, 0);
  cay_sandbox_free(box);
  server_free(s);
}

TEST(no_byte_comes_beyond_the_limit) {
  server *s = server_new();
  ear e = EAR;
  cay_result *r = NULL;
  char command[200];
  const char *allow[] = { loopback(s), NULL };
  const cay_net_limits limits = CAY_INIT(cay_net_limits, .received = 9);
  cay_sandbox *box = networked(box_engine(), &CAY_INIT(cay_net_options, .allow = allow, .limits = &limits,
                                                       .decision = ear_hear, .ctx = &e));
  expect_greeting(box, "host.cay.internal", s->port, "hello\n");
  (void)snprintf(command, sizeof command, "exec 3<>/dev/tcp/host.cay.internal/%u; cat <&3", s->port);
  EXPECT_EQ(cay_run(box, &CAY_INIT(cay_run_options, .command = command), &r, NULL), CAY_OK);
  EXPECT(r->code != 0 && r->out.len <= 3);
  cay_result_free(r);
  EXPECT(!ear_await(&e, "limit", "", false).allowed);
  cay_sandbox_free(box);
  server_free(s);
}

/* Opens two connections; the second one must fail. */
static void expect_one_connection(cay_sandbox *box, const server *s) {
  char command[300];
  cay_result *r = NULL;
  (void)snprintf(
      command, sizeof command,
      "exec 3<>/dev/tcp/host.cay.internal/%u && echo one; (exec 4<>/dev/tcp/host.cay.internal/%u) && echo two",
      s->port, s->port);
  EXPECT_EQ(cay_run(box, &CAY_INIT(cay_run_options, .command = command), &r, NULL), CAY_OK);
  EXPECT_TEXT((const char *)r->out.data, "one\n");
  EXPECT(strstr((const char *)r->err.data, "address not available") != NULL ||
         strstr((const char *)r->err.data, "assign requested address") != NULL);
  cay_result_free(r);
}

TEST(the_engines_limit_holds_for_who_asks_for_more) {
  server *s = server_new();
  cay_engine *engine = NULL;
  const char *allow[] = { loopback(s), NULL };
  const cay_net_limits ceiling = CAY_INIT(cay_net_limits, .connections = 1),
                       more = CAY_INIT(cay_net_limits, .connections = 50);
  const cay_net_limits most = CAY_INIT(cay_net_limits, .connections = UINT32_MAX);
  const cay_net_limits *const wanted[] = { NULL, &more, &most };
  EXPECT_EQ(cay_engine_new(&CAY_INIT(cay_engine_options, .guest_dir = box_guests(), .net_limits = &ceiling),
                           &engine, NULL),
            CAY_OK);
  for (size_t i = 0; i < 3; i++) {
    cay_sandbox *box = networked(engine, &CAY_INIT(cay_net_options, .allow = allow, .limits = wanted[i]));
    expect_one_connection(box, s);
    cay_sandbox_free(box);
  }
  cay_engine_free(engine);
  cay_sandbox *box = networked(box_engine(), &CAY_INIT(cay_net_options, .allow = allow, .limits = &ceiling));
  expect_one_connection(box, s);
  cay_sandbox_free(box);
  server_free(s);
}
