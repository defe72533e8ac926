#include "tool.h"
EXPORT(execute) u64 execute(u32 at, u32 len) { return (void)at, (void)len, GIVE_TEXT("\"\xff\xfe\""); }
