/* A pointer past the end of the memory. */
#include "tool.h"
EXPORT(execute) u64 execute(u32 at, u32 len) {
  (void)at, (void)len;
  return GIVE(__builtin_wasm_memory_size(0) * 65536 - 1, 2);
}
