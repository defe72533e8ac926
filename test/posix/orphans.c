/* orphans - _exit(2): when a parent ends its children live on and get a new parent, and no process but the parent
 * reaps. */
#include "posix.h"

int main(void) {
  int report[2];
  MUST(pipe(report));
  gate go = gate_new(), known = gate_new();
  pid_t middle = MUST(fork());
  if (middle == 0) {
    if (MUST(fork()) == 0) {
      pid_t parent = getppid();
      gate_open(known);
      gate_wait(go);
      while (getppid() == parent) sleep_ms(2);
      close(1);
      dprintf(report[1], "the orphan has another parent\n");
      _exit(0);
    }
    gate_wait(known);
    _exit(3);
  }
  close(report[1]);
  reap("middle", middle);
  gate_open(go);
  char text[64] = "";
  SAY(read(report[0], text, sizeof text - 1));
  say("%s", text);
  SAY(read(report[0], text, 1));
  SAY(wait(NULL));
  return 0;
}
