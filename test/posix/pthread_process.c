/* pthread_process - the process around threads: fork, exec and exit from one of many, the leader's end, a fault, descriptors
 * that another thread closes. */
#include "posix.h"

#include <poll.h>
#include <pthread.h>

#define E(...) say("%s = %s\n", #__VA_ARGS__, error_name(__VA_ARGS__))

static int fds[2];
static volatile int ready;

static void *forever(void *unused) {
  while (true) pause();
  return unused;
}

static void *spins(void *unused) {
  ready = 1;
  while (true) continue;
  return unused;
}

static void *exits(void *code) { exit((int)(intptr_t)code); }

static void *execs(void *unused) {
  (void)unused;
  char *argv[] = { (char *)"pthread_process", (char *)"again", NULL };
  execv(SELF, argv);
  _exit(97);
}

static void *faults(void *unused) {
  (void)unused;
  raise(SIGSEGV);
  return NULL;
}

static void *forks(void *unused) {
  static _Thread_local int mine = 1;
  (void)unused;
  mine = 7;
  pid_t child = MUST(fork());
  if (child == 0) _exit(mine + 10);
  int status = 0;
  MUST(waitpid(child, &status, 0));
  return (void *)(intptr_t)WEXITSTATUS(status);
}

static void *reads(void *unused) {
  char bytes[8];
  (void)unused;
  ready = 1;
  return (void *)(intptr_t)read(fds[0], bytes, sizeof bytes);
}

static void *polls(void *unused) {
  struct pollfd p = { .fd = fds[0], .events = POLLIN };
  (void)unused;
  ready = 1;
  int r = poll(&p, 1, 5000);
  return (void *)(intptr_t)(r == 1 ? p.revents & (POLLIN | POLLHUP) : -1);
}

static void *late(void *unused) {
  sleep_ms(30);
  say("the leader has ended\n");
  exit(6);
  return unused;
}

static void with(const char *what, void *(*fn)(void *), void *arg) {
  say("%s\n", what);
  pid_t child = MUST(fork());
  if (child == 0) {
    pthread_t t;
    for (int i = 0; i < 3; i++) MUST(pthread_create(&t, NULL, i == 1 ? spins : forever, NULL));
    MUST(pthread_create(&t, NULL, fn, arg));
    if (fn == late) pthread_exit(NULL);
    forever(NULL);
  }
  int status = 0;
  MUST(waitpid(child, &status, 0));
  say_status(what, status);
}

static void threads_line(void) {
  char text[4096] = "";
  int fd = MUST(open("/proc/self/status", O_RDONLY));
  ssize_t n = MUST(read(fd, text, sizeof text - 1));
  text[n] = 0;
  close(fd);
  char *line = strstr(text, "Threads:");
  if (line != NULL) say("%.*s\n", (int)strcspn(line, "\n"), line);
}

static void *in_thread(void *(*fn)(void *)) {
  pthread_t t;
  void *result;
  ready = 0;
  MUST(pthread_create(&t, NULL, fn, NULL));
  if (fn != forks) {
    while (!ready) sched_yield();
    sleep_ms(20);
  }
  if (fn == reads || fn == polls) close(fds[1]);
  MUST(pthread_join(t, &result));
  return result;
}

int main(int argc, char **argv) {
  pthread_t t;
  if (argc > 1) {
    threads_line();
    say("%s\n", argv[1]);
    return 4;
  }
  with("exit", exits, (void *)3);
  with("exec", execs, NULL);
  with("fault", faults, NULL);
  with("late", late, NULL);
  SHOW((intptr_t)in_thread(forks));
  threads_line();
  MUST(pthread_create(&t, NULL, forever, NULL));
  MUST(pthread_create(&t, NULL, forever, NULL));
  threads_line();
  MUST(pipe(fds));
  SHOW((intptr_t)in_thread(reads));
  close(fds[0]);
  MUST(pipe(fds));
  SHOW((intptr_t)in_thread(polls));
  return 0;
}
