/* status.h - from the results of the kernel to those of the public interface. */
#pragma once

#include "base/error.h"
#include "kernel/core/errno.h"

/* CAY_OK for values; else the status of errno.def, err->os_errno the guest's number, and a message that
 * begins with its name: "ENOENT: /a/b: no such file or directory". `what` may be NULL. */
cay_status sb_status(cay_error *err, k_ret r, const char *what);
