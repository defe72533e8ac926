/* 100 MB of output. */
#include "tool.h"
EXPORT(execute) u64 execute(u32 at, u32 len) {
  (void)at, (void)len;
  u32 out = tool_alloc(100000000);
  return GIVE(out, 100000000);
}
