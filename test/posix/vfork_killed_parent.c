/* vfork_killed_parent - a parent that waits in vfork(2) can be killed while its child sleeps. */
#include "posix.h"

static int ready[2], never[2];

static void parent(void) {
  pid_t pid = MUST(vfork());
  if (pid != 0) _exit(1); /* it is killed before */
  char c = 'r';
  close(never[1]); /* its own: it ends when the first process has ended */
  MUST(write(ready[1], &c, 1));
  (void)!read(never[0], &c, 1);
  _exit(0);
}

int main(void) {
  MUST(pipe(ready));
  MUST(pipe(never));
  pid_t pid = MUST(fork());
  if (pid == 0) parent();
  char c;
  IS(read(ready[0], &c, 1) == 1);
  MUST(kill(pid, SIGKILL));
  reap("parent", pid);
  return 0;
}
