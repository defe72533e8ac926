/* A main of three arguments, constructors, destructors, the auxiliary vector, numbers, and a jump through
 * many frames. */
#define _GNU_SOURCE
#include <fenv.h>
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "check.h"

static int constructed;
static jmp_buf top;

__attribute__((constructor)) static void before(void) { constructed = 1; }

__attribute__((destructor)) static void after(void) { write(1, "destroyed\n", 10); }

static void leaving(void) { write(1, "leaving\n", 8); }

static void dive(int depth) {
  volatile char frame[64];
  frame[0] = (char)depth;
  if (depth == 0) longjmp(top, 0);
  dive(depth - 1);
  frame[1] = frame[0];
}

int main(int argc, char **argv, char **envp) {
  char text[80];
  CHECK(argc == 1 && argv[0] && !argv[1] && envp == environ && constructed);
  CHECK(getauxval(AT_PAGESZ) == 4096 && getauxval(AT_RANDOM));
  int r = setjmp(top);
  if (r == 0) dive(500);
  CHECK(r == 1);
  CHECK(sizeof(long double) == sizeof(double));
  snprintf(text, sizeof text, "%.20Lg %a %zu", 1.0L / 3, 0.1, sizeof text);
  CHECK(strcmp(text, "0.33333333333333331483 0x1.999999999999ap-4 80") == 0);
  CHECK(strtold("0x1.8p1", 0) == 3.0L && sqrt(2) * sqrt(2) > 1.9999999 && rint(2.5) == 2 &&
        fegetround() == FE_TONEAREST);
  atexit(leaving);
  return CHECKED();
}
