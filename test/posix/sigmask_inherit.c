/* sigmask_inherit - sigprocmask(2), fork(2), execve(2): the mask is inherited by both, pending signals by
 * exec only, handlers by fork only, ignored signals by both. */
#include "posix.h"

static void handler(int sig) { say("handler: %s\n", signal_name(sig)); }

static void say_state(const char *who) {
  sigset_t mask, pending;
  struct sigaction usr2, hup;
  sigprocmask(SIG_SETMASK, NULL, &mask);
  sigpending(&pending);
  sigaction(SIGUSR2, NULL, &usr2);
  sigaction(SIGHUP, NULL, &hup);
  say("%s: USR1 %s, USR1 %s, USR2 %s, HUP %s\n", who, sigismember(&mask, SIGUSR1) ? "blocked" : "open",
      sigismember(&pending, SIGUSR1) ? "pending" : "not pending",
      usr2.sa_handler == SIG_DFL ? "default" : "caught",
      hup.sa_handler == SIG_IGN ? "ignored" : "not ignored");
}

int main(int argc, char **argv) {
  if (argc > 1) {
    say_state(argv[1]);
    sigset_t none;
    sigemptyset(&none);
    signal(SIGUSR1, handler);
    sigprocmask(SIG_SETMASK, &none, NULL);
    return 0;
  }
  sigset_t set, old;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  SAY(sigprocmask(SIG_BLOCK, &set, &old));
  SHOW(sigismember(&old, SIGUSR1));
  signal(SIGUSR2, handler);
  signal(SIGHUP, SIG_IGN);
  raise(SIGUSR1);
  say_state("parent");

  pid_t pid = MUST(fork());
  if (pid == 0) {
    say_state("after fork");
    raise(SIGUSR1);
    execl(SELF, "again", "after exec", (char *)NULL);
    _exit(127);
  }
  reap("child", pid);

  sigaddset(&set, SIGKILL);
  sigaddset(&set, SIGSTOP);
  SAY(sigprocmask(SIG_SETMASK, &set, NULL));
  sigprocmask(0, NULL, &old);
  SHOW(sigismember(&old, SIGKILL));
  SHOW(sigismember(&old, SIGSTOP));
  SAY(sigprocmask(77, &set, NULL));
  signal(SIGUSR1, SIG_IGN);
  say_state("ignoring drops it");
  signal(SIGUSR1, handler);
  SAY(sigprocmask(SIG_UNBLOCK, &set, NULL));
  raise(SIGUSR1);
  return 0;
}
