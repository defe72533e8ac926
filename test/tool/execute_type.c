#include "tool.h"
EXPORT(execute) u32 execute(u32 at, u32 len) { return at + len; }
