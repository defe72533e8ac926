/* setjmp_longjmp - setjmp(3): through many frames, again and again, nested, and with the value 0 made 1. */
#include "posix.h"

#include <setjmp.h>

static jmp_buf outer, inner;

static void dive(int depth, int value) {
  if (depth == 0) longjmp(outer, value);
  if (depth > 0) dive(depth - 1, value);
  say("never\n");
}

static void nested(void) {
  int got = setjmp(inner);
  say("inner %d\n", got);
  if (got == 0) longjmp(inner, 3);
  if (got == 3) longjmp(outer, 4);
}

int main(void) {
  static volatile int count;
  int got = setjmp(outer);
  say("outer %d\n", got);
  if (got == 0) dive(100, 7);
  if (got == 7) dive(3, 0);
  if (got == 1) nested();

  got = setjmp(outer);
  if (++count < 10000) longjmp(outer, count);
  say("count %d last %d\n", count, got);

  volatile int kept = 1;
  if (setjmp(outer) == 0) {
    kept = 2;
    dive(10, 1);
  }
  SHOW(kept);
  return 0;
}
