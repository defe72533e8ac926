/* MCP over the standard input and output of a child process: one message a line. */
#include "tool/capability/net/mcp.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOST_MS = 1000, HASTE_MS = 50, VARIABLES_MAX = REACH_VALUES_MAX + 8 };

/* ---- its environment ---- */

/* What a program cannot do without; keys of this process are not for it. */
static const char *const inherited[] = { "HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TZ", "USER" };

static cay_status mcp_pipe_make_env(mcp_server *s, reach_limit limit, buf *texts, char **out,
                                    cay_error *err) {
  tool_secrets secrets = reach_secrets(s->reach, limit);
  size_t starts[VARIABLES_MAX], count = 0;
  for (size_t i = 0; i < COUNT_OF(inherited); i++) {
    const char *value = getenv(inherited[i]);
    if (value == NULL) continue;
    starts[count++] = texts->len;
    if (buf_appendf(texts, "%s=%s", inherited[i], value) != CAY_OK || buf_append_byte(texts, 0) != CAY_OK)
      return err_no_memory(err);
  }
  for (size_t i = 0; i < s->env.count; i++) {
    starts[count++] = texts->len;
    if (buf_appendf(texts, "%s=", s->env.list[i].name) != CAY_OK) return err_no_memory(err);
    S_TRY(reach_value_get(&secrets, &s->env.list[i], &s->keys, texts, err));
    if (buf_append_byte(texts, 0) != CAY_OK) return err_no_memory(err);
  }
  for (size_t i = 0; i < count; i++) out[i] = (char *)texts->data + starts[i];
  out[count] = NULL;
  return CAY_OK;
}

/* ---- starting ---- */

static int add_files(posix_spawn_file_actions_t *files, const mcp_server *s, const int *theirs) {
  int why = 0;
  for (int i = 0; i < 3 && why == 0; i++) why = posix_spawn_file_actions_adddup2(files, theirs[i], i);
  if (why == 0 && s->cwd != NULL) why = posix_spawn_file_actions_addchdir_np(files, s->cwd);
  return why;
}

static int mcp_pipe_spawn(mcp_server *s, const int *theirs, char **env) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attr;
  sigset_t none, usual;
  sigemptyset(&none); /* threads of the library block signals; the server must not */
  sigemptyset(&usual);
  sigaddset(&usual, SIGPIPE);
  int why = posix_spawn_file_actions_init(&files);
  if (why != 0) return why;
  if ((why = posix_spawnattr_init(&attr)) == 0) {
    (void)posix_spawnattr_setsigmask(&attr, &none);
    (void)posix_spawnattr_setsigdefault(&attr, &usual);
    (void)posix_spawnattr_setpgroup(&attr, 0); /* its children end with it */
    (void)posix_spawnattr_setflags(&attr,
                                   POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    why = add_files(&files, s, theirs);
    if (why == 0)
      why = posix_spawnp(&s->pid, s->argv[0], &files, &attr, (char *const *)(uintptr_t)s->argv, env);
    if (why != 0) s->pid = 0;
    (void)posix_spawnattr_destroy(&attr);
  }
  (void)posix_spawn_file_actions_destroy(&files);
  return why;
}

static void close_fd(int *fd) {
  if (*fd >= 0) (void)close(*fd);
  *fd = -1;
}

static void close_pair(int *pair) {
  close_fd(&pair[0]);
  close_fd(&pair[1]);
}

static cay_status mcp_pipe_start(mcp_server *s, reach_limit limit, cay_error *err) {
  int in[2] = { -1, -1 }, out[2] = { -1, -1 }, errors[2] = { -1, -1 };
  char *env[VARIABLES_MAX + 1];
  buf texts = BUF_INIT(4 << 20);
  reach_keys_wipe(&s->keys);
  cay_status status = mcp_pipe_make_env(s, limit, &texts, env, err);
  if (status == CAY_OK &&
      (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 || pipe2(errors, O_CLOEXEC) != 0))
    status = err_errno(err, errno, "pipe");
  if (status == CAY_OK) {
    int why = mcp_pipe_spawn(s, (int[]){ in[0], out[1], errors[1] }, env);
    if (why != 0) status = err_errno(err, why, "cannot be started");
  }
  tool_secret_wipe(&texts);
  if (status == CAY_OK) {
    s->to = in[1], s->from = out[0], s->errors = errors[0];
    in[1] = out[0] = errors[0] = -1;
    (void)fcntl(s->to, F_SETFL, O_NONBLOCK);
    (void)fcntl(s->from, F_SETFL, O_NONBLOCK);
    (void)fcntl(s->errors, F_SETFL, O_NONBLOCK);
    s->timeouts = 0;
  }
  close_pair(in);
  close_pair(out);
  close_pair(errors);
  return status;
}

