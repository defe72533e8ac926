/* A place and a length whose sum is small again. */
#include "tool.h"
EXPORT(execute) u64 execute(u32 at, u32 len) {
  (void)at, (void)len;
  return GIVE(0xffffffff, 16);
}
