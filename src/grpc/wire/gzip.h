/* gzip.h - compressed messages (RFC 1952): one member, nothing behind it. */
#pragma once

#include "base/buf.h"

/* Appends to `out`, up to out->max. CAY_CORRUPT: not gzip, cut, or damaged. CAY_LIMIT, CAY_NO_MEMORY. */
cay_status gzip_unpack(cay_slice packed, buf *out) CHECKED;
cay_status gzip_pack(cay_slice plain, buf *out) CHECKED;
