/* process_groups - setpgid(2), setsid(2), kill(2): groups and sessions, who may change them, and signals to a
 * group. */
#include "posix.h"

static pid_t member(pid_t group, gate ready) {
  pid_t pid = MUST(fork());
  if (pid != 0) return pid;
  setpgid(0, group);
  gate_open(ready);
  for (;;) pause();
}

static void signal_to_a_group(void) {
  gate ready = gate_new();
  pid_t a = member(0, ready);
  gate_wait(ready);
  pid_t b = member(a, ready), other = member(0, ready);
  gate_wait(ready);
  gate_wait(ready);
  IS(getpgid(b) == a);
  IS(getpgid(other) == other);
  SAY(kill(-a, 0));
  SAY(kill(-a, SIGTERM));
  int status, killed = 0;
  while (waitpid(-a, &status, 0) > 0) killed += WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM;
  SHOW(killed);
  say("%s\n", error_name(errno));
  SAY(kill(-a, SIGTERM));
  SAY(kill(other, 0));
  SAY(killpg(other, SIGKILL));
  reap("other", other);
  gate_free(ready);
}

static void in_a_child(void) {
  pid_t parent_group = getpgid(getppid());
  IS(getpgrp() == parent_group);
  IS(getpgid(0) == getpgrp());
  SAY(setpgid(0, 0));
  IS(getpgrp() == getpid());
  SAY(setpgid(0, 0));
  SAY(setpgid(0, parent_group));
  IS(getpgrp() == parent_group);
  SAY(setpgid(0, 1 << 22));
  SAY(setpgid(0, -1));
  SAY(setpgid(getppid(), 0));
  SAY(setpgid(1 << 22, 0));
  SAY(getpgid(1 << 22));
  SAY(getsid(1 << 22));
  IS(getsid(0) == getsid(getppid()));

  IS(setsid() == getpid());
  IS(getsid(0) == getpid());
  IS(getpgrp() == getpid());
  SAY(setsid());
  SAY(setpgid(0, parent_group));
  SAY(setpgid(0, 0));
  pid_t pid = MUST(fork());
  if (pid == 0) {
    IS(getsid(0) == getppid());
    IS(getpgrp() == getppid());
    _exit(0);
  }
  reap("in the new session", pid);
}

int main(void) {
  pid_t pid = MUST(fork());
  if (pid == 0) {
    in_a_child();
    _exit(0);
  }
  reap("child", pid);
  signal_to_a_group();
  return 0;
}
