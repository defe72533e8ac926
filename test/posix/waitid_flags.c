/* waitid_flags - waitid(2): siginfo, WNOWAIT leaves the child, WNOHANG says nothing yet; kinds of id. */
#include "posix.h"

static void say_info(const siginfo_t *info, pid_t pid) {
  const char *code = info->si_code == CLD_EXITED   ? "CLD_EXITED"
                     : info->si_code == CLD_KILLED ? "CLD_KILLED"
                     : info->si_code == CLD_DUMPED ? "CLD_DUMPED"
                                                   : "other";
  say("signo %s code %s status %d pid %s uid %s\n", signal_name(info->si_signo), code, info->si_status,
      info->si_pid == pid ? "the child" : "another", info->si_uid == getuid() ? "ours" : "another");
}

int main(void) {
  siginfo_t info;
  gate g = gate_new();
  pid_t pid = MUST(fork());
  if (pid == 0) {
    gate_wait(g);
    _exit(9);
  }
  memset(&info, 0xff, sizeof info);
  SAY(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG));
  SHOW(info.si_signo);
  SHOW(info.si_pid);
  gate_open(g);
  SAY(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT));
  say_info(&info, pid);
  SAY(waitid(P_ALL, 0, &info, WEXITED | WNOWAIT));
  say_info(&info, pid);
  SAY(waitid(P_PID, (id_t)pid, &info, WEXITED));
  say_info(&info, pid);
  SAY(waitid(P_PID, (id_t)pid, &info, WEXITED));

  pid = MUST(fork());
  if (pid == 0) {
    setpgid(0, 0);
    kill(getpid(), SIGKILL);
  }
  SAY(waitid(P_ALL, 0, &info, WEXITED));
  say_info(&info, pid);

  pid = MUST(fork());
  if (pid == 0) {
    gate_wait(g);
    _exit(3);
  }
  MUST(setpgid(pid, pid));
  gate_open(g);
  SAY(waitid(P_PGID, (id_t)pid, &info, WEXITED));
  say_info(&info, pid);
  SAY(waitid(P_PGID, (id_t)pid, &info, WEXITED));
  SAY(waitid(P_PID, (id_t)pid, &info, 0));
  SAY(waitid((idtype_t)77, 0, &info, WEXITED));

  pid = MUST(fork());
  if (pid == 0) _exit(4);
  SAY(waitid(P_PID, (id_t)pid, NULL, WEXITED));
  return 0;
}
