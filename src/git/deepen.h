/* deepen.h - shallow clones in git's smart protocol, as bytes. */
#pragma once

#include "base/buf.h"
#include "base/defs.h"

#include <cay/status.h>

/* Whether the references of a server come with a capability of that name. */
bool deepen_has_capability(cay_slice references, const char *name);
/* The request with a line that limits the history. CAY_INVALID: it is none. */
cay_status deepen_request(cay_slice request, uint32_t depth, buf *out) CHECKED;
/* The commits at which history ends are appended, a line each; *used: the bytes in front of the rest. CAY_CORRUPT, CAY_LIMIT. */
cay_status deepen_answer(cay_slice answer, buf *shallow, size_t *used, cay_error *err) CHECKED;
