/* Calls itself until the stack is used up. */
#include "tool.h"
static u32 deeper(volatile u32 *n) {
  volatile u32 here = *n + 1;
  return deeper(&here) + here;
}
EXPORT(execute) u64 execute(u32 at, u32 len) {
  volatile u32 n = at + len;
  return deeper(&n);
}
