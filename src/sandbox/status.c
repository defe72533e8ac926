/* status.c - a result of the kernel as a cay_status and a message (status.h). */
#include "sandbox/status.h"

#include "base/text.h"

#include <string.h>

cay_status sb_status(cay_error *err, k_ret r, const char *what) {
  if (r >= 0) return CAY_OK;
  char name[160];
  int number = (int)-r;
  cay_status status = k_errno_status(number);
  if (what != NULL)
    err_set(err, status, "%s: %s: %s", k_errno_name(number), text_name(name, sizeof name, what, strlen(what)),
            k_errno_text(number));
  else
    err_set(err, status, "%s: %s", k_errno_name(number), k_errno_text(number));
  if (err != NULL) err->os_errno = number;
  return status;
}
