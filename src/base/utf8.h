/* utf8.h - text in UTF-8 (RFC 3629): no surrogates, no overlong forms, nothing above U+10FFFF. */
#pragma once

#include "base/defs.h"

/* How many of the first `len` bytes are whole, valid characters. */
size_t utf8_valid_len(const void *data, size_t len);

/* How many of the first `len` bytes to hand on now so that no character is cut: all of them but, at most, the
 * last three, when those begin a character whose rest may still come. */
size_t utf8_whole_len(const void *data, size_t len);

/* Copies `len` bytes to `to` with '?' for each byte that belongs to no character; the length does not change.
 */
void utf8_copy_clean(char *to, const void *data, size_t len);
