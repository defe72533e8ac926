/* error.h - filling a cay_error (see <cay/status.h>).
 *
 * The innermost function that knows the reason fills it; outer ones put their context in front:
 *   return err_set(err, CAY_DENIED, "%s is not a directory", path);
 *   return err_prefix(err, status, "mount %s", path);     gives "mount /data: …"
 * `err` may be NULL everywhere. A message that does not fit is cut. Both return the status they were given. */
#pragma once

#include "base/defs.h"

#include <cay/status.h>

cay_status err_set(cay_error *err, cay_status status, const char *format, ...) PRINTF(3, 4);
cay_status err_errno(cay_error *err, int os_errno, const char *format, ...)
    PRINTF(3, 4); /* CAY_IO, adds strerror */
cay_status err_no_memory(cay_error *err);
cay_status err_prefix(cay_error *err, cay_status status, const char *format, ...) PRINTF(3, 4);

/* The analyser reads one file at a time: that these never answer CAY_OK it has to be told. */
#ifdef __clang_analyzer__
#define err_set(err, status, ...) ((void)err_set(err, status, __VA_ARGS__), (status))
#define err_errno(err, ...) ((void)err_errno(err, __VA_ARGS__), CAY_IO)
#define err_no_memory(err) ((void)err_no_memory(err), CAY_NO_MEMORY)
#endif
