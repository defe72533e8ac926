#define OWN_ALLOC
#include "tool.h"
EXPORT(alloc) u32 tool_alloc(u32 len) { return 0u - len; }
EXPORT(execute) u64 execute(u32 at, u32 len) { return GIVE(at, len); }
