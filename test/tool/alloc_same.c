/* alloc hands out the place of the static data, so that the input overwrites it. */
#define OWN_ALLOC
#include "tool.h"
static char data[64] = "{\"was\":\"there\"}";
EXPORT(alloc) u32 tool_alloc(u32 len) { return (void)len, (u32)data; }
EXPORT(execute) u64 execute(u32 at, u32 len) { return (void)at, GIVE(data, len); }
