/* errno.h - the results of kernel functions: a value, or minus an error of errno.def (errno(3)).
 *
 * Two results stay inside: -K_ERESTART asks the C library of the guest to call again after a handler has run
 * (SA_RESTART), and -K_EKILLED says that the process is ending and its thread must leave the guest at once. */
#pragma once

#include "base/defs.h"

#include <cay/status.h>

typedef int64_t k_ret;

enum k_errno {
#define E(name, linux_number, wasi, status, text) K_E##name = linux_number,
#include "kernel/core/errno.def"
#undef E
  K_ERESTART = 512,
  K_EKILLED = 513,
};

const char *k_errno_name(int number);  /* "ENOENT"; "E?" when unknown; static */
const char *k_errno_text(int number);  /* "no such file or directory"; static */
cay_status k_errno_status(int number); /* CAY_NOT_FOUND                       */
int k_errno_from_host(int host_errno); /* a host errno a guest may see; unknown ones become K_EIO */
