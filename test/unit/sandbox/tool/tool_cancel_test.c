/* tool_cancel_test.c - a call that is cancelled ends, whatever it is doing; each here would take ten minutes.
 */
#include "tools.h"

#include "base/clock.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>

enum { SOON_MS = 5000 };

/* Everything, and ten minutes for it; `more` is further members of the sandbox. */
#define CONFIG(more)                                                                                         \
  "{\"tools\":{\"settings\":{\"sandbox\":{" more "\"tools\":{\"t\":{\"wasm\":{\"timeout_ms\":600000},"       \
  "\"capabilities\":{\"allow\":[\"secrets.get\",\"http.*\",\"mcp.*\",\"clock.*\"]}}}}}}}"

#define LOOPS "(module " TOOL_PARTS TOOL_EXECUTE("(loop (br 0)) unreachable") ")"

typedef struct raising {
  cay_tool_cancel *cancel;
  int after_ms;
} raising;

static void *raise_later(void *ctx) {
  const raising *r = ctx;
  (void)poll(NULL, 0, r->after_ms);
  cay_tool_cancel_raise(r->cancel);
  return NULL;
}

/* The code of a call that is cancelled 50 ms after it began; fails when that takes long. */
static const char *cancelled(bench *b, const char *input) {
  raising r = { .after_ms = 50 };
  pthread_t thread;
  EXPECT_EQ(cay_tool_cancel_new(&r.cancel, NULL), CAY_OK);
  EXPECT_EQ(pthread_create(&thread, NULL, raise_later, &r), 0);
  int64_t start = clock_mono_ns();
  const char *code = use_with(b, "t", input, (cay_tool_call_options){ .cancel = r.cancel });
  EXPECT(clock_mono_ns() - start < SOON_MS * NS_PER_MS);
  EXPECT_EQ(pthread_join(thread, NULL), 0);
  EXPECT_TEXT(use_with(b, "t", "{}", (cay_tool_call_options){ .cancel = r.cancel }), "cancelled");
  cay_tool_cancel_free(r.cancel);
  return code;
}

static void open_mirror(bench *b, const char *config) {
  bench_init(b);
  bench_put(b, "t", TOOL_MIRROR);
  bench_open(b, (cay_tools_options){ 0 }, config);
}

/* A socket that is connected to and never answers. */
static int silent_server(unsigned *port) {
  struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  socklen_t len = sizeof at;
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT(fd >= 0);
  EXPECT_EQ(bind(fd, (const struct sockaddr *)&at, sizeof at), 0);
  EXPECT_EQ(listen(fd, 16), 0);
  EXPECT_EQ(getsockname(fd, (struct sockaddr *)&at, &len), 0);
  *port = ntohs(at.sin_port);
  return fd;
}

TEST(a_guest_that_computes_is_stopped_and_the_next_call_works) {
  bench b;
  bench_init(&b);
  bench_put(&b, "t", LOOPS);
  bench_put(&b, "echo", TOOL_MIRROR);
  bench_open(&b, (cay_tools_options){ 0 }, CONFIG(""));
  for (int i = 0; i < 3; i++) EXPECT_TEXT(cancelled(&b, "{}"), "cancelled");
  EXPECT_TEXT(use(&b, "echo", "{}"), "ok");
  bench_close(&b);
}

TEST(one_wish_ends_many_calls) {
  bench b;
  bench_init(&b);
  bench_put(&b, "t", LOOPS);
  bench_open(&b, (cay_tools_options){ 0 }, CONFIG(""));
  raising r = { .after_ms = 50 };
  pthread_t thread;
  EXPECT_EQ(cay_tool_cancel_new(&r.cancel, NULL), CAY_OK);
  EXPECT_EQ(pthread_create(&thread, NULL, raise_later, &r), 0);
  for (int i = 0; i < 2; i++)
    EXPECT_TEXT(use_with(&b, "t", "{}", (cay_tool_call_options){ .cancel = r.cancel }), "cancelled");
  EXPECT_EQ(pthread_join(thread, NULL), 0);
  cay_tool_cancel_free(r.cancel);
  cay_tool_cancel_raise(NULL);
  cay_tool_cancel_free(NULL);
  bench_close(&b);
}

