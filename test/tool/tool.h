/* tool.h - what every tool in this folder has: memory that is handed out and never taken back. */
#pragma once

typedef unsigned char u8;
typedef unsigned u32;
typedef unsigned long long u64;

#define EXPORT(name) __attribute__((export_name(#name), used))
#define GIVE(at, len) ((u64)(u32)(at) << 32 | (u32)(len))
#define GIVE_TEXT(text) GIVE(text, sizeof(text) - 1)

extern u8 __heap_base;

#ifndef OWN_ALLOC
static u32 top;

EXPORT(alloc) u32 tool_alloc(u32 len) {
  if (top == 0) top = (u32)&__heap_base;
  u32 at = (top + 15) & ~15u;
  while (at + len > __builtin_wasm_memory_size(0) * 65536)
    if (__builtin_wasm_memory_grow(0, 1) == (__SIZE_TYPE__)-1) return 0;
  top = at + len;
  return at;
}
#endif

#ifndef OWN_DEALLOC
EXPORT(dealloc) void tool_dealloc(u32 at, u32 len) { (void)at, (void)len; }
#endif
