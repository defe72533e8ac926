#include "tool.h"
__attribute__((import_module("wasi_snapshot_preview1"), import_name("fd_write"))) int fd_write(int, int, int,
                                                                                               int);
EXPORT(execute) u64 execute(u32 at, u32 len) { return (u64)fd_write(1, (int)at, (int)len, 0); }
