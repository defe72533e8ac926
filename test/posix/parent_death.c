/* parent_death - PR_SET_PDEATHSIG of prctl(2): a signal when the parent ends. */
#include "posix.h"

#include <sys/prctl.h>

static volatile sig_atomic_t got;
static void on_signal(int sig) { got = sig; }

static void grandchild(int ready, int out) {
  struct sigaction action = { .sa_handler = on_signal };
  sigset_t set, old;
  int value = -1;
  MUST(sigaction(SIGUSR1, &action, NULL));
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  MUST(sigprocmask(SIG_BLOCK, &set, &old));
  MUST(prctl(PR_SET_PDEATHSIG, SIGUSR1));
  MUST(prctl(PR_GET_PDEATHSIG, &value));
  char byte = (char)value;
  MUST(write(ready, &byte, 1));
  while (got == 0) sigsuspend(&old);
  byte = (char)got;
  MUST(write(out, &byte, 1));
  _exit(0);
}

int main(void) {
  int value = -1, ready[2], out[2], status;
  char byte = 0;
  SAY(prctl(PR_GET_PDEATHSIG, &value));
  SHOW(value);
  SAY(prctl(PR_SET_PDEATHSIG, 65));
  SAY(prctl(PR_SET_PDEATHSIG, -1));
  SAY(prctl(PR_SET_PDEATHSIG, SIGTERM));
  MUST(prctl(PR_GET_PDEATHSIG, &value));
  SHOW(value == SIGTERM);
  MUST(pipe(ready));
  MUST(pipe(out));
  pid_t pid = MUST(fork());
  if (pid == 0) {
    MUST(prctl(PR_GET_PDEATHSIG, &value)); /* not inherited */
    if (value != 0) _exit(1);
    if (MUST(fork()) == 0) grandchild(ready[1], out[1]);
    MUST(read(ready[0], &byte, 1));
    _exit(byte == SIGUSR1 ? 0 : 2);
  }
  MUST(waitpid(pid, &status, 0));
  SHOW(WEXITSTATUS(status));
  MUST(read(out[0], &byte, 1));
  SHOW(byte == SIGUSR1);
  return 0;
}
