/* Counts its calls, if it could. */
#include "tool.h"
static char text[] = "{\"calls\":0}";
EXPORT(execute) u64 execute(u32 at, u32 len) {
  (void)at, (void)len;
  text[9]++;
  return GIVE(text, sizeof text - 1);
}
