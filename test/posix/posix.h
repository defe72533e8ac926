/* posix.h - what a program of test/posix speaks with.
 *
 * Each program here proves one family of facts by writing a transcript to its standard output. The program
 * is run twice, on the host's Linux and in the sandbox, and the two transcripts must be equal byte for byte.
 * So a transcript holds no pid, address, time, host name or user name, errors are written by name, and every
 * race between processes is closed by a wait or by a gate.
 *
 * A program starts in an empty directory that it may write, as an unprivileged user, and finds itself at
 * /proc/self/exe. Include this header first. */
#pragma once

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HELPER __attribute__((unused)) static
#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

/* An address that no process may touch: the kernel's half, or beyond any linear memory. */
#define WILD ((void *)-4096)

#define SELF "/proc/self/exe"

/* What a call answered: `call = 5`, or `call = ENOENT` where it answered -1. */
#define SAY(...) say_result(#__VA_ARGS__, (errno = 0, (long long)(__VA_ARGS__)))
/* The same, but a number that differs from run to run (a descriptor, a pid) is only `ok`. The value is the
 * call's. */
#define OK(...) say_ok(#__VA_ARGS__, (errno = 0, (long long)(__VA_ARGS__)))
/* The value of an expression that cannot fail, a truth, a string. */
#define SHOW(...) say("%s = %lld\n", #__VA_ARGS__, (long long)(__VA_ARGS__))
#define IS(...) say("%s: %s\n", #__VA_ARGS__, (__VA_ARGS__) ? "yes" : "no")
#define TEXT(...) say("%s = \"%s\"\n", #__VA_ARGS__, (__VA_ARGS__))
/* A call that only prepares: says nothing unless it fails, and then ends the program. */
#define MUST(...) must(__FILE__, __LINE__, #__VA_ARGS__, (errno = 0, (long long)(__VA_ARGS__)))

typedef struct name_of {
  int number;
  const char *name;
} name_of;

HELPER const char *error_name(int number) {
#define NAME(n) { n, #n }
  static const name_of names[] = {
    { 0, "ok" },        NAME(EPERM),           NAME(ENOENT),      NAME(ESRCH),           NAME(EINTR),
    NAME(EIO),          NAME(ENXIO),           NAME(E2BIG),       NAME(ENOEXEC),         NAME(EBADF),
    NAME(ECHILD),       NAME(EAGAIN),          NAME(ENOMEM),      NAME(EACCES),          NAME(EFAULT),
    NAME(EBUSY),        NAME(EEXIST),          NAME(EXDEV),       NAME(ENODEV),          NAME(ENOTDIR),
    NAME(EISDIR),       NAME(EINVAL),          NAME(ENFILE),      NAME(EMFILE),          NAME(ENOTTY),
    NAME(ETXTBSY),      NAME(EFBIG),           NAME(ENOSPC),      NAME(ESPIPE),          NAME(EROFS),
    NAME(EMLINK),       NAME(EPIPE),           NAME(EDOM),        NAME(ERANGE),          NAME(EDEADLK),
    NAME(ENAMETOOLONG), NAME(ENOLCK),          NAME(ENOSYS),      NAME(ENOTEMPTY),       NAME(ELOOP),
    NAME(EOVERFLOW),    NAME(EILSEQ),          NAME(ENOTSOCK),    NAME(EMSGSIZE),        NAME(EDESTADDRREQ),
    NAME(EOPNOTSUPP),   NAME(EADDRINUSE),      NAME(EPROTOTYPE),  NAME(EAFNOSUPPORT),    NAME(ENOPROTOOPT),
    NAME(EISCONN),      NAME(ENOTCONN),        NAME(ETIMEDOUT),   NAME(ECONNREFUSED),    NAME(ECONNRESET),
    NAME(EALREADY),     NAME(EPROTONOSUPPORT), NAME(ECANCELED),   NAME(EINPROGRESS),     NAME(EADDRNOTAVAIL),
    NAME(EDQUOT),       NAME(ENODATA),         NAME(ENETUNREACH), NAME(ESOCKTNOSUPPORT),
  };
#undef NAME
  static char unknown[32];
  for (size_t i = 0; i < COUNT_OF(names); i++)
    if (names[i].number == number) return names[i].name;
  snprintf(unknown, sizeof unknown, "errno %d", number);
  return unknown;
}

