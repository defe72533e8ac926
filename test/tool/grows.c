/* Takes all the memory there is, touches it, and then fails. */
#include "tool.h"
EXPORT(execute) u64 execute(u32 at, u32 len) {
  (void)at, (void)len;
  for (;;) {
    u32 pages = (u32)__builtin_wasm_memory_grow(0, 16);
    if (pages == (u32)-1) break;
    *(volatile u8 *)(pages * 65536) = 1;
  }
  while (__builtin_wasm_memory_grow(0, 1) != (__SIZE_TYPE__)-1) {}
  __builtin_trap();
}
