/* files.c - the files of an audit log: locking, names of older ones, and the last whole record (files.h). */
#include "tool/audit/files.h"

#include "base/error.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

bool audit_file_is_current(int fd, const char *path) {
  struct stat ours, named;
  return fstat(fd, &ours) == 0 && stat(path, &named) == 0 && ours.st_ino == named.st_ino &&
         ours.st_dev == named.st_dev;
}

static int lock(int fd) {
  int code;
  do code = flock(fd, LOCK_EX);
  while (code != 0 && errno == EINTR);
  return code;
}

cay_status audit_file_lock(const char *path, bool make, int *fd, cay_error *err) {
  for (;;) {
    int one = open(path, O_RDWR | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (make ? O_CREAT : 0), 0600);
    struct stat st;
    if (one < 0 && errno == ENOENT && !make) return err_set(err, CAY_NOT_FOUND, "%.150s: no such file", path);
    if (one < 0) return err_errno(err, errno, "%.150s", path);
    cay_status status = CAY_OK;
    if (fstat(one, &st) != 0 || !S_ISREG(st.st_mode))
      status = err_set(err, CAY_INVALID, "%.150s: not a regular file", path);
    else if (lock(one) != 0)
      status = err_errno(err, errno, "%.150s: cannot be locked", path);
    if (status == CAY_OK && audit_file_is_current(one, path)) {
      *fd = one;
      return CAY_OK;
    }
    (void)close(one);
    if (status != CAY_OK) return status;
  }
}

void audit_file_name(const char *path, uint64_t number, char *out, size_t cap) {
  (void)snprintf(out, cap, "%s.%llu", path, (unsigned long long)number);
}

static int files_compare(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

static bool files_number_of(const char *entry, const char *name, uint64_t *out) {
  size_t len = strlen(name);
  if (strncmp(entry, name, len) != 0 || entry[len] != '.' || entry[len + 1] < '1' || entry[len + 1] > '9')
    return false;
  char *end;
  errno = 0;
  *out = strtoull(entry + len + 1, &end, 10);
  return *end == '\0' && errno == 0;
}

cay_status audit_files_older(const char *path, buf *out, cay_error *err) {
  char folder[PATH_MAX];
  const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
  (void)snprintf(folder, sizeof folder, "%.*s", slash != NULL ? (int)(slash - path) + 1 : 1,
                 slash != NULL ? path : ".");
  DIR *dir = opendir(folder);
  if (dir == NULL) return err_errno(err, errno, "%.150s", folder);
  cay_status status = CAY_OK;
  for (struct dirent *entry; status == CAY_OK && (entry = readdir(dir)) != NULL;) {
    uint64_t number;
    if (files_number_of(entry->d_name, name, &number)) status = buf_append(out, &number, sizeof number);
  }
  (void)closedir(dir);
  if (status != CAY_OK) return err_no_memory(err);
  if (out->len != 0) qsort(out->data, out->len / sizeof(uint64_t), sizeof(uint64_t), files_compare);
  return CAY_OK;
}

/* The last line that is a record, looked for from the end: what stands behind it is damage, which is left as
 * verification handles it. */
cay_status audit_file_tail(int fd, audit_place *out, bool *whole, cay_error *err) {
  char window[16 * TOOL_AUDIT_LINE_MAX];
  struct stat st;
  *out = (audit_place){ 0 };
  memcpy(out->hash, AUDIT_NO_HASH, DIGEST_HEX);
  *whole = true;
  if (fstat(fd, &st) != 0) return err_errno(err, errno, "audit log");
  size_t len = st.st_size < (off_t)sizeof window ? (size_t)st.st_size : sizeof window;
  if (len == 0) return CAY_OK;
  ssize_t n = pread(fd, window, len, st.st_size - (off_t)len);
  if (n != (ssize_t)len) return err_errno(err, n < 0 ? errno : EIO, "audit log");
  *whole = window[len - 1] == '\n';
  for (size_t end = len; end > 0;) {
    size_t start = end - 1; /* of the line that ends before `end` */
    while (start > 0 && window[start - 1] != '\n') start--;
    size_t stop = window[end - 1] == '\n' ? end - 1 : end;
    audit_place place;
    if (audit_line_read((cay_slice){ window + start, stop - start }, NULL, &place) == NULL) {
      *out = place;
      return CAY_OK;
    }
    end = start;
  }
  return CAY_OK;
}
