/* json.h - what is missing between yyjson and this library. */
#pragma once

#include "base/buf.h"

#include <yyjson.h>

/* Its memory is ours (base/alloc.h). */
extern const yyjson_alc SB_JSON_ALLOC;

/* A string of JSON, with its quotes. Bytes that are no UTF-8 become question marks. CAY_NO_MEMORY, CAY_LIMIT.
 */
cay_status sb_json_text(buf *to, const char *text) CHECKED;
