/* base64.h - bytes as text in base64 (RFC 4648, section 4), and back. */
#pragma once

#include "base/buf.h"

cay_status base64_append(buf *out, const void *data, size_t len) CHECKED;

/* Appends the decoded bytes. CAY_INVALID: not base64, padding included. On failure `out` is unchanged. */
cay_status base64_decode(const char *text, size_t len, buf *out) CHECKED;

/* Decodes into memory of the caller (mem_free). */
cay_status base64_decode_new(const char *text, size_t len, cay_buf *out) CHECKED;
