/* error.h - filling a cay_error (see <cay/status.h>).
 *
 * The innermost function that knows the reason fills it; outer ones put their context in front:
 *   return err_set(err, CAY_DENIED, "%s is not a directory", path);
 *   return err_prefix(err, status, "mount %s", path);     gives "mount /data: …"
 * `err` may be NULL everywhere. A message that does not fit is cut. Both return the status they were given.
 */
#pragma once

#include "base/defs.h"

#include <cay/status.h>

cay_status err_set(cay_error *err, cay_status status, const char *format, ...) PRINTF(3, 4);
cay_status err_errno(cay_error *err, int os_errno, const char *format, ...)
    PRINTF(3, 4); /* CAY_IO, adds strerror */
cay_status err_no_memory(cay_error *err);
cay_status err_prefix(cay_error *err, cay_status status, const char *format, ...) PRINTF(3, 4);
