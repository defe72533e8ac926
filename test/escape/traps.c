/* traps - what the processor would punish ends the process with a signal, and no other process. */
#include "../posix/posix.h"

static int deep(volatile int n) {
  volatile char frame[1024];
  frame[0] = (char)n;
  return n == -1 ? 0 : deep(n + 1) + frame[0];
}

typedef long other_type(double, double, long);
static volatile int zero;
static void *volatile nowhere = (void *)(uintptr_t)0xfffffff0u;
static void *volatile not_code = (void *)(uintptr_t)0x7fffffff;

static void overflow(void) { SHOW(deep(0)); }
static void divide(void) { SHOW(7 / zero); }
static void least_by_minus_one(void) { SHOW(INT_MIN / (zero - 1)); }
static void write_beyond(void) { *(volatile int *)nowhere = 1; }
static void read_beyond(void) { SHOW(*(volatile int *)nowhere); }
static void call_nothing(void) { ((void (*)(void))not_code)(); }
static void call_other_type(void) {
  other_type *volatile f = (other_type *)(void *)&overflow;
  SHOW(f(1, 2, 3));
}
static void give_up(void) { __builtin_trap(); }
static void abort_it(void) { abort(); }

int main(void) {
  reap_child("stack overflow", overflow);
  reap_child("division by zero", divide);
  reap_child("the least number by -1", least_by_minus_one);
  reap_child("write beyond memory", write_beyond);
  reap_child("read beyond memory", read_beyond);
  reap_child("call a table entry without a function", call_nothing);
  reap_child("call with another type", call_other_type);
  reap_child("unreachable", give_up);
  reap_child("abort", abort_it);
  say("the parent is well\n");
  return 0;
}
