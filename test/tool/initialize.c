/* A reactor: something must be called first. */
#include "tool.h"
static char text[] = "{\"ready\":0}";
EXPORT(_initialize) void initialize(void) { text[9] = '1'; }
EXPORT(execute) u64 execute(u32 at, u32 len) { return (void)at, (void)len, GIVE(text, sizeof text - 1); }
