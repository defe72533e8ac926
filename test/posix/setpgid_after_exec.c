/* setpgid_after_exec - setpgid(2): a parent may move its child only until the child has called exec. */
#include "posix.h"

int main(int argc, char **argv) {
  (void)argv;
  gate early = gate_new(), go = gate_new(), told = gate_new();
  if (argc > 1) {
    MUST(write(21, "", 1));
    char byte;
    MUST(read(20, &byte, 1));
    return 0;
  }
  pid_t pid = MUST(fork());
  if (pid == 0) {
    MUST(dup2(go.fd[0], 20));
    MUST(dup2(told.fd[1], 21));
    gate_wait(early);
    execl(SELF, "again", "x", (char *)NULL);
    _exit(127);
  }
  SAY(setpgid(pid, getpgrp()));
  gate_open(early);
  gate_wait(told);
  SAY(setpgid(pid, pid));
  gate_open(go);
  reap("child", pid);
  return 0;
}
