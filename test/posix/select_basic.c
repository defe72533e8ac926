/* select_basic - select(2): sets are rewritten, the count is of bits, a bad descriptor is EBADF. */
#include "posix.h"

#include <sys/select.h>

static void ask(int a, int b, int in, int out) {
  fd_set r, w;
  FD_ZERO(&r);
  FD_ZERO(&w);
  if (in >= 0) FD_SET(in, &r);
  FD_SET(a, &r);
  FD_SET(b, &w);
  if (out >= 0) FD_SET(out, &w);
  struct timeval now = { 0, 0 };
  int n = select(32, &r, &w, NULL, &now);
  say("select %d:", n);
  if (in >= 0) say(" in=%d", FD_ISSET(in, &r) != 0);
  if (out >= 0) say(" out=%d", FD_ISSET(out, &w) != 0);
  say(" a=%d b=%d\n", FD_ISSET(a, &r) != 0, FD_ISSET(b, &w) != 0);
}

int main(void) {
  int p[2], q[2];
  MUST(pipe(p));
  MUST(pipe(q));
  ask(p[0], p[1], -1, -1);
  ask(p[0], p[1], q[0], q[1]);
  MUST(write(q[1], "x", 1));
  ask(p[0], p[1], q[0], q[1]);
  MUST(close(p[1]));
  ask(p[0], q[1], q[0], -1);

  fd_set set;
  struct timeval soon = { 0, 5000 };
  FD_ZERO(&set);
  FD_SET(30, &set);
  SAY(select(31, &set, NULL, NULL, &soon));
  SAY(select(-1, NULL, NULL, NULL, &soon));
  SAY(select(0, NULL, NULL, NULL, &soon));
  struct timeval bad = { -1, 0 };
  SAY(select(0, NULL, NULL, NULL, &bad));

  int t[2];
  MUST(pipe(t));
  pid_t pid = MUST(fork());
  if (pid == 0) {
    sleep_ms(20);
    MUST(write(t[1], "z", 1));
    _exit(0);
  }
  FD_ZERO(&set);
  FD_SET(t[0], &set);
  SAY(select(t[0] + 1, &set, NULL, NULL, NULL));
  IS(FD_ISSET(t[0], &set));
  reap("writer", pid);
  return 0;
}
