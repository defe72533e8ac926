/* json.h - what the library itself writes as JSON. */
#pragma once

#include "base/buf.h"

/* A string of JSON, with its quotes. Bytes that are no UTF-8 become question marks. CAY_NO_MEMORY, CAY_LIMIT. */
cay_status sb_json_text(buf *to, const char *text) CHECKED;
