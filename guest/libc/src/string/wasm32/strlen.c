#include "scan.h"

SCAN size_t strlen(const char *text) {
  const unsigned skip = (uintptr_t)text % STEP;
  const unsigned char *at = (const unsigned char *)text - skip;
  block zero = all(0);
  unsigned found = matches(at, zero) & (~0u << skip);
  for (; !found; found = matches(at, zero)) at += STEP;
  return (size_t)((const char *)at + __builtin_ctz(found) - text);
}
