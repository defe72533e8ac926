/* glob.h - the filter of a list of names. */
#pragma once

#include "base/defs.h"

#include <cay/status.h>

enum { GLOB_MAX = 256 }; /* bytes of a filter */

/* With `*` (any text) or `?` (one character) in it a filter is a pattern for the whole name, else a part of it. ASCII
 * letters are compared without case. Time is bounded by the product of the lengths. */
bool glob_matches(cay_slice filter, cay_slice name);
bool glob_has_part(cay_slice part, cay_slice name);
