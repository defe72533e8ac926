/* Gives its input back: whoever calls it says what it asks for. */
#include "tool.h"
EXPORT(execute) u64 execute(u32 at, u32 len) { return GIVE(at, len); }
