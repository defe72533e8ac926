/* hash.c - hashes of text, in an interpreter that is copied.
 *
 * Strings keep their hash, and dictionaries are ordered by it, so an image has one seed and all its copies share
 * it. What a copy reads or makes has a seed of the copy's own all the same: while the image is made, every text
 * that is hashed is noted; in a copy, a text that was noted has its old hash, and any other has a new one. Equal
 * texts have equal hashes, since noted is noted. doc/adr/hash-seeds.md has the reasons.
 *
 * Without an image (or with PYTHONHASHSEED, which asks for an interpreter without one) there is one seed, as in
 * CPython. The linker puts this function in the place of CPython's (--wrap).
 */
#include <Python.h>

#include "pycore_pyhash.h"

Py_hash_t __wrap__Py_HashBytes(const void *text, Py_ssize_t len);

int cay_hash_note(void);
int cay_hash_settle(void);
void cay_hash_reseed(const void *seed);

enum { SMALLEST = 1 << 14 };

/* While the image is made, whole hashes of 64 bits; 0 is free. Afterwards their upper halves at the places of
 * their lower ones: half the memory, of which a copy reads little. The capacity is a power of two. */
static struct {
  enum { ALONE, NOTING, COPIED } mode;
  uint64_t seed[2];
  uint64_t *noted;
  uint32_t *settled;
  size_t mask, count;
} texts;

static inline uint64_t rotate(uint64_t x, int by) { return x << by | x >> (64 - by); }

static inline void siphash_round(uint64_t v[static 4]) {
  v[0] += v[1], v[2] += v[3];
  v[1] = rotate(v[1], 13) ^ v[0], v[3] = rotate(v[3], 16) ^ v[2];
  v[0] = rotate(v[0], 32);
  v[2] += v[1], v[0] += v[3];
  v[1] = rotate(v[1], 17) ^ v[2], v[3] = rotate(v[3], 21) ^ v[0];
  v[2] = rotate(v[2], 32);
}

/* The last bytes, of which there are fewer than eight, as a number. Some are read twice. */
static inline uint64_t siphash_tail(const unsigned char *text, size_t len) {
  uint32_t first, last;
  if (len < sizeof first)
    return len ? text[0] | (uint64_t)text[len / 2] << 8 * (len / 2) | (uint64_t)text[len - 1] << 8 * (len - 1)
               : 0;
  memcpy(&first, text, sizeof first);
  memcpy(&last, text + len - sizeof last, sizeof last);
  return first | (uint64_t)last << 8 * (len - sizeof last);
}

/* SipHash-1-3, as Python/pyhash.c has it. */
static uint64_t siphash13(uint64_t k0, uint64_t k1, const unsigned char *text, size_t len) {
  uint64_t v[4] = { k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261,
                    k1 ^ 0x7465646279746573 };
  uint64_t last = (uint64_t)len << 56, word;
  for (; len >= sizeof word; len -= sizeof word, text += sizeof word) {
    memcpy(&word, text, sizeof word);
    v[3] ^= word;
    siphash_round(v);
    v[0] ^= word;
  }
  last |= siphash_tail(text, len);
  v[3] ^= last;
  siphash_round(v);
  v[0] ^= last;
  v[2] ^= 0xff;
  for (int i = 0; i < 3; i++) siphash_round(v);
  return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static inline uint32_t upper(uint64_t hash) { return hash >> 32 ? (uint32_t)(hash >> 32) : 1; }

static uint64_t *noted_place(uint64_t *noted, size_t mask, uint64_t hash) {
  size_t i = (size_t)hash & mask;
  while (noted[i] && noted[i] != hash) i = (i + 1) & mask;
  return &noted[i];
}

static uint32_t *settled_place(uint64_t hash) {
  size_t i = (size_t)hash & texts.mask;
  while (texts.settled[i] && texts.settled[i] != upper(hash)) i = (i + 1) & texts.mask;
  return &texts.settled[i];
}

static int noted_grow(void) {
  size_t cap = texts.noted ? 2 * (texts.mask + 1) : SMALLEST;
  uint64_t *grown = calloc(cap, sizeof *grown);
  if (!grown) return -1;
  for (size_t i = 0; texts.noted && i <= texts.mask; i++)
    if (texts.noted[i]) *noted_place(grown, cap - 1, texts.noted[i]) = texts.noted[i];
  free(texts.noted);
  texts.noted = grown;
  texts.mask = cap - 1;
  return 0;
}

/* Without memory for a note nothing is divided: all copies have the image's seed alone. */
static void note(uint64_t hash) {
  if (texts.settled) {
    *settled_place(hash) = upper(hash);
    return;
  }
  uint64_t *place = noted_place(texts.noted, texts.mask, hash);
  if (!hash || *place) return;
  *place = hash;
  if (++texts.count * 2 > texts.mask && noted_grow() < 0) texts.mode = ALONE;
}

int cay_hash_note(void) {
  if (noted_grow() < 0) return -1;
  texts.mode = NOTING;
  return 0;
}

int cay_hash_settle(void) {
  if (texts.mode != NOTING || texts.settled) return 0;
  texts.settled = calloc(texts.mask + 1, sizeof *texts.settled);
  if (!texts.settled) return -1;
  for (size_t i = 0; i <= texts.mask; i++)
    if (texts.noted[i]) *settled_place(texts.noted[i]) = upper(texts.noted[i]);
  free(texts.noted);
  texts.noted = NULL;
  return 0;
}

void cay_hash_reseed(const void *seed) {
  if (texts.mode != NOTING || !texts.settled) return;
  memcpy(texts.seed, seed, sizeof texts.seed);
  _Py_HashSecret.expat.hashsalt =
      (Py_hash_t)siphash13(texts.seed[0], texts.seed[1], (const unsigned char *)"expat", 5);
  texts.mode = COPIED;
}

Py_hash_t __wrap__Py_HashBytes(const void *text, Py_ssize_t len) {
  if (!len) return 0;
  uint64_t hash = siphash13(_Py_HashSecret.siphash.k0, _Py_HashSecret.siphash.k1, text, (size_t)len);
  if (texts.mode == COPIED && hash && !*settled_place(hash))
    hash = siphash13(texts.seed[0], texts.seed[1], text, (size_t)len);
  else if (texts.mode == NOTING)
    note(hash);
  Py_hash_t shortened = (Py_hash_t)hash;
  return shortened == -1 ? -2 : shortened;
}
