/* digest.h - SHA-256 (FIPS 180-4), whole or in pieces. Cannot fail. */
#pragma once

#include "base/defs.h"

#include <nettle/sha2.h>

typedef struct digest {
  uint8_t bytes[SHA256_DIGEST_SIZE];
} digest;

enum { DIGEST_HEX = 2 * SHA256_DIGEST_SIZE + 1 }; /* with the NUL */

digest digest_of(const void *data, size_t len);

typedef struct digest_state {
  struct sha256_ctx ctx;
} digest_state;

void digest_begin(digest_state *state);
void digest_add(digest_state *state, const void *data, size_t len);
digest digest_end(digest_state *state); /* and begins anew */

bool digest_equal(const digest *a, const digest *b);
void digest_hex(const digest *d, char out[static DIGEST_HEX]);
bool digest_parse(const char *hex, digest *out) CHECKED; /* 64 hexadecimal digits and a NUL; else false */
