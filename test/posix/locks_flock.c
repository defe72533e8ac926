/* locks_flock - flock(2): shared and exclusive, by open file description, released with its last descriptor.
 */
#include "posix.h"

#include <sys/file.h>

int main(void) {
  put("f", "");
  int a = MUST(open("f", O_RDONLY)), b = MUST(open("f", O_RDONLY));
  SAY(flock(a, LOCK_SH | LOCK_NB));
  SAY(flock(b, LOCK_SH | LOCK_NB));
  SAY(flock(b, LOCK_EX | LOCK_NB));
  SAY(flock(a, LOCK_UN));
  SAY(flock(b, LOCK_EX | LOCK_NB));
  SAY(flock(a, LOCK_SH | LOCK_NB));
  int copy = MUST(dup(b));
  SAY(close(b));
  SAY(flock(a, LOCK_SH | LOCK_NB));
  SAY(flock(copy, LOCK_SH | LOCK_NB));
  SAY(flock(a, LOCK_SH | LOCK_NB));
  SAY(close(copy));
  SAY(flock(a, LOCK_EX | LOCK_NB));

  gate held = gate_new(), refused = gate_new();
  SAY(flock(a, LOCK_UN));
  pid_t pid = MUST(fork());
  if (pid == 0) {
    int mine = MUST(open("f", O_RDONLY));
    MUST(flock(mine, LOCK_EX));
    gate_open(held);
    gate_wait(refused);
    sleep_ms(20);
    say("the child ends\n");
    _exit(0);
  }
  gate_wait(held);
  SAY(flock(a, LOCK_EX | LOCK_NB));
  gate_open(refused);
  SAY(flock(a, LOCK_EX)); /* waits until the child has ended */
  reap("child", pid);

  pid = MUST(fork());
  if (pid == 0) {
    SAY(flock(a, LOCK_UN)); /* the same description: this unlocks the parent */
    _exit(0);
  }
  reap("child", pid);
  b = MUST(open("f", O_RDONLY));
  SAY(flock(b, LOCK_EX | LOCK_NB));
  SAY(flock(99, LOCK_SH));
  SAY(flock(a, 77));
  return 0;
}