/* ---- ending ---- */

static bool gone_within(mcp_server *s, int64_t ms) {
  for (int64_t until = clock_mono_ns() + ms * NS_PER_MS;;) {
    pid_t gone = waitpid(s->pid, NULL, WNOHANG);
    if (gone == s->pid || (gone < 0 && errno == ECHILD)) return true;
    if (clock_mono_ns() >= until) return false;
    (void)poll(NULL, 0, 2);
  }
}

/* The protocol's order: its input is closed, then it is asked to end, then it is ended; and processes it left
 * behind in its process group with it. */
static void end_pipe(mcp_server *s, int64_t grace_ms) {
  close_fd(&s->to);
  if (s->pid != 0 && !gone_within(s, grace_ms)) {
    (void)kill(-s->pid, SIGTERM);
    if (!gone_within(s, grace_ms)) {
      (void)kill(-s->pid, SIGKILL);
      (void)gone_within(s, 10 * LOST_MS);
    }
  }
  if (s->pid != 0) (void)kill(-s->pid, SIGKILL);
  s->pid = 0;
  close_fd(&s->from);
  close_fd(&s->errors);
  buf_clear(&s->in);
  buf_clear(&s->log);
}

/* ---- its error output ---- */

static void log_line(mcp_server *s) {
  char line[1024];
  char *text = (char *)s->log.data;
  reach_hide(&s->keys, text, s->log.len);
  for (size_t i = 0; i < s->log.len; i++)
    if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f) text[i] = ' ';
  size_t len = s->log.len < 900 ? s->log.len : 900;
  len = utf8_valid_len(text, len);
  (void)snprintf(line, sizeof line, "mcp server %.60s: %.*s", s->name, (int)len, text);
  if (s->reach->log != NULL && len > 0) s->reach->log(s->reach->log_ctx, TOOL_LOG_INFO, "mcp", line);
  buf_clear(&s->log);
}

static void read_errors(mcp_server *s) {
  char block[2048];
  ssize_t n = read(s->errors, block, sizeof block);
  if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) close_fd(&s->errors);
  for (ssize_t i = 0; i < n; i++)
    if (block[i] == '\n' || buf_append_byte(&s->log, (uint8_t)block[i]) != CAY_OK) log_line(s);
}

/* ---- one message and its answer ---- */

typedef struct talk {
  mcp_server *s;
  int64_t id;
  reach_limit limit;
  buf out; /* still to be written, from `sent` */
  size_t sent;
  bool input_seen;
  yyjson_doc *answer;
} talk;

