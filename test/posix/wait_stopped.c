/* wait_stopped - wait(2), WUNTRACED and WCONTINUED: a child that stops and goes on is seen by its parent. */
#include "posix.h"

int main(void) {
  int status = 0;
  gate g = gate_new();
  pid_t pid = MUST(fork());
  if (pid == 0) {
    setpgid(0, 0); /* SIGTSTP does not stop an orphaned group */
    raise(SIGSTOP);
    gate_wait(g);
    _exit(5);
  }
  IS(waitpid(pid, &status, WUNTRACED) == pid);
  say_status("child", status);
  SAY(waitpid(pid, &status, WUNTRACED | WNOHANG));
  SAY(kill(pid, SIGCONT));
  IS(waitpid(pid, &status, WCONTINUED) == pid);
  say_status("child", status);
  SAY(kill(pid, SIGTSTP));
  IS(waitpid(pid, &status, WUNTRACED) == pid);
  say_status("child", status);
  gate_open(g);
  sleep_ms(30);
  SAY(waitpid(pid, &status, WNOHANG));
  SAY(kill(pid, SIGCONT));
  reap("child", pid);

  pid = MUST(fork());
  if (pid == 0) {
    raise(SIGSTOP);
    _exit(6);
  }
  siginfo_t info;
  SAY(waitid(P_PID, (id_t)pid, &info, WSTOPPED));
  IS(info.si_code == CLD_STOPPED);
  IS(info.si_status == SIGSTOP);
  SAY(kill(pid, SIGKILL));
  reap("child", pid);
  return 0;
}