TEST(nothing_is_done_for_a_call_that_was_cancelled_before) {
  bench b;
  char audit[400], line[2048] = "";
  cay_tool_cancel *cancel = NULL;
  bench_init(&b);
  bench_put(&b, "t", TOOL_MIRROR);
  (void)snprintf(audit, sizeof audit, "%s", bench_path(&b, "a.log"));
  bench_open(&b, (cay_tools_options){ .audit = audit }, CONFIG(""));
  EXPECT_EQ(cay_tool_cancel_new(&cancel, NULL), CAY_OK);
  EXPECT_TEXT(use_with(&b, "t", ASK("clock.now_unix", "{}"), (cay_tool_call_options){ .cancel = cancel }),
              "ok");
  cay_tool_cancel_raise(cancel);
  EXPECT_TEXT(use_with(&b, "t", ASK("clock.now_unix", "{}"), (cay_tool_call_options){ .cancel = cancel }),
              "cancelled");
  EXPECT_TEXT(b.text, "{\"status\":\"error\",\"code\":\"cancelled\",\"error\":\"cancelled before it was "
                      "called\"}");
  cay_tool_cancel_free(cancel);
  bench_close(&b);
  FILE *file = fopen(audit, "re");
  EXPECT(file != NULL);
  int lines = 0;
  for (char one[2048]; fgets(one, sizeof one, file) != NULL; lines++)
    (void)snprintf(line, sizeof line, "%s", one);
  (void)fclose(file);
  EXPECT_EQ(lines, 3); /* a decision, its outcome, and that one was cancelled */
  EXPECT(strstr(line, "\"decision\":\"error\",\"capability\":\"\",\"code\":\"cancelled\"") != NULL);
}

TEST(a_command_of_a_secret_is_ended) {
  bench b;
  open_mirror(
      &b, CONFIG("\"secrets\":{\"providers\":[{\"type\":\"command\",\"command\":[\"sleep\",\"600\"]}]},"));
  EXPECT_TEXT(cancelled(&b, ASK("secrets.get", "{\"name\":\"600\"}")), "cancelled");
  EXPECT(strstr(b.text, "cancelled") != NULL);
  bench_close(&b);
  /* One that has closed its output and goes on. */
  open_mirror(
      &b,
      CONFIG(
          "\"secrets\":{\"providers\":[{\"type\":\"command\",\"command\":[\"sh\",\"-c\",\"exec >&-; sleep 600\"]}]},"));
  EXPECT_TEXT(cancelled(&b, ASK("secrets.get", "{\"name\":\"a\"}")), "cancelled");
  bench_close(&b);
}

TEST(processes_of_a_secret_command_end_with_it) {
  bench b;
  char config[2048];
  int pid = 0;
  bench_init(&b);
  bench_put(&b, "t", TOOL_MIRROR);
  const char *path = bench_path(&b, "pid");
  (void)snprintf(config, sizeof config,
                 CONFIG("\"secrets\":{\"providers\":[{\"type\":\"command\",\"command\":[\"sh\",\"-c\","
                        "\"sleep 600 & echo $! > %s; wait\"]}]},"),
                 path);
  bench_open(&b, (cay_tools_options){ 0 }, config);
  EXPECT_TEXT(cancelled(&b, ASK("secrets.get", "{\"name\":\"a\"}")), "cancelled");
  bench_close(&b);
  FILE *file = fopen(path, "re");
  if (file == NULL) return; /* it had not begun */
  EXPECT_EQ(fscanf(file, "%d", &pid), 1);
  (void)fclose(file);
  int64_t until = clock_mono_ns() + SOON_MS * NS_PER_MS;
  char state[64] = "";
  do { /* its parent is not we: it may stay a zombie for a while */
    char name[64];
    (void)snprintf(name, sizeof name, "/proc/%d/stat", pid);
    file = fopen(name, "re");
    if (file == NULL) return;
    if (fgets(state, sizeof state, file) == NULL) state[0] = '\0';
    (void)fclose(file);
    if (strstr(state, ") Z") != NULL) return;
    (void)poll(NULL, 0, 5);
  } while (clock_mono_ns() < until);
  EXPECT_TEXT(state, "gone");
}

