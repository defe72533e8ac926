/* sigaction_flags - sigaction(2): SA_SIGINFO, SA_RESETHAND, SA_NODEFER, sa_mask, and the signals that cannot
 * be caught. */
#include "posix.h"

static volatile sig_atomic_t depth, deepest, calls;

static void count(int sig) {
  (void)sig;
  depth++;
  calls++;
  if (depth > deepest) deepest = depth;
  if (calls < 3) raise(SIGUSR1);
  depth--;
}

static void with_info(int sig, siginfo_t *info, void *context) {
  (void)context;
  say("handler: %s, from %s, by %s\n", signal_name(sig), info->si_pid == getpid() ? "us" : "another",
      info->si_code == SI_USER    ? "kill"
      : info->si_code == SI_TKILL ? "tkill"
                                  : "something else");
}

static void say_blocked(int sig) {
  sigset_t now;
  sigprocmask(SIG_SETMASK, NULL, &now);
  say("in %s: USR1 %s, USR2 %s, HUP %s\n", signal_name(sig), sigismember(&now, SIGUSR1) ? "blocked" : "open",
      sigismember(&now, SIGUSR2) ? "blocked" : "open", sigismember(&now, SIGHUP) ? "blocked" : "open");
}

static void install(int sig, void (*handler)(int), int flags, int also_masked) {
  struct sigaction sa = { .sa_handler = handler, .sa_flags = flags };
  sigemptyset(&sa.sa_mask);
  if (also_masked != 0) sigaddset(&sa.sa_mask, also_masked);
  MUST(sigaction(sig, &sa, NULL));
}

static void nesting(int flags) {
  depth = deepest = calls = 0;
  install(SIGUSR1, count, flags, 0);
  raise(SIGUSR1);
  say("calls %d, deepest %d\n", (int)calls, (int)deepest);
}

int main(void) {
  struct sigaction sa = { .sa_sigaction = with_info, .sa_flags = SA_SIGINFO }, old;
  sigemptyset(&sa.sa_mask);
  MUST(sigaction(SIGUSR1, &sa, NULL));
  SAY(kill(getpid(), SIGUSR1));
  SAY(raise(SIGUSR1));
  SAY(sigaction(SIGUSR1, NULL, &old));
  IS(old.sa_sigaction == with_info);
  IS(old.sa_flags & SA_SIGINFO);

  nesting(0);
  nesting(SA_NODEFER);

  install(SIGUSR1, say_blocked, 0, SIGUSR2);
  raise(SIGUSR1);
  install(SIGUSR1, say_blocked, SA_NODEFER, SIGHUP);
  raise(SIGUSR1);

  install(SIGUSR1, say_blocked, (int)SA_RESETHAND, 0);
  raise(SIGUSR1);
  SAY(sigaction(SIGUSR1, NULL, &old));
  IS(old.sa_handler == SIG_DFL);

  install(SIGUSR1, SIG_IGN, 0, 0);
  SAY(raise(SIGUSR1));
  sa.sa_handler = say_blocked;
  SAY(sigaction(SIGKILL, &sa, NULL));
  SAY(sigaction(SIGSTOP, &sa, NULL));
  SAY(sigaction(0, &sa, NULL));
  SAY(sigaction(1000, &sa, NULL));
  IS(signal(SIGUSR2, say_blocked) == SIG_DFL);
  IS(signal(SIGUSR2, SIG_IGN) == say_blocked);
  IS(signal(SIGUSR2, SIG_DFL) == SIG_IGN);
  return 0;
}
