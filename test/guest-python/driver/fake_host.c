/* Stands in for the host: the driver is linked with this program, natively or as a guest, and a test talks to
 * it over descriptors 0 and 1 (run.py). Frames are u32 op, u32 length, bytes; the answer to one is three
 * lengths and three parts: the reply, standard output, standard error.
 *
 *   fake_host SOURCE            boots with SOURCE, then serves frames
 *   fake_host --main ARGS…      boots, then is python3 ARGS…
 *
 * Frames of its own: 100 the list of callbacks, 101 the input at descriptor 0, 102 the trace events so far
 * (each as line, TAB, event, TAB, context, newline) after which at most `u32` more are taken, 103 stop with
 * reason u32 after ms u32, 104 run an execute u32 times and tell the nanoseconds. Callbacks: `echo` answers
 * at once, `sleep` after {"ms": n}, `fail` with an error, `long` with 100,000 letters, `never` not at all. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "driver.h"
#include "host.h"
#include "start.h"

/* What a program's image has run; another language has another. */
#ifndef PROGRAM_BOOT
#define PROGRAM_BOOT "__import__('asyncio')"
#endif

enum { REQUESTS = 100, ANSWERS = 101, OUTPUT = 102, ERRORS = 103 };

extern char **environ;

static char **arguments;
static char *grants, *events;
static size_t grants_len, events_len;
static uint32_t events_left = UINT32_MAX, stop_reason;

/* The process that boots has no environment. */
char **start_process(void) {
  static char **own, *none[] = { NULL };
  if (!own)
    own = environ, environ = none;
  else
    environ = own;
  return arguments;
}
void start_clear_stack(void) {}

void start_clear_unmapped(void) {}

static _Noreturn void die(const char *what) {
  perror(what);
  _exit(99);
}

/* An answer that comes later, through a shell's sleep. */
static int answer_later(const char *ms, const char *command) {
  int pipes[2];
  pid_t child;
  char script[256];
  snprintf(script, sizeof script, "sleep %s; %s", ms, command);
  char *args[] = { "sh", "-c", script, NULL };
  posix_spawn_file_actions_t actions;
  if (pipe2(pipes, O_CLOEXEC) < 0 || posix_spawn_file_actions_init(&actions)) die("pipe");
  posix_spawn_file_actions_adddup2(&actions, pipes[1], 1);
  if (posix_spawnp(&child, "sh", &actions, NULL, args, environ)) die("sh");
  posix_spawn_file_actions_destroy(&actions);
  close(pipes[1]);
  return pipes[0];
}

static void pending(host_callback_call *q, int fd) {
  q->status = ASK_PENDING;
  q->fd = fd;
}

static void at_once(host_callback_call *q, uint32_t status, const char *data, size_t len) {
  q->status = status;
  q->len = (uint32_t)len;
  if (len <= q->reply_cap) memcpy(q->reply, data, len);
}

static void ask_sleep(host_callback_call *q) {
  char ms[16];
  const char *digits = memmem(q->args, q->args_len, "\"ms\": ", 6);
  snprintf(ms, sizeof ms, "%.3f", digits ? atoi(digits + 6) / 1000.0 : 0.01);
  pending(q, answer_later(ms, "printf '\\000\"slept\"'"));
}

static void ask_long(host_callback_call *q) {
  pending(q, answer_later("0", "printf '\\000\"'; head -c 100000 /dev/zero | tr '\\0' a; printf '\"'"));
  q->status = ASK_ANSWERED;
}

long host_callback(host_callback_call *q) {
  q->fd = -1;
  if (!strncmp(q->name, "echo", q->name_len) || !strncmp(q->name, "math.echo", q->name_len))
    at_once(q, ASK_ANSWERED, q->args, q->args_len);
  else if (!strncmp(q->name, "raw", q->name_len))
    at_once(q, ASK_ANSWERED, q->args + 7, q->args_len - 9);
  else if (!strncmp(q->name, "fail", q->name_len))
    at_once(q, ASK_REFUSED, "it failed", 9);
  else if (!strncmp(q->name, "sleep", q->name_len))
    ask_sleep(q);
  else if (!strncmp(q->name, "later", q->name_len))
    pending(q, answer_later("0.01", "printf '\\001too late'"));
  else if (!strncmp(q->name, "never", q->name_len))
    pending(q, answer_later("5", "true"));
  else if (!strncmp(q->name, "long", q->name_len))
    ask_long(q);
  else
    return -ENOENT;
  return 0;
}

long host_emit(const host_event *e) {
  if (!events_left) return -ENOSPC;
  events_left--;
  size_t more = e->event_len + e->context_len + 20;
  events = realloc(events, events_len + more);
  events_len += (size_t)snprintf(events + events_len, more, "%u\t%.*s\t%.*s\n", e->line, (int)e->event_len,
                                 e->event, (int)e->context_len, e->context);
  return 0;
}

static uint8_t *given;
static size_t given_len;

long host_give(const void *data, size_t len) {
  given = realloc(given, given_len + len + 64);
  memcpy(given + given_len, data, len);
  given_len += len;
  return 0;
}

long host_display(const void *bundle, size_t len) {
  (void)bundle, (void)len;
  return -ENOENT;
}

long host_callbacks(char *out, size_t cap) {
  memcpy(out, grants, grants_len < cap ? grants_len : cap);
  return (long)grants_len;
}

