#include "scan.h"

typedef block __attribute__((__aligned__(1))) loose_block;

SCAN int memcmp(const void *left, const void *right, size_t n) {
  const unsigned char *l = left, *r = right;
  for (; n >= STEP; n -= STEP, l += STEP, r += STEP) {
    unsigned differ = equal(*(const loose_block *)l, *(const loose_block *)r) ^ 0xffff;
    if (!differ) continue;
    unsigned first = (unsigned)__builtin_ctz(differ);
    return l[first] - r[first];
  }
  for (; n; n--, l++, r++)
    if (*l != *r) return *l - *r;
  return 0;
}
