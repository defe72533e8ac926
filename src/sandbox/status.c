#include "sandbox/status.h"

cay_status sb_status(cay_error *err, k_ret r, const char *what) {
  if (r >= 0) return CAY_OK;
  int number = (int)-r;
  cay_status status = k_errno_status(number);
  if (what != NULL)
    err_set(err, status, "%s: %.150s: %s", k_errno_name(number), what, k_errno_text(number));
  else
    err_set(err, status, "%s: %s", k_errno_name(number), k_errno_text(number));
  if (err != NULL) err->os_errno = number;
  return status;
}