/* A write to a server that has gone must not end this process (pipe(7)). */
static ssize_t write_quietly(int fd, const void *data, size_t len) {
  sigset_t pipe_signal, old, pending;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  (void)sigpending(&pending);
  (void)pthread_sigmask(SIG_BLOCK, &pipe_signal, &old);
  ssize_t n = write(fd, data, len);
  int why = errno;
  if (n < 0 && why == EPIPE && !sigismember(&pending, SIGPIPE))
    (void)sigtimedwait(&pipe_signal, NULL, &(struct timespec){ 0 });
  (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
  errno = why;
  return n;
}

static cay_status lost_within(talk *t, int64_t grace_ms, const char *why, cay_error *err) {
  mcp_server *s = t->s;
  while (s->errors >= 0 && poll(&(struct pollfd){ .fd = s->errors, .events = POLLIN }, 1, 50) > 0)
    read_errors(s);
  if (s->log.len > 0) log_line(s);
  s->again = t->sent == 0; /* it has had no byte of this: sending it again cannot do it twice */
  s->ready = false;
  end_pipe(s, grace_ms);
  return err_set(err, CAY_IO, "%s", why);
}

static cay_status lost(talk *t, const char *why, cay_error *err) { return lost_within(t, LOST_MS, why, err); }

static cay_status mcp_pipe_take_line(talk *t, const char *line, size_t len, cay_error *err) {
  OWNED(yyjson_doc_free) yyjson_doc *doc = NULL;
  while (len > 0 && strchr(" \t\r", line[len - 1]) != NULL) len--;
  if (len == 0) return CAY_OK;
  if (reach_parse(&t->s->keys, line, len, &doc, err) != CAY_OK)
    return lost(t, "it wrote a line that is no JSON", err);
  if (mcp_is_answer(doc, t->id, &t->out))
    t->answer = MOVE(doc);
  else if (t->out.len > 0 && t->out.data[t->out.len - 1] != '\n')
    return buf_append_byte(&t->out, '\n') == CAY_OK ? CAY_OK : err_no_memory(err);
  return CAY_OK;
}

static cay_status take_lines(talk *t, cay_error *err) {
  mcp_server *s = t->s;
  size_t start = 0;
  while (t->answer == NULL) {
    const char *text = buf_text(&s->in), *end = memchr(text + start, '\n', s->in.len - start);
    if (end == NULL) break;
    size_t len = (size_t)(end - text) - start;
    cay_status status = mcp_pipe_take_line(t, text + start, len, err);
    if (status != CAY_OK) return status;
    start += len + 1;
  }
  if (start > 0) memmove(s->in.data, s->in.data + start, s->in.len - start);
  s->in.len -= start;
  return CAY_OK;
}

static cay_status mcp_pipe_read_input(talk *t, cay_error *err) {
  char block[16384];
  ssize_t n = read(t->s->from, block, sizeof block);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return CAY_OK;
  if (n <= 0) return lost(t, "it has ended", err);
  t->input_seen = true;
  bool has_end = memchr(block, '\n', (size_t)n) != NULL;
  if (buf_append(&t->s->in, block, (size_t)n) != CAY_OK) return lost(t, "its message is too long", err);
  return has_end ? take_lines(t, err) : CAY_OK;
}

static cay_status write_output(talk *t, cay_error *err) {
  ssize_t n = write_quietly(t->s->to, t->out.data + t->sent, t->out.len - t->sent);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return CAY_OK;
  if (n < 0) return lost(t, "it has ended", err);
  t->sent += (size_t)n;
  return CAY_OK;
}

static cay_status out_of_time(talk *t, cay_error *err) {
  /* Half a line would spoil the next one, and a server that is twice silent is not coming back. */
  bool hopeless = ++t->s->timeouts >= 2 && !t->input_seen;
  if (hopeless || t->sent < t->out.len) IGNORED(lost(t, "", NULL));
  t->s->again = false;
  return err_set(err, CAY_TIMEOUT, "no answer in time");
}

/* The server is told (mcp.c) and may go on with its work; a half line it cannot take. */
static cay_status cancelled(talk *t, cay_error *err) {
  if (t->sent > 0 && t->sent < t->out.len) IGNORED(lost_within(t, HASTE_MS, "", NULL));
  t->s->again = false;
  return err_set(err, CAY_CANCELLED, "cancelled");
}

static cay_status mcp_pipe_step(talk *t, cay_error *err) {
  mcp_server *s = t->s;
  if (cancel_raised(t->limit.stop)) return cancelled(t, err);
  int64_t left = (t->limit.deadline_ns - clock_mono_ns()) / NS_PER_MS;
  if (left <= 0) return out_of_time(t, err);
  struct pollfd fds[4] = { { .fd = s->from, .events = POLLIN },
                           { .fd = s->errors, .events = POLLIN },
                           { .fd = t->sent < t->out.len ? s->to : -1, .events = POLLOUT },
                           { .fd = cancel_fd(t->limit.stop), .events = POLLIN } };
  if (poll(fds, 4, left < 1000 ? (int)left : 1000) < 0 && errno != EINTR)
    return err_errno(err, errno, "poll");
  if (fds[1].revents != 0) read_errors(s);
  if (fds[0].revents != 0) S_TRY(mcp_pipe_read_input(t, err));
  return fds[2].revents != 0 && t->answer == NULL ? write_output(t, err) : CAY_OK;
}

static cay_status send_pipe(mcp_server *s, const buf *message, int64_t id, reach_limit limit,
                            yyjson_doc **answer, cay_error *err) {
  if (s->pid == 0) S_TRY(mcp_pipe_start(s, limit, err));
  talk t = { .s = s, .id = id, .limit = limit, .out = BUF_INIT(2 * MCP_MESSAGE_MAX) };
  cay_status status = CAY_OK;
  if (buf_append(&t.out, message->data, message->len) != CAY_OK || buf_append_byte(&t.out, '\n') != CAY_OK)
    status = err_no_memory(err);
  while (status == CAY_OK && t.answer == NULL && (id != 0 || t.sent < t.out.len))
    status = mcp_pipe_step(&t, err);
  buf_free(&t.out);
  if (t.answer != NULL) s->timeouts = 0, *answer = t.answer;
  return status;
}

const mcp_way MCP_PIPE = { send_pipe, end_pipe };
