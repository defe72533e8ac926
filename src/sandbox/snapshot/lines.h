/* lines.h - which lines of two texts differ (Myers, "An O(ND) Difference Algorithm and Its Variations").
 *
 * The shortest script up to a bound of edits; beyond it the differing middle is replaced as a whole, which is a correct
 * script too, and a fast one. */
#pragma once

#include "base/defs.h"

#include <cay/status.h>

typedef struct sb_lines {
  const char **at; /* count + 1: the last is the end of the text */
  size_t count;
  bool *changed; /* removed from the first text, or added in the second */
} sb_lines;

typedef struct sb_line_diff {
  sb_lines a, b;
} sb_line_diff;

/* Borrows both texts. CAY_NO_MEMORY. */
cay_status sb_lines_compare(cay_slice a, cay_slice b, sb_line_diff *out, cay_error *err) CHECKED;
void sb_lines_free(sb_line_diff *d);
