#include "scan.h"

SCAN static unsigned ends(const unsigned char *at, block wanted) {
  return matches(at, wanted) | matches(at, all(0));
}

SCAN char *__strchrnul(const char *text, int byte) {
  const unsigned skip = (uintptr_t)text % STEP;
  const unsigned char *at = (const unsigned char *)text - skip;
  block wanted = all(byte);
  unsigned found = ends(at, wanted) & (~0u << skip);
  for (; !found; found = ends(at, wanted)) at += STEP;
  return (char *)at + __builtin_ctz(found);
}

__attribute__((__weak__, __alias__("__strchrnul"))) char *strchrnul(const char *, int);
