/* vfork_exec - vfork(2): the child execs or exits, the parent goes on afterwards; descriptors are the child's
 * own. */
#include "posix.h"

int main(int argc, char **argv) {
  if (argc > 1) {
    say("child: %s, descriptor 20 %s\n", argv[1], fcntl(20, F_GETFD) < 0 ? "closed" : "open");
    return argc > 2 ? atoi(argv[2]) : 0;
  }
  int fd[2];
  MUST(pipe(fd));
  MUST(dup2(fd[1], 20));
  pid_t pid = MUST(vfork());
  if (pid == 0) {
    execl(SELF, "again", "first", "7", (char *)NULL);
    _exit(127);
  }
  reap("exec", pid);

  pid = MUST(vfork());
  if (pid == 0) _exit(9);
  reap("exit", pid);

  pid = MUST(vfork());
  if (pid == 0) {
    close(20);
    execl(SELF, "again", "closed", (char *)NULL);
    _exit(127);
  }
  reap("exec", pid);
  IS(fcntl(20, F_GETFD) == 0);

  pid = MUST(vfork());
  if (pid == 0) {
    execl("./none", "none", (char *)NULL);
    _exit(errno == ENOENT ? 33 : 34);
  }
  reap("no such program", pid);

  volatile int same = 0;
  for (volatile int i = 0; i < 50; i++) {
    pid = MUST(vfork());
    if (pid == 0) _exit(i);
    int status;
    MUST(waitpid(pid, &status, 0));
    same += WEXITSTATUS(status) == i;
  }
  SHOW(same);

  pid = MUST(vfork());
  if (pid == 0) {
    dup2(fd[1], 1);
    execl(SELF, "again", "into the pipe", "0", (char *)NULL);
    _exit(127);
  }
  char text[128] = "";
  MUST(read(fd[0], text, sizeof text - 1));
  say("through the pipe: %s", text);
  reap("exec", pid);
  return 0;
}
