/* Sixteen bytes at a time. A load stands at a multiple of 16, so it never leaves the memory, however long the
 * caller says that its bytes are. */
#ifndef CAY_SCAN_H
#define CAY_SCAN_H

#include <stdint.h>
#include <string.h>

#define SCAN __attribute__((target("simd128")))
#define STEP 16

typedef signed char block __attribute__((vector_size(STEP), __may_alias__));

SCAN static inline block all(int byte) { return (block){ 0 } + (signed char)byte; }

/* The bytes that are equal: bit 0 is the first. */
SCAN static inline unsigned equal(block a, block b) {
  return (unsigned)__builtin_wasm_bitmask_i8x16((block)(a == b));
}

SCAN static inline unsigned matches(const unsigned char *at, block wanted) {
  return equal(*(const block *)at, wanted);
}

#endif
