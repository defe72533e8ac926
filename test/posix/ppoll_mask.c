/* ppoll_mask - ppoll(2), pselect(2): the mask is swapped only while they sleep. */
#include "posix.h"

#include <poll.h>
#include <sys/select.h>

static volatile sig_atomic_t got;

static void handler(int sig) { got = sig; }

int main(void) {
  sigset_t block, none, now;
  struct timespec soon = { 0, 10000000 }, later = { 20, 0 };
  signal(SIGUSR1, handler);
  sigemptyset(&none);
  sigemptyset(&block);
  sigaddset(&block, SIGUSR1);
  MUST(sigprocmask(SIG_BLOCK, &block, NULL));
  raise(SIGUSR1);
  SAY(ppoll(NULL, 0, &soon, NULL));
  SHOW(got);
  SAY(ppoll(NULL, 0, &later, &none));
  IS(got == SIGUSR1);
  sigprocmask(SIG_SETMASK, NULL, &now);
  SHOW(sigismember(&now, SIGUSR1));

  got = 0;
  raise(SIGUSR1);
  SAY(pselect(0, NULL, NULL, NULL, &soon, NULL));
  SHOW(got);
  SAY(pselect(0, NULL, NULL, NULL, &later, &none));
  IS(got == SIGUSR1);

  pid_t parent = getpid(), pid = MUST(fork());
  if (pid == 0) {
    sleep_ms(20);
    kill(parent, SIGUSR1);
    _exit(0);
  }
  got = 0;
  SAY(ppoll(NULL, 0, NULL, &none));
  IS(got == SIGUSR1);
  reap("child", pid);
  return 0;
}
