/* fork_many - fork(2), wait(2): a hundred children in turn, twenty at once, each reaped exactly once. */
#include "posix.h"

int main(void) {
  int sum = 0, status;
  for (int i = 0; i < 100; i++) {
    pid_t pid = MUST(fork());
    if (pid == 0) _exit(i);
    MUST(waitpid(pid, &status, 0));
    sum += WEXITSTATUS(status);
  }
  SHOW(sum);

  gate go = gate_new();
  pid_t pids[20];
  for (int i = 0; i < 20; i++) {
    pids[i] = MUST(fork());
    if (pids[i] == 0) {
      close(go.fd[1]);
      gate_wait(go);
      _exit(i + 1);
    }
  }
  int distinct = 0;
  for (int i = 0; i < 20; i++) {
    bool again = pids[i] == getpid();
    for (int k = 0; k < i; k++) again |= pids[k] == pids[i];
    distinct += !again;
  }
  SHOW(distinct);
  gate_free(go);
  int reaped = 0, codes = 0;
  for (pid_t pid; (pid = wait(&status)) > 0; reaped++) codes += WEXITSTATUS(status);
  say("%s\n", error_name(errno));
  SHOW(reaped);
  SHOW(codes);
  return 0;
}
