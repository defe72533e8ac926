/* atexit_order - exit(3): handlers run last first, once, in the process that exits; _exit and signals run
 * none. */
#include "posix.h"

static void one(void) { say("one\n"); }
static void two(void) { say("two\n"); }
static void adds_another(void) {
  say("adds another\n");
  atexit(one);
}

__attribute__((constructor)) static void before_main(void) { say("constructor\n"); }
__attribute__((destructor)) static void after_exit(void) { say("destructor\n"); }

int main(void) {
  SAY(atexit(one));
  SAY(atexit(adds_another));
  for (int i = 0; i < 2; i++) atexit(two);
  pid_t pid = MUST(fork());
  if (pid == 0) exit(3);
  reap("exit", pid);
  pid = MUST(fork());
  if (pid == 0) _exit(4);
  reap("_exit", pid);
  pid = MUST(fork());
  if (pid == 0) abort();
  reap("abort", pid);
  pid = MUST(fork());
  if (pid == 0) quick_exit(6);
  reap("quick_exit", pid);
  for (int i = 0; i < 100; i++) MUST(atexit(i == 50 ? one : two));
  pid = MUST(fork());
  if (pid == 0) {
    setenv("X", "1", 1);
    return 5;
  }
  reap("return from main", pid);
  fflush(NULL);
  _exit(0);
}