TEST(a_command_of_a_secret_has_no_more_time_than_the_call) {
  bench b;
  open_mirror(
      &b, CONFIG("\"secrets\":{\"providers\":[{\"type\":\"command\",\"command\":[\"sleep\",\"600\"]}]},"));
  int64_t start = clock_mono_ns();
  EXPECT_TEXT(use_with(&b, "t", ASK("secrets.get", "{\"name\":\"600\"}"),
                       (cay_tool_call_options){ .timeout_ms = 100 }),
              "internal");
  EXPECT(clock_mono_ns() - start < SOON_MS * NS_PER_MS);
  bench_close(&b);
}

TEST(a_request_that_is_not_answered_is_ended) {
  bench b;
  unsigned port;
  char ask[400];
  int server = silent_server(&port);
  open_mirror(&b, CONFIG("\"network\":{\"rules\":[{\"action\":\"allow\",\"cidr\":\"127.0.0.1\"}]},"));
  (void)snprintf(ask, sizeof ask, ASK("http.request", "{\"url\":\"http://127.0.0.1:%u/\"}"), port);
  EXPECT_TEXT(cancelled(&b, ask), "cancelled");
  bench_close(&b);
  (void)close(server);
}

TEST(a_server_of_mcp_that_does_not_answer_is_ended) {
  bench b;
  open_mirror(&b, CONFIG("\"mcp\":{\"servers\":{\"s\":{\"command\":\"sleep\",\"args\":[\"600\"]}}},"));
  EXPECT_TEXT(cancelled(&b, ASK("mcp.list_tools", "{}")), "cancelled");
  EXPECT_TEXT(cancelled(&b, ASK("mcp.call", "{\"server\":\"s\",\"tool\":\"x\"}")), "cancelled");
  bench_close(&b);
  /* One that talks without end and says nothing. */
  open_mirror(&b, CONFIG("\"mcp\":{\"servers\":{\"s\":{\"command\":\"yes\",\"args\":[\"{}\"]}}},"));
  EXPECT_TEXT(cancelled(&b, ASK("mcp.list_tools", "{\"server\":\"s\"}")), "cancelled");
  bench_close(&b);
}

static void *call_mcp(void *ctx) {
  bench *b = ctx;
  cay_tool_result *r = NULL;
  static const char input[] = ASK("mcp.list_tools", "{\"server\":\"s\"}");
  if (cay_tool_call(b->tools, "t", (cay_slice){ input, sizeof input - 1 },
                    &CAY_INIT(cay_tool_call_options, .timeout_ms = 1500), &r, NULL) == CAY_OK)
    cay_tool_result_free(r);
  return NULL;
}

TEST(deadline_ends_wait_for_busy_mcp_server) {
  bench b;
  pthread_t other;
  open_mirror(&b, CONFIG("\"mcp\":{\"servers\":{\"s\":{\"command\":\"sleep\",\"args\":[\"600\"]}}},"));
  EXPECT_EQ(pthread_create(&other, NULL, call_mcp, &b), 0);
  (void)poll(NULL, 0, 100);
  int64_t start = clock_mono_ns();
  EXPECT_TEXT(cancelled(&b, ASK("mcp.list_tools", "{\"server\":\"s\"}")), "cancelled");
  EXPECT(clock_mono_ns() - start < 1200 * NS_PER_MS); /* the other one goes on */
  EXPECT_EQ(pthread_join(other, NULL), 0);
  bench_close(&b);
}
