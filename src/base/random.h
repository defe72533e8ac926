/* random.h - unpredictable bytes, and the same again for a sandbox that must repeat.
 *
 * Both come from one generator, the key stream of ChaCha20 under a 256-bit key: from getrandom(2), or derived
 * from a number, in which case equal numbers give equal bytes for ever. A generator is not locked, and one
 * that is copied (fork, snapshot) must be seeded again before the copy is used. */
#pragma once

#include "base/defs.h"

#include <cay/status.h>
#include <nettle/chacha.h>

typedef struct rng {
  struct chacha_ctx stream;
  uint8_t block[256]; /* made ahead; the last `left` bytes are unused */
  size_t left;
} rng;

cay_status random_bytes(void *out, size_t len, cay_error *err) CHECKED; /* getrandom(2). CAY_IO */

cay_status rng_seed(rng *r, cay_error *err) CHECKED; /* from the host. CAY_IO */
void rng_seed_number(rng *r, uint64_t seed);         /* repeatable */
void rng_bytes(rng *r, void *out, size_t len);
uint64_t rng_u64(rng *r);
