/* text.h - bytes of guests as JSON can carry them: UTF-8 that is valid. */
#pragma once

#include "base/buf.h"

/* Appends `len` bytes, each maximal ill-formed part replaced by U+FFFD (Unicode 15, section 3.9). False: out
 * of memory. */
bool text_put_utf8(buf *out, const void *data, size_t len);
