#include "scan.h"

SCAN void *memchr(const void *bytes, int byte, size_t n) {
  if (!n) return 0;
  const unsigned skip = (uintptr_t)bytes % STEP;
  const unsigned char *at = (const unsigned char *)bytes - skip;
  block wanted = all(byte);
  unsigned found = matches(at, wanted) & (~0u << skip);
  size_t left = n + skip < n ? SIZE_MAX : n + skip;
  for (; !found; found = matches(at, wanted)) {
    if (left <= STEP) return 0;
    at += STEP;
    left -= STEP;
  }
  unsigned first = (unsigned)__builtin_ctz(found);
  return first < left ? (void *)(at + first) : 0;
}
