/* random.c - bytes of getrandom(2), and a generator by nettle's ChaCha20 with its seeds (random.h). */
#include "base/random.h"

#include "base/alloc.h"
#include "base/digest.h"
#include "base/error.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

cay_status random_bytes(void *out, size_t len, cay_error *err) {
  uint8_t *at = out;
  while (len != 0) {
    ssize_t n = mem_fault_here() ? (errno = EIO, -1) : getrandom(at, len, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return err_errno(err, errno, "reading randomness of the host");
    at += n;
    len -= (size_t)n;
  }
  return CAY_OK;
}

static void random_start(rng *r, const uint8_t key[static CHACHA_KEY_SIZE]) {
  static const uint8_t nonce[CHACHA_NONCE_SIZE];
  *r = (rng){ 0 };
  chacha_set_key(&r->stream, key);
  chacha_set_nonce(&r->stream, nonce);
}

cay_status rng_seed(rng *r, cay_error *err) {
  uint8_t key[CHACHA_KEY_SIZE];
  S_TRY(random_bytes(key, sizeof key, err));
  random_start(r, key);
  explicit_bzero(key, sizeof key);
  return CAY_OK;
}

void rng_seed_number(rng *r, uint64_t seed) {
  uint8_t text[] = "cay randomness: 01234567";
  for (size_t i = 0; i < 8; i++) text[sizeof text - 9 + i] = (uint8_t)(seed >> 8 * i);
  digest key = digest_of(text, sizeof text);
  static_assert(sizeof key.bytes == CHACHA_KEY_SIZE, "the digest is the key");
  random_start(r, key.bytes);
}

static void refill(rng *r) {
  static const uint8_t zeros[sizeof r->block];
  chacha_crypt(&r->stream, sizeof r->block, r->block, zeros);
  r->left = sizeof r->block;
}

void rng_bytes(rng *r, void *out, size_t len) {
  uint8_t *at = out;
  while (len != 0) {
    if (r->left == 0) refill(r);
    size_t n = len < r->left ? len : r->left;
    uint8_t *from = r->block + sizeof r->block - r->left;
    memcpy(at, from, n);
    memset(from, 0, n); /* so that no later memory dump holds bytes that were handed out */
    r->left -= n;
    at += n;
    len -= n;
  }
}

uint64_t rng_u64(rng *r) {
  uint64_t value;
  rng_bytes(r, &value, sizeof value);
  return value;
}
