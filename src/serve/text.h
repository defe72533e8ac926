/* text.h - bytes of guests as JSON can carry them: UTF-8 that is valid, or base64 (RFC 4648). */
#pragma once

#include "base/buf.h"

/* Appends `len` bytes, each maximal ill-formed part replaced by U+FFFD (Unicode 15, section 3.9). False: out
 * of memory. */
bool text_put_utf8(buf *out, const void *data, size_t len);

bool text_put_base64(buf *out, const void *data, size_t len);

/* Decodes into memory that is the caller's (mem_free). CAY_INVALID: not base64; CAY_NO_MEMORY. */
cay_status text_from_base64(const char *text, size_t len, cay_buf *out) CHECKED;
