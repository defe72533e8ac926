/* secrets.c - the value of a secret from the environment, a file or a command (secrets.h). */
#include "tool/policy/secrets.h"

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COMMAND_MS = 10000 };

static bool secrets_is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool tool_secret_is_name(const char *name) {
  size_t len = strlen(name);
  if (len == 0 || len > TOOL_SECRET_NAME_MAX || !secrets_is_plain(name[0])) return false;
  for (size_t i = 0; i < len; i++)
    if (!secrets_is_plain(name[i]) && name[i] != '.' && name[i] != '-') return false;
  return true;
}

void tool_secret_wipe(buf *value) {
  if (value->data != NULL) explicit_bzero(value->data, value->cap);
  buf_free(value);
}

static cay_status secrets_append(buf *out, const void *data, size_t len, cay_error *err) {
  cay_status status = buf_append(out, data, len);
  return status == CAY_OK ? status : err_set(err, status, "the secret is too long");
}

static void cut_line_end(buf *out) {
  if (out->len > 0 && out->data[out->len - 1] == '\n') out->len--;
  if (out->len > 0 && out->data[out->len - 1] == '\r') out->len--;
  if (out->data != NULL) out->data[out->len] = '\0';
}

/* Whether there is something to read. */
static cay_status await(int fd, int64_t until_ns, cancel *stop, cay_error *err) {
  struct pollfd fds[2] = { { .fd = fd, .events = POLLIN }, { .fd = cancel_fd(stop), .events = POLLIN } };
  for (;;) {
    int64_t left = (until_ns - clock_mono_ns()) / NS_PER_MS;
    int ready = left > 0 ? poll(fds, 2, (int)left) : 0;
    if (cancel_raised(stop)) return err_set(err, CAY_CANCELLED, "cancelled");
    if (ready > 0) return CAY_OK;
    if (ready == 0 || errno != EINTR) return err_set(err, CAY_IO, "gave no answer in time");
  }
}

/* Reads to the end or until `until_ns` (0: never); the caller closes. */
static cay_status secrets_read_all(int fd, int64_t until_ns, cancel *stop, buf *out, cay_error *err) {
  for (char block[4096];;) {
    if (until_ns != 0) S_TRY(await(fd, until_ns, stop, err));
    ssize_t n = read(fd, block, sizeof block);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return err_errno(err, errno, "cannot be read");
    cay_status status = n > 0 ? secrets_append(out, block, (size_t)n, err) : CAY_OK;
    explicit_bzero(block, sizeof block);
    if (n == 0 || status != CAY_OK) return status;
  }
}

/* ---- providers ---- */

static cay_status from_environment(const tool_secrets *s, const tool_provider *p, const char *name, buf *out,
                                   cay_error *err) {
  (void)s;
  char variable[2 * TOOL_SECRET_NAME_MAX + 2];
  int start = snprintf(variable, sizeof variable, "%s", p->where);
  if (start < 0 || (size_t)start + strlen(name) >= sizeof variable) return CAY_NOT_FOUND;
  char *at = variable + start;
  for (; *name != '\0'; name++)
    *at++ = *name >= 'a' && *name <= 'z' ? (char)(*name - 'a' + 'A') : secrets_is_plain(*name) ? *name : '_';
  *at = '\0';
  const char *value = secure_getenv(variable);
  return value != NULL ? secrets_append(out, value, strlen(value), err) : CAY_NOT_FOUND;
}

