#include "tool.h"
EXPORT(execute) u64 execute(u32 at, u32 len) {
  (void)at, (void)len;
  __builtin_trap();
}
