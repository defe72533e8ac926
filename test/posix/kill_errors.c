/* kill_errors - kill(2): whom a signal may reach, and signal 0 as a question. */
#include "posix.h"

int main(void) {
  SAY(kill(getpid(), 0));
  SAY(kill(getpid(), 1000));
  SAY(kill(getpid(), -1));
  SAY(kill(1 << 22, 0));
  SAY(kill(1 << 22, SIGTERM));
  SAY(kill(-(1 << 22), SIGTERM));
  SAY(kill(INT_MIN, 0));
  pid_t pid = MUST(fork());
  if (pid == 0) _exit(0);
  siginfo_t info;
  MUST(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT));
  SAY(kill(pid, 0)); /* a zombie is still there */
  SAY(kill(pid, SIGTERM));
  reap("zombie", pid);
  SAY(kill(pid, 0));
  return 0;
}
