#include "scan.h"

SCAN void *__memrchr(const void *bytes, int byte, size_t n) {
  if (!n) return 0;
  const unsigned char *begin = bytes, *last = begin + n - 1;
  const unsigned char *at = last - (uintptr_t)last % STEP;
  block wanted = all(byte);
  unsigned found = matches(at, wanted) & ((2u << (last - at)) - 1);
  for (; !found; found = matches(at, wanted)) {
    if (at <= begin) return 0;
    at -= STEP;
  }
  const unsigned char *hit = at + (31 - __builtin_clz(found));
  return hit >= begin ? (void *)hit : 0;
}

__attribute__((__weak__, __alias__("__memrchr"))) void *memrchr(const void *, int, size_t);
