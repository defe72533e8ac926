/* sigsuspend - sigsuspend(2): swaps the mask and sleeps in one step, and the old mask is back afterwards. */
#include "posix.h"

static volatile sig_atomic_t got;

static void handler(int sig) {
  got = sig;
  sigset_t now;
  sigprocmask(SIG_SETMASK, NULL, &now);
  say("handler: %s, HUP %s\n", signal_name(sig), sigismember(&now, SIGHUP) ? "blocked" : "open");
}

int main(void) {
  sigset_t block, wait_for, now;
  signal(SIGUSR1, handler);
  signal(SIGUSR2, handler);
  sigemptyset(&block);
  sigaddset(&block, SIGUSR1);
  sigaddset(&block, SIGUSR2);
  MUST(sigprocmask(SIG_BLOCK, &block, NULL));
  raise(SIGUSR1);
  SHOW(got);

  sigemptyset(&wait_for);
  sigaddset(&wait_for, SIGUSR2);
  sigaddset(&wait_for, SIGHUP);
  SAY(sigsuspend(&wait_for));
  IS(got == SIGUSR1);
  sigprocmask(SIG_SETMASK, NULL, &now);
  SHOW(sigismember(&now, SIGUSR1));
  SHOW(sigismember(&now, SIGHUP));

  pid_t parent = getpid(), pid = MUST(fork());
  if (pid == 0) {
    kill(parent, SIGUSR2);
    _exit(0);
  }
  sigemptyset(&wait_for);
  SAY(sigsuspend(&wait_for));
  IS(got == SIGUSR2);
  reap("child", pid);
  return 0;
}
