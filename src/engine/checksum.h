/* checksum.h - a sum over bytes that finds accidents, not attacks; four lanes, so that it runs at the speed
 * of memory.
 *
 * Data added in pieces must be read back in the same pieces, unless each but the last is a multiple of 32
 * bytes. */
#pragma once

#include "base/defs.h"

#include <string.h>

typedef struct checksum {
  uint64_t lane[4];
  uint64_t len;
} checksum;

#define CHECKSUM_ODD UINT64_C(0x9e3779b97f4a7c15)

static inline void checksum_add(checksum *c, const void *data, size_t len) {
  const uint8_t *at = data;
  c->len += len;
  for (; len >= 32; at += 32, len -= 32) {
    for (int i = 0; i < 4; i++) {
      uint64_t word;
      memcpy(&word, at + 8 * i, sizeof word);
      c->lane[i] = (c->lane[i] ^ word) * CHECKSUM_ODD;
      c->lane[i] ^= c->lane[i] >> 29;
    }
  }
  for (; len > 0; len--) c->lane[0] = (c->lane[0] ^ *at++) * CHECKSUM_ODD;
}

static inline uint64_t checksum_end(const checksum *c) {
  uint64_t sum = c->len;
  for (int i = 0; i < 4; i++) {
    sum = (sum ^ c->lane[i]) * CHECKSUM_ODD;
    sum ^= sum >> 32;
  }
  return sum;
}
