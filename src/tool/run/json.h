/* json.h - JSON as tools speak it: read by yyjson, whose memory comes from base/alloc.h. */
#pragma once

#include "base/buf.h"
#include "tool/run/code.h"

#include "base/json.h"

/* TOOL_NOT_UTF8 or TOOL_NOT_JSON in *end with the place, or the document (yyjson_doc_free). Out of memory is
 * CAY_NO_MEMORY; then *end is untouched. */
cay_status tool_json_read(const void *data, size_t len, yyjson_doc **out, tool_end *end,
                          cay_error *err) CHECKED;

/* The document as text, at the end of `out`. CAY_NO_MEMORY, CAY_LIMIT. */
cay_status tool_json_write(yyjson_mut_doc *doc, buf *out, cay_error *err) CHECKED;

/* Whether a member of this object stands twice: two readers would see two things. Looks at no more than 64
 * members; an object with more counts as one that has. */
bool tool_json_has_twin(yyjson_val *object);

static inline void yyjson_doc_free_p(yyjson_doc **doc) { yyjson_doc_free(*doc); }
static inline void yyjson_mut_doc_free_p(yyjson_mut_doc **doc) { yyjson_mut_doc_free(*doc); }
