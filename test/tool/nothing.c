/* No output at all. */
#include "tool.h"
EXPORT(execute) u64 execute(u32 at, u32 len) { return (void)at, (void)len, 0; }
