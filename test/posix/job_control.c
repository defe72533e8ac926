/* job_control - what a shell does with a pipeline: one group, stopped, continued, ended and told apart. */
#include "posix.h"

static pid_t job(pid_t group, int in, int out) {
  pid_t pid = MUST(fork());
  if (pid != 0) {
    setpgid(pid, group);
    return pid;
  }
  setpgid(0, group);
  char block[256];
  ssize_t n;
  while ((n = read(in, block, sizeof block)) > 0) MUST(write(out, block, (size_t)n));
  _exit(n == 0 ? 0 : 1);
}

int main(void) {
  int a[2], b[2], c[2];
  MUST(pipe2(a, O_CLOEXEC));
  MUST(pipe2(b, O_CLOEXEC));
  MUST(pipe2(c, O_CLOEXEC));
  pid_t first = job(0, a[0], b[1]), second = job(first, b[0], c[1]);
  IS(getpgid(second) == first);

  char text[32] = "";
  MUST(write(a[1], "through both", 12));
  SAY(read(c[0], text, sizeof text));
  TEXT(text);

  int status, stopped = 0, continued = 0, killed = 0;
  SAY(kill(-first, SIGTSTP));
  while (stopped < 2 && waitpid(-first, &status, WUNTRACED) > 0) stopped += WIFSTOPPED(status);
  SHOW(stopped);
  MUST(write(a[1], "while stopped", 13));
  sleep_ms(20);
  fcntl(c[0], F_SETFL, O_NONBLOCK);
  SAY(read(c[0], text, sizeof text));
  fcntl(c[0], F_SETFL, 0);
  SAY(kill(-first, SIGCONT));
  while (continued < 2 && waitpid(-first, &status, WCONTINUED) > 0) continued += WIFCONTINUED(status);
  SHOW(continued);
  SAY(read(c[0], text, sizeof text));
  SAY(kill(-first, SIGHUP));
  while (waitpid(-first, &status, 0) > 0) killed += WIFSIGNALED(status) && WTERMSIG(status) == SIGHUP;
  SHOW(killed);
  SAY(tcgetpgrp(c[0]));
  SAY(tcsetpgrp(c[0], getpgrp()));
  return 0;
}
