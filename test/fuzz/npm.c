/* npm.c - any bytes are an archive of npm or have a problem; files of one stay in its places. */
#include "sandbox/package/package.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static bool begins_with(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

static cay_status look(void *ctx, const char *path, cay_slice bytes, uint32_t mode, cay_error *err) {
  (void)err;
  uint64_t *total = ctx;
  if (!begins_with(path, PACKAGE_NODE_PLACE "/") && !begins_with(path, PACKAGE_SCRIPTS "/")) abort();
  if (strstr(path, "/../") != NULL || strstr(path, "//") != NULL || strlen(path) > 2000) abort();
  if (mode != 0644 && mode != 0755) abort();
  *total += bytes.len;
  if (bytes.len > PACKAGE_FILE_MAX || *total > PACKAGE_MAX) abort();
  return *total > 16 << 20 ? CAY_LIMIT : CAY_OK; /* enough of this one */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  char path[64];
  uint64_t total = 0;
  cay_error err;
  int fd = memfd_create("npm", MFD_CLOEXEC);
  if (fd < 0 || write(fd, data, len) != (ssize_t)len) abort();
  (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  sb_package p = { .path = path, .name = "some-1.0.0.tgz", .each = look, .ctx = &total };
  (void)sb_npm_read_archive(&p, &err);
  (void)close(fd);
  return 0;
}
