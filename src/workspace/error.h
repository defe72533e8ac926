/* error.h - filling a cay_ws_error.
 *
 * Below the public functions failures are plain cay_error (base/error.h). Where the meaning for the caller is known,
 * one of these makes a cay_ws_error of it. `err` may be NULL. All return the status of the failure. */
#pragma once

#include "base/defs.h"

#include <cay/workspace.h>

cay_status ws_fail(cay_ws_error *err, cay_ws_code code, cay_status status, const char *subject,
                   const char *format, ...) PRINTF(5, 6);

/* `cause` is copied; `code` is taken unless the status has a code of its own: CAY_NO_MEMORY is MemoryExceeded, CAY_TIMEOUT
 * Timeout, CAY_UNSUPPORTED BackendUnavailable, CAY_INTERNAL EnforcerFailed. */
cay_status ws_fail_from(cay_ws_error *err, cay_ws_code code, const char *subject, const cay_error *cause);

cay_status ws_no_memory(cay_ws_error *err);

/* Puts a context in front of the message and makes it a failure of provisioning, except for PathTraversal. */
cay_status ws_fail_entry(cay_ws_error *err, cay_status status, size_t index, const char *path);

/* A path in a message, cut so that the reason behind it has room. Of base/text.h; lives to the end of the block. */
#define WS_PATH_NAME(path) text_name((char[120]){ 0 }, 120, (path), strlen(path))

/* Every path outside of a workspace is refused with this. */
cay_status ws_traversal(cay_ws_error *err, const char *path, const char *why);
