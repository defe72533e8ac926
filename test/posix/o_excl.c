/* o_excl - open(2): with O_CREAT | O_EXCL exactly one of many wins. */
#include "posix.h"

int main(void) {
  OK(open("f", O_CREAT | O_EXCL | O_WRONLY, 0644));
  SAY(open("f", O_CREAT | O_EXCL | O_WRONLY, 0644));
  MUST(mkdir("d", 0755));
  SAY(open("d", O_CREAT | O_EXCL | O_WRONLY, 0644));
  MUST(symlink("none", "s"));
  SAY(open("s", O_CREAT | O_EXCL | O_WRONLY, 0644));
  SAY(access("none", F_OK));
  MUST(unlink("f"));

  int winners = 0, losers = 0;
  for (int round = 0; round < 10; round++) {
    gate go = gate_new();
    pid_t pids[4];
    for (int i = 0; i < 4; i++) {
      pids[i] = MUST(fork());
      if (pids[i] == 0) {
        close(go.fd[1]);
        gate_wait(go);
        _exit(open("race", O_CREAT | O_EXCL | O_WRONLY, 0644) >= 0 ? 1 : errno == EEXIST ? 0 : 2);
      }
    }
    gate_free(go);
    for (int i = 0; i < 4; i++) {
      int status;
      MUST(waitpid(pids[i], &status, 0));
      winners += WEXITSTATUS(status) == 1;
      losers += WEXITSTATUS(status) == 0;
    }
    MUST(unlink("race"));
  }
  SHOW(winners);
  SHOW(losers);
  return 0;
}
