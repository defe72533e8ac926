#include "talk.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

enum { PATIENCE_MS = 20000 };

static void note(void *ctx, cay_log_level level, const char *area, const char *line) {
  (void)area;
  talk *t = ctx;
  if (level == CAY_LOG_ERROR && strstr(line, "lost") != NULL) t->lost++;
  if (level == CAY_LOG_WARN && strstr(line, "without a waiting request") != NULL) t->ignored++;
}

void talk_open(talk *t) {
  int ends[2];
  cay_error err;
  (void)signal(SIGPIPE, SIG_IGN);
  memset(t, 0, sizeof *t);
  t->alive = fake_alive();
  EXPECT_EQ(pipe(ends), 0);
  t->replies = ends[0];
  serve_options options = { .in = -1, .out = ends[1], .line_max = 1000, .log = note, .log_ctx = t };
  EXPECT_EQ(server_open(&t->server, &options, &err), CAY_OK);
}

void talk_open_with_sandbox(talk *t) {
  talk_open(t);
  EXPECT_TEXT(ask(t, 0, "create", "{}"), "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"ok\":true}}");
}

void talk_close(talk *t) {
  int out = t->server.options.out;
  server_close(&t->server);
  close(out);
  close(t->replies);
  EXPECT_EQ(fake_alive(), t->alive);
}

void say_line(talk *t, const char *line) { t->goes_on = server_line(&t->server, line, strlen(line)); }

void say(talk *t, int id, const char *method, const char *params) {
  char line[1 << 13];
  int len = snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\",\"params\":%s}", id,
                     method, params);
  EXPECT(len > 0 && (size_t)len < sizeof line);
  say_line(t, line);
}

static bool fill(talk *t, int timeout_ms) {
  struct pollfd p = { .fd = t->replies, .events = POLLIN };
  if (poll(&p, 1, timeout_ms) != 1) return false;
  ssize_t n = read(t->replies, t->held + t->held_len, sizeof t->held - t->held_len);
  if (n <= 0) return false;
  t->held_len += (size_t)n;
  return true;
}

const char *hear(talk *t) {
  char *end;
  while ((end = memchr(t->held, '\n', t->held_len)) == NULL) EXPECT(fill(t, PATIENCE_MS));
  size_t len = (size_t)(end - t->held);
  memcpy(t->line, t->held, len);
  t->line[len] = '\0';
  t->held_len -= len + 1;
  memmove(t->held, end + 1, t->held_len);
  return t->line;
}

const char *ask(talk *t, int id, const char *method, const char *params) {
  say(t, id, method, params);
  return hear(t);
}

bool is_silent(talk *t) { return t->held_len == 0 && !fill(t, 0); }
