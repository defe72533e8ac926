/* mapped.c - files of the host mapped read-only, and their lengths (mapped.h). */
#include "sandbox/mapped.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static cay_status mapped_map(int fd, const char *path, sb_mapped *out, cay_error *err) {
  struct stat st;
  if (mem_fault_here() || fstat(fd, &st) != 0) return err_errno(err, errno, "%s", path);
  if (!S_ISREG(st.st_mode)) return err_set(err, CAY_INVALID, "%s is not a file", path);
  if (st.st_size == 0) {
    *out = (sb_mapped){ 0 };
    return CAY_OK;
  }
  void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (data == MAP_FAILED) return err_errno(err, errno, "%s", path);
  *out = (sb_mapped){ data, (size_t)st.st_size };
  return CAY_OK;
}

cay_status sb_map_file(const char *path, sb_mapped *out, cay_error *err) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT) return err_set(err, CAY_NOT_FOUND, "%s: no such file", path);
  if (fd < 0) return err_errno(err, errno, "%s", path);
  cay_status status = mapped_map(fd, path, out, err);
  close(fd);
  return status;
}

cay_status sb_file_len(const char *path, uint64_t *out, cay_error *err) {
  struct stat st;
  bool known = !mem_fault_here() && stat(path, &st) == 0;
  if (!known && errno == ENOENT) return err_set(err, CAY_NOT_FOUND, "%s: no such file", path);
  if (!known) return err_errno(err, errno, "%s", path);
  if (!S_ISREG(st.st_mode)) return err_set(err, CAY_INVALID, "%s is not a file", path);
  *out = (uint64_t)st.st_size;
  return CAY_OK;
}

void sb_unmap(sb_mapped *m) {
  if (m->data != NULL) munmap(m->data, m->len);
  *m = (sb_mapped){ 0 };
}
