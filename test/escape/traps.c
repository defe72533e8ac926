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

static void in_child(const char *name, void (*fn)(void)) {
  pid_t pid = MUST(fork());
  if (pid == 0) {
    fn();
    _exit(0);
  }
  reap(name, pid);
}

int main(void) {
  in_child("stack overflow", overflow);
  in_child("division by zero", divide);
  in_child("the least number by -1", least_by_minus_one);
  in_child("write beyond memory", write_beyond);
  in_child("read beyond memory", read_beyond);
  in_child("call a table entry without a function", call_nothing);
  in_child("call with another type", call_other_type);
  in_child("unreachable", give_up);
  in_child("abort", abort_it);
  say("the parent is well\n");
  return 0;
}
