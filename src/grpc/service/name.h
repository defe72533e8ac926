/* name.h - the name and description of code in the cache.
 *
 * A comment at the beginning says what the code does; without one the names that it exports or defines do, then the
 * first function that it calls. The language does not matter much: //, #, C's comments and triple quotes begin a comment. */
#pragma once

#include "base/digest.h"

#include <cay/status.h>

enum { NAME_STEM = 48, NAME_TEXT = 200, NAME_MAX_LEN = NAME_STEM + DIGEST_HEX + 8 };

typedef struct code_name {
  char stem[NAME_STEM]; /* "list-pods"; never empty */
  char text[NAME_TEXT]; /* "Lists the pods of a namespace"; may be empty */
} code_name;

void code_name_of(cay_slice code, code_name *out);

/* "list-pods-abc123.ts" with so many digits of the digest. */
void code_name_full(const code_name *name, const digest *of, size_t digits, const char *suffix,
                    char out[static NAME_MAX_LEN]);
