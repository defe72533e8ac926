/* sigwait - sigwaitinfo(2): blocked signals are taken without a handler; a timeout answers EAGAIN. */
#include "posix.h"

int main(void) {
  sigset_t set;
  siginfo_t info;
  int sig = 0;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigaddset(&set, SIGUSR2);
  sigaddset(&set, SIGCHLD);
  MUST(sigprocmask(SIG_BLOCK, &set, NULL));

  SAY(sigtimedwait(&set, &info, &(struct timespec){ 0, 0 }));
  SAY(sigtimedwait(&set, &info, &(struct timespec){ 0, 20000000 }));
  raise(SIGUSR2);
  SAY(sigwait(&set, &sig));
  say("%s\n", signal_name(sig));
  kill(getpid(), SIGUSR1);
  int got = sigwaitinfo(&set, &info);
  say("%s code %s\n", signal_name(got), info.si_code == SI_USER ? "user" : "other");

  pid_t pid = MUST(fork());
  if (pid == 0) _exit(3);
  got = sigwaitinfo(&set, &info);
  say("%s status %d from %s\n", signal_name(got), info.si_status,
      info.si_pid == pid ? "the child" : "another");
  reap("child", pid);

  pid_t parent = getpid();
  pid = MUST(fork());
  if (pid == 0) {
    sleep_ms(20);
    kill(parent, SIGUSR1);
    _exit(0);
  }
  SAY(sigwait(&set, &sig));
  say("%s\n", signal_name(sig));
  reap("child", pid);
  return 0;
}
