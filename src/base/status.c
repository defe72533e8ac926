/* status.c - the functions of cay/status.h. */
#include <cay/status.h>

#include "base/alloc.h"

const char *cay_version(void) { return CAY_VERSION; }

const char *cay_status_name(cay_status status) {
  static const char *const names[] = {
    [CAY_OK] = "ok",
    [CAY_INVALID] = "invalid",
    [CAY_NO_MEMORY] = "no_memory",
    [CAY_NOT_FOUND] = "not_found",
    [CAY_EXISTS] = "exists",
    [CAY_DENIED] = "denied",
    [CAY_LIMIT] = "limit",
    [CAY_TIMEOUT] = "timeout",
    [CAY_CANCELLED] = "cancelled",
    [CAY_BUSY] = "busy",
    [CAY_CORRUPT] = "corrupt",
    [CAY_UNSUPPORTED] = "unsupported",
    [CAY_IO] = "io",
    [CAY_INTERNAL] = "internal",
  };
  return (size_t)status < COUNT_OF(names) ? names[status] : "unknown";
}

void cay_buf_free(cay_buf *buf) {
  if (buf == NULL) return;
  mem_free(buf->data);
  *buf = (cay_buf){ 0 };
}
