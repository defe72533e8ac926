/* utf8.h - text in UTF-8 (RFC 3629): no surrogates, no overlong forms, nothing above U+10FFFF. */
#pragma once

#include "base/defs.h"

enum utf8_part {
  UTF8_CHARACTER,
  UTF8_ILL_FORMED, /* a maximal ill-formed part (Unicode 15, section 3.9) */
  UTF8_CUT,        /* the beginning of a character, at the end of the bytes */
};

/* Length and kind of the part that the bytes at `data` begin with. `left`, at least 1, is their number. */
size_t utf8_scan(const void *data, size_t left, enum utf8_part *part);

/* The first character of `len` bytes, at least one: its length, 1 to 4, or 0 when no character begins there. */
size_t utf8_next(const void *data, size_t len, uint32_t *out);

/* How many of the first `len` bytes are whole, valid characters. */
size_t utf8_valid_len(const void *data, size_t len);
bool utf8_is_valid(const void *data, size_t len); /* all of them */

/* How many of the first `len` bytes to hand on now so that no character is cut: all of them but, at most, the
 * last three, when those begin a character whose rest may still come. */
size_t utf8_whole_len(const void *data, size_t len);

/* Copies `len` bytes to `to` with '?' for each byte that belongs to no character; the length does not change. */
void utf8_copy_clean(char *to, const void *data, size_t len);