static cay_status from_file(const tool_secrets *s, const tool_provider *p, const char *name, buf *out,
                            cay_error *err) {
  (void)s;
  int folder = open(p->where, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return errno == ENOENT ? CAY_NOT_FOUND : err_errno(err, errno, "folder of secrets");
  int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  int why = errno;
  (void)close(folder);
  if (fd < 0) return why == ENOENT ? CAY_NOT_FOUND : err_errno(err, why, "file of the secret");
  struct stat st;
  cay_status status = fstat(fd, &st) == 0 && S_ISREG(st.st_mode)
                          ? secrets_read_all(fd, 0, NULL, out, err)
                          : err_set(err, CAY_IO, "file of the secret: not a regular file");
  (void)close(fd);
  cut_line_end(out);
  return status;
}

static int secrets_start(char *const *argv, int output, pid_t *pid) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attr;
  sigset_t none;
  int why = posix_spawn_file_actions_init(&files);
  if (why != 0) return why;
  if ((why = posix_spawnattr_init(&attr)) == 0) {
    sigemptyset(&none); /* threads of the library block signals; the command must not */
    why = posix_spawnattr_setsigmask(&attr, &none);
    if (why == 0) why = posix_spawnattr_setpgroup(&attr, 0); /* its children end with it */
    if (why == 0) why = posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    if (why == 0) why = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    if (why == 0) why = posix_spawn_file_actions_adddup2(&files, output, 1);
    if (why == 0) why = posix_spawnp(pid, argv[0], &files, &attr, argv, environ);
    (void)posix_spawnattr_destroy(&attr);
  }
  (void)posix_spawn_file_actions_destroy(&files);
  return why;
}

/* The exit code; -1: it was ended by a signal, or by us at the limit. */
static int secrets_end_of(pid_t pid, int64_t until_ns, cancel *stop) {
  int how = 0;
  for (;;) {
    pid_t gone = waitpid(pid, &how, WNOHANG);
    if (gone < 0 && errno != EINTR) return -1;
    if (gone == pid) return WIFEXITED(how) ? WEXITSTATUS(how) : -1;
    if (clock_mono_ns() >= until_ns || cancel_raised(stop)) (void)kill(-pid, SIGKILL);
    (void)poll(NULL, 0, 1); /* it has closed its output: it is about to end */
  }
}

static int64_t until_of(const tool_secrets *s) {
  int64_t until = clock_mono_ns() + COMMAND_MS * NS_PER_MS;
  return s->deadline_ns != 0 && s->deadline_ns < until ? s->deadline_ns : until;
}

static cay_status from_command(const tool_secrets *s, const tool_provider *p, const char *name, buf *out,
                               cay_error *err) {
  char *argv[TOOL_COMMAND_WORDS + 2];
  size_t count = 0;
  for (; p->argv[count] != NULL && count < TOOL_COMMAND_WORDS; count++)
    argv[count] = (char *)(uintptr_t)p->argv[count];
  argv[count++] = (char *)(uintptr_t)name;
  argv[count] = NULL;

  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return err_errno(err, errno, "pipe");
  pid_t pid = 0;
  int why = secrets_start(argv, ends[1], &pid);
  (void)close(ends[1]);
  int64_t until = until_of(s);
  cay_status status = why == 0 ? secrets_read_all(ends[0], until, s->stop, out, err)
                               : err_errno(err, why, "command %.60s", argv[0]);
  (void)close(ends[0]);
  if (why != 0) return status;
  int code = secrets_end_of(pid, status == CAY_OK ? until : 0, s->stop);
  if (status != CAY_OK) return err_prefix(err, status, "command %.60s", argv[0]);
  cut_line_end(out);
  if (code == 1) return CAY_NOT_FOUND;
  return code == 0 ? CAY_OK : err_set(err, CAY_IO, "command %.60s failed (exit code %d)", argv[0], code);
}

cay_status tool_secret_get(const tool_secrets *secrets, const char *name, buf *out, cay_error *err) {
  static cay_status (*const providers[])(const tool_secrets *, const tool_provider *, const char *, buf *,
                                         cay_error *) = {
    [TOOL_FROM_ENVIRONMENT] = from_environment,
    [TOOL_FROM_FILE] = from_file,
    [TOOL_FROM_COMMAND] = from_command,
  };
  for (size_t i = 0; i < secrets->count; i++) {
    buf_clear(out);
    cay_status status = providers[secrets->list[i].kind](secrets, &secrets->list[i], name, out, err);
    if (status != CAY_NOT_FOUND) return status;
  }
  buf_clear(out);
  return err_set(err, CAY_NOT_FOUND, "no provider has this secret");
}