HELPER const char *signal_name(int number) {
#define NAME(n) { n, #n }
  static const name_of names[] = {
    { 0, "none" },   NAME(SIGHUP),  NAME(SIGINT),   NAME(SIGQUIT), NAME(SIGILL),  NAME(SIGTRAP),
    NAME(SIGABRT),   NAME(SIGBUS),  NAME(SIGFPE),   NAME(SIGKILL), NAME(SIGUSR1), NAME(SIGSEGV),
    NAME(SIGUSR2),   NAME(SIGPIPE), NAME(SIGALRM),  NAME(SIGTERM), NAME(SIGCHLD), NAME(SIGCONT),
    NAME(SIGSTOP),   NAME(SIGTSTP), NAME(SIGTTIN),  NAME(SIGTTOU), NAME(SIGURG),  NAME(SIGXCPU),
    NAME(SIGXFSZ),   NAME(SIGPROF), NAME(SIGWINCH), NAME(SIGIO),   NAME(SIGPWR),  NAME(SIGSYS),
    NAME(SIGVTALRM),
  };
#undef NAME
  static char other[32];
  for (size_t i = 0; i < COUNT_OF(names); i++)
    if (names[i].number == number) return names[i].name;
  if (number >= SIGRTMIN)
    snprintf(other, sizeof other, "SIGRTMIN+%d", number - SIGRTMIN);
  else
    snprintf(other, sizeof other, "signal %d", number);
  return other;
}

/* Text goes straight to descriptor 1: nothing is buffered, so a fork never says a line twice. */
__attribute__((unused, format(printf, 1, 2))) static void say(const char *format, ...) {
  static char line[16384];
  int saved = errno;
  va_list args;
  va_start(args, format);
  int len = vsnprintf(line, sizeof line, format, args);
  va_end(args);
  if (len > (int)sizeof line - 1) len = (int)sizeof line - 1;
  for (int done = 0; done < len;) {
    ssize_t n = write(1, line + done, (size_t)(len - done));
    if (n < 0 && errno != EINTR) _exit(98);
    if (n > 0) done += (int)n;
  }
  errno = saved;
}

HELPER long long say_result(const char *text, long long result) {
  if (result == -1)
    say("%s = %s\n", text, error_name(errno));
  else
    say("%s = %lld\n", text, result);
  return result;
}

HELPER int say_ok(const char *text, long long result) {
  say("%s: %s\n", text, result < 0 ? error_name(errno) : "ok");
  return (int)result;
}

/* The number behind a word of /proc/self/fdinfo/FD; `none` when there is no such line. */
HELPER long long fdinfo_number(int fd, const char *word, int base, long long none) {
  char path[64], line[128];
  long long value = none;
  snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
  FILE *f = fopen(path, "r");
  while (f != NULL && fgets(line, sizeof line, f) != NULL)
    if (strncmp(line, word, strlen(word)) == 0) value = strtoll(line + strlen(word), NULL, base);
  if (f != NULL) fclose(f);
  return value;
}

HELPER int must(const char *file, int line, const char *text, long long result) {
  if (result < 0) {
    say("%s:%d: %s: %s\n", file, line, text, error_name(errno));
    _exit(97);
  }
  return (int)result;
}

HELPER void say_status(const char *who, int status) {
  if (WIFEXITED(status))
    say("%s: exit %d\n", who, WEXITSTATUS(status));
  else if (WIFSIGNALED(status))
    say("%s: killed by %s\n", who, signal_name(WTERMSIG(status)));
  else if (WIFSTOPPED(status))
    say("%s: stopped by %s\n", who, signal_name(WSTOPSIG(status)));
  else if (WIFCONTINUED(status))
    say("%s: continued\n", who);
}

/* Wait for one child and say how it ended. */
HELPER void reap(const char *who, pid_t pid) {
  int status;
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) {
      say("%s: %s\n", who, error_name(errno));
      return;
    }
  say_status(who, status);
}

/* Runs the function in a child of its own and says how that ended. */
HELPER void reap_child(const char *name, void (*fn)(void)) {
  pid_t pid = MUST(fork());
  if (pid == 0) {
    fn();
    _exit(0);
  }
  reap(name, pid);
}

/* A gate holds one process until another opens it (or ends). Make it before the fork. */
typedef struct gate {
  int fd[2];
} gate;

HELPER gate gate_new(void) {
  gate g;
  MUST(pipe(g.fd));
  return g;
}

HELPER void gate_open(gate g) { MUST(write(g.fd[1], "", 1)); }

HELPER void gate_wait(gate g) {
  char byte;
  ssize_t n;
  do n = read(g.fd[0], &byte, 1);
  while (n < 0 && errno == EINTR);
}

HELPER void gate_free(gate g) {
  close(g.fd[0]);
  close(g.fd[1]);
}

HELPER void sleep_ms(long ms) {
  struct timespec left = { ms / 1000, ms % 1000 * 1000000 };
  while (nanosleep(&left, &left) < 0 && errno == EINTR) {}
}

/* Make a file hold this text; say what a file holds. */
HELPER void put(const char *path, const char *text) {
  int fd = MUST(open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644));
  MUST(write(fd, text, strlen(text)));
  close(fd);
}

HELPER void get(const char *path) {
  char text[4096];
  int fd = open(path, O_RDONLY);
  if (fd < 0) {
    say("%s: %s\n", path, error_name(errno));
    return;
  }
  ssize_t len = MUST(read(fd, text, sizeof text - 1));
  text[len] = 0;
  say("%s holds \"%s\"\n", path, text);
  close(fd);
}

HELPER long long file_size(const char *path) {
  struct stat st;
  return stat(path, &st) < 0 ? -1 : (long long)st.st_size;
}
