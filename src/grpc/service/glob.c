/* glob.c - patterns with wildcards, and parts of a name, matched without regard to case (glob.h). */
#include "grpc/service/glob.h"

#include <string.h>

static uint8_t lower(uint8_t c) { return c >= 'A' && c <= 'Z' ? (uint8_t)(c | 0x20) : c; }

static bool glob_same(const uint8_t *a, const uint8_t *b, size_t len) {
  for (size_t i = 0; i < len; i++)
    if (lower(a[i]) != lower(b[i])) return false;
  return true;
}

bool glob_has_part(cay_slice part, cay_slice name) {
  for (size_t at = 0; at + part.len <= name.len; at++)
    if (glob_same(part.data, (const uint8_t *)name.data + at, part.len)) return true;
  return false;
}

/* The bytes of the character at the front. */
static size_t char_len(const uint8_t *at, size_t left) {
  size_t len = 1;
  while (len < left && (at[len] & 0xc0) == 0x80) len++;
  return len;
}

/* After a mismatch the last star takes one byte more: earlier stars need not be tried again. */
static bool pattern_matches(cay_slice filter, cay_slice name) {
  const uint8_t *f = filter.data, *n = name.data;
  size_t fi = 0, ni = 0, star = SIZE_MAX, star_ni = 0;
  while (ni < name.len) {
    if (fi < filter.len && f[fi] == '*') {
      star = fi++;
      star_ni = ni;
    } else if (fi < filter.len && f[fi] == '?') {
      ni += char_len(n + ni, name.len - ni);
      fi++;
    } else if (fi < filter.len && lower(f[fi]) == lower(n[ni])) {
      fi++, ni++;
    } else if (star != SIZE_MAX) {
      fi = star + 1;
      ni = ++star_ni;
    } else {
      return false;
    }
  }
  while (fi < filter.len && f[fi] == '*') fi++;
  return fi == filter.len;
}

bool glob_matches(cay_slice filter, cay_slice name) {
  if (filter.len == 0) return true;
  bool pattern = memchr(filter.data, '*', filter.len) != NULL || memchr(filter.data, '?', filter.len) != NULL;
  return pattern ? pattern_matches(filter, name) : glob_has_part(filter, name);
}
