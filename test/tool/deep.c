/* JSON that is nested a hundred thousand times. */
#include "tool.h"
EXPORT(execute) u64 execute(u32 at, u32 len) {
  enum { DEPTH = 100000 };
  u8 *out = (u8 *)tool_alloc(2 * DEPTH);
  (void)at, (void)len;
  for (u32 i = 0; i < DEPTH; i++) out[i] = '[', out[2 * DEPTH - 1 - i] = ']';
  return GIVE(out, 2 * DEPTH);
}
