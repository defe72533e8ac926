/* The output lies half in the input, which is changed. */
#include "tool.h"
EXPORT(execute) u64 execute(u32 at, u32 len) {
  u8 *p = (u8 *)(at + len / 2);
  p[0] = '{', p[1] = '}';
  return GIVE(p, 2);
}
