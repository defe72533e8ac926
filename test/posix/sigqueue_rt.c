/* sigqueue_rt - signal(7): real-time signals queue in order with their values, standard ones are merged. */
#include "posix.h"

static void handler(int sig, siginfo_t *info, void *context) {
  (void)context;
  say("%s code %s value %d\n", signal_name(sig), info->si_code == SI_QUEUE ? "queue" : "other",
      info->si_value.sival_int);
}

int main(void) {
  struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
  sigset_t all, none;
  sigemptyset(&none);
  sigfillset(&all);
  sa.sa_mask = all;
  MUST(sigaction(SIGRTMIN, &sa, NULL));
  MUST(sigaction(SIGRTMIN + 1, &sa, NULL));
  MUST(sigaction(SIGUSR1, &sa, NULL));
  MUST(sigprocmask(SIG_SETMASK, &all, NULL));
  for (int i = 1; i <= 3; i++) {
    SAY(sigqueue(getpid(), SIGRTMIN + 1, (union sigval){ .sival_int = i }));
    SAY(sigqueue(getpid(), SIGRTMIN, (union sigval){ .sival_int = i * 10 }));
    SAY(sigqueue(getpid(), SIGUSR1, (union sigval){ .sival_int = i * 100 }));
  }
  MUST(sigprocmask(SIG_SETMASK, &none, NULL));
  SAY(sigqueue(getpid(), 0, (union sigval){ .sival_int = 0 }));
  SAY(sigqueue(1 << 22, SIGUSR1, (union sigval){ .sival_int = 0 }));
  SAY(sigqueue(getpid(), 1000, (union sigval){ .sival_int = 0 }));
  return 0;
}
