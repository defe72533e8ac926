/* Files that are made whole or not at all: written under another name beside their own, then renamed. A reader with
 * the old one mapped keeps it. */
#include "base/alloc.h"
#include "base/error.h"
#include "engine/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

cay_status eng_file_put(int fd, const void *data, size_t len, uint64_t offset, const char *what,
                        cay_error *err) {
  for (const char *at = data; len > 0;) {
    if (mem_fault_here()) return err_errno(err, EIO, "writing %s", what);
    ssize_t n = pwrite(fd, at, len, (off_t)offset);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return err_errno(err, n < 0 ? errno : EIO, "writing %s", what);
    at += n;
    len -= (size_t)n;
    offset += (uint64_t)n;
  }
  return CAY_OK;
}

bool eng_file_get(int fd, void *out, size_t len, uint64_t offset) {
  for (char *at = out; len > 0;) {
    ssize_t n = pread(fd, at, len, (off_t)offset);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    len -= (size_t)n;
    offset += (uint64_t)n;
  }
  return true;
}

cay_status eng_file_make(const char *path, eng_fill_fn *fill, void *ctx, cay_error *err) {
  size_t len = strlen(path);
  char *temporary = mem_alloc(len + sizeof ".XXXXXX");
  if (temporary == NULL) return err_no_memory(err);
  memcpy(temporary, path, len);
  memcpy(temporary + len, ".XXXXXX", sizeof ".XXXXXX");

  int fd = mkostemp(temporary, O_CLOEXEC);
  cay_status status = fd < 0 ? err_errno(err, errno, "%s", temporary) : fill(ctx, fd, err);
  if (fd >= 0 && fchmod(fd, 0644) != 0 && status == CAY_OK) status = err_errno(err, errno, "%s", temporary);
  if (fd >= 0 && close(fd) != 0 && status == CAY_OK) status = err_errno(err, errno, "%s", temporary);
  if (status == CAY_OK && rename(temporary, path) != 0) status = err_errno(err, errno, "%s", path);
  if (status != CAY_OK && fd >= 0) (void)unlink(temporary);
  mem_free(temporary);
  return status;
}