static bool read_all(int fd, void *data, size_t len) {
  for (size_t done = 0; done < len;) {
    ssize_t got = read(fd, (char *)data + done, len - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    done += (size_t)got;
  }
  return true;
}

static void write_all(const void *data, size_t len) {
  for (size_t done = 0; done < len;) {
    ssize_t put = write(ANSWERS, (const char *)data + done, len - done);
    if (put < 0 && errno != EINTR) die("write");
    if (put > 0) done += (size_t)put;
  }
}

/* Bytes written to a descriptor since the last call. */
static char *taken(int fd, uint32_t *len) {
  off_t size = lseek(fd, 0, SEEK_END);
  char *data = malloc((size_t)size + 1);
  lseek(fd, 0, SEEK_SET);
  if (!data || !read_all(fd, data, (size_t)size) || ftruncate(fd, 0) < 0) die("output");
  lseek(fd, 0, SEEK_SET);
  *len = (uint32_t)size;
  return data;
}

static void respond(const void *reply, size_t reply_len) {
  uint32_t lens[3] = { (uint32_t)reply_len };
  char *out = taken(OUTPUT, &lens[1]), *err = taken(ERRORS, &lens[2]);
  write_all(lens, sizeof lens);
  write_all(reply, reply_len);
  write_all(out, lens[1]);
  write_all(err, lens[2]);
  free(out);
  free(err);
}

/* A file without a name. */
static int scratch(void) {
  char name[] = "/tmp/fake_host.XXXXXX";
  int file = mkostemp(name, O_CLOEXEC);
  if (file < 0 || unlink(name) < 0) die(name);
  return file;
}

static void set_input(const void *data, size_t len) {
  int file = scratch();
  if (write(file, data, len) < 0 || lseek(file, 0, SEEK_SET) < 0 || dup2(file, 0) < 0) die("input");
  close(file);
}

static const uintptr_t *words;

/* What another thread of a host would do, from a timer: see cay_stop_words. */
static void on_alarm(int number) {
  (void)number;
  if (!stop_reason) return;
  *(volatile uint32_t *)words[0] = stop_reason;
  *(volatile int *)words[1] = 1;
  *(volatile int *)words[2] = 1;
  *(volatile uintptr_t *)words[3] |= words[4];
  stop_reason = 0;
}

static void stop_later(const uint32_t *args) {
  words = cay_stop_words();
  stop_reason = args[0];
  signal(SIGALRM, on_alarm);
  struct itimerval when = { .it_value = { args[1] / 1000, (int)(args[1] % 1000) * 1000 } };
  setitimer(ITIMER_REAL, &when, NULL);
}

static void measure(const uint8_t *data, uint32_t len) {
  uint32_t times;
  struct timespec a, b;
  memcpy(&times, data, sizeof times);
  clock_gettime(CLOCK_MONOTONIC, &a);
  for (uint32_t i = 0; i < times; i++) {
    memcpy(cay_room(len - 4), data + 4, len - 4);
    if (!cay_serve(TALK_EXECUTE, len - 4)) die("serve");
  }
  clock_gettime(CLOCK_MONOTONIC, &b);
  uint64_t ns = (uint64_t)(b.tv_sec - a.tv_sec) * 1000000000u + (uint64_t)b.tv_nsec - (uint64_t)a.tv_nsec;
  respond(&ns, sizeof ns);
}

static void control(uint32_t op, uint8_t *data, uint32_t len) {
  switch (op) {
  case 100:
    free(grants);
    grants = memcpy(malloc(len + 1), data, len);
    grants_len = len;
    break;
  case 101: set_input(data, len); break;
  case 102:
    respond(events, events_len);
    events_len = 0;
    memcpy(&events_left, data, sizeof events_left);
    return;
  case 103: stop_later((const uint32_t *)data); break;
  case 104: measure(data, len); return;
  default: break;
  }
  respond("", 0);
}

/* The pieces, with the reply's BYTES in place of their beginning; or the reply when it has none. */
static void respond_given(const place *where) {
  fields f = { (const uint8_t *)where->addr, (const uint8_t *)where->addr + where->len };
  reply whole = { 0 };
  field one;
  while (fields_next(&f, &one)) {
    if (one.tag == TALK_BYTES) memcpy(given, one.data, one.len);
    reply_bytes(&whole, one.tag, one.tag == TALK_BYTES ? (const char *)given : one.data,
                one.tag == TALK_BYTES ? given_len : one.len);
  }
  respond(whole.data, whole.len);
  free(whole.data);
}

static void serve(uint32_t op, uint32_t len) {
  uint8_t *data = op < 100 ? cay_room(len) : malloc(len + 4);
  if (!data || !read_all(REQUESTS, data, len)) die("frame");
  if (op >= 100) {
    control(op, data, len);
    free(data);
    return;
  }
  given_len = 0;
  const place *where = cay_serve(op, len);
  if (!where) die("cay_serve");
  if (given_len)
    respond_given(where);
  else
    respond((const void *)where->addr, where->len);
}

static void move_descriptors(void) {
  int out = scratch(), err = scratch(), null = open("/dev/null", O_RDONLY);
  if (dup3(0, REQUESTS, O_CLOEXEC) < 0 || dup3(1, ANSWERS, O_CLOEXEC) < 0) die("dup");
  if (dup3(out, OUTPUT, O_CLOEXEC) < 0 || dup3(err, ERRORS, O_CLOEXEC) < 0) die("dup");
  if (dup2(out, 1) < 0 || dup2(err, 2) < 0 || dup2(null, 0) < 0) die("dup");
  close(out), close(err), close(null);
}

int main(int argc, char **argv) {
  bool program = argc > 1 && !strcmp(argv[1], "--main");
  char *boot[] = { "python3", program ? PROGRAM_BOOT : argv[1], NULL };
  if (!program) move_descriptors();
  arguments = boot;
  if (cay_boot() != 0) return 98;
  if (program) {
    arguments = argv + 1;
    arguments[0] = "python3";
    return cay_main();
  }
  uint32_t head[2];
  while (read_all(REQUESTS, head, sizeof head)) serve(head[0], head[1]);
  return 0;
}
