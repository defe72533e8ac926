/* digest.c - SHA-256 by nettle, and digests as hexadecimal text (digest.h). */
#include "base/digest.h"

#include <string.h>

digest digest_of(const void *data, size_t len) {
  digest_state state;
  digest_begin(&state);
  digest_add(&state, data, len);
  return digest_end(&state);
}

void digest_begin(digest_state *state) { sha256_init(&state->ctx); }

void digest_add(digest_state *state, const void *data, size_t len) {
  if (len != 0) sha256_update(&state->ctx, len, data);
}

digest digest_end(digest_state *state) {
  digest d;
  sha256_digest(&state->ctx, sizeof d.bytes, d.bytes);
  return d;
}

bool digest_equal(const digest *a, const digest *b) { return memcmp(a, b, sizeof *a) == 0; }

void digest_hex(const digest *d, char out[static DIGEST_HEX]) {
  static const char digits[] = "0123456789abcdef";
  for (size_t i = 0; i < sizeof d->bytes; i++) {
    out[2 * i] = digits[d->bytes[i] >> 4];
    out[2 * i + 1] = digits[d->bytes[i] & 15];
  }
  out[DIGEST_HEX - 1] = '\0';
}

static int nibble(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool digest_parse(const char *hex, digest *out) {
  if (strlen(hex) != DIGEST_HEX - 1) return false;
  digest d;
  for (size_t i = 0; i < sizeof d.bytes; i++) {
    int high = nibble(hex[2 * i]), low = nibble(hex[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    d.bytes[i] = (uint8_t)(high << 4 | low);
  }
  *out = d;
  return true;
}
