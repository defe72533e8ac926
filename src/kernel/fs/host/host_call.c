/* host_call.c - system calls of the host, repeated after EINTR, with faults on purpose and errors as the
 * guest's (host_call.h). */
#include "kernel/fs/host/host_call.h"

#include "base/alloc.h"
#include "kernel/file/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Since Linux 6.6; headers of the distribution may be older. */
#ifndef __NR_fchmodat2
enum { __NR_fchmodat2 = 452 };
#endif

static long injected(void) {
  errno = EIO;
  return -1;
}

static k_ret host_call_result(long r) { return r < 0 ? -(k_ret)k_errno_from_host(errno) : r; }

/* One attempt after the other until no signal of the embedder interrupts it. */
#define ASK(call)                                                                                            \
  __extension__({                                                                                            \
    long asked_;                                                                                             \
    do asked_ = mem_fault_here() ? injected() : (long)(call);                                                \
    while (asked_ < 0 && errno == EINTR);                                                                    \
    host_call_result(asked_);                                                                                \
  })

/* ---- descriptors ---- */

k_ret host_open(int dir, const char *name, uint64_t flags, uint32_t mode, int highest) {
  struct open_how how = {
    .flags = flags | O_CLOEXEC | O_NOFOLLOW,
    .mode = mode,
    .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
  };
  if ((flags & O_PATH) == 0) how.flags |= O_NONBLOCK | O_NOCTTY | O_LARGEFILE;
  k_ret fd;
  do fd = ASK(syscall(SYS_openat2, dir, name, &how, sizeof how));
  while (fd == -K_EAGAIN); /* something was renamed on the way */
  if (fd == -K_EMFILE) return -K_ENFILE; /* the process's limit, which is not the guest's */
  if (fd <= highest) return fd;
  host_close((int)fd);
  return -K_ENFILE;
}

void host_close(int fd) {
  if (fd >= 0) (void)close(fd); /* never repeated: the number may belong to another file by then */
}

/* ---- attributes ---- */

static const unsigned WANTED = STATX_BASIC_STATS | STATX_BTIME;

k_ret host_stat(int fd, struct statx *out) {
  return ASK(syscall(SYS_statx, fd, "", AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, WANTED, out));
}

k_ret host_stat_open(int fd, struct stat *out) { return ASK(fstat(fd, out)); }

k_ret host_stat_at(int dir, const char *name, struct statx *out) {
  return ASK(syscall(SYS_statx, dir, name, AT_SYMLINK_NOFOLLOW, WANTED, out));
}

k_ret host_readlink_at(int dir, const char *name, char *buf, size_t cap) {
  return ASK(readlinkat(dir, name, buf, cap));
}

k_ret host_statfs(int fd, struct statfs *out) { return ASK(fstatfs(fd, out)); }

k_ret host_readlink(int fd, char *buf, size_t cap) { return ASK(readlinkat(fd, "", buf, cap)); }

k_ret host_chmod(int fd, uint32_t mode) {
  k_ret r = ASK(syscall(__NR_fchmodat2, fd, "", mode, AT_EMPTY_PATH));
  return r == -K_ENOSYS ? -K_EOPNOTSUPP : r;
}

k_ret host_chmod_open(int fd, uint32_t mode) { return ASK(fchmod(fd, mode)); }

k_ret host_utimens(int fd, const struct timespec times[2]) {
  return ASK(utimensat(fd, "", times, AT_EMPTY_PATH));
}

k_ret host_truncate(int fd, uint64_t size) {
  return size > INT64_MAX ? -K_EFBIG : ASK(ftruncate(fd, (off_t)size));
}

/* ---- names ---- */

k_ret host_mkdir(int dir, const char *name, uint32_t mode) { return ASK(mkdirat(dir, name, mode)); }

k_ret host_symlink(const char *target, int dir, const char *name) {
  return ASK(symlinkat(target, dir, name));
}

k_ret host_link(int from_dir, const char *from, int to_dir, const char *to) {
  return ASK(linkat(from_dir, from, to_dir, to, 0));
}

k_ret host_unlink(int dir, const char *name, bool directory) {
  return ASK(unlinkat(dir, name, directory ? AT_REMOVEDIR : 0));
}

k_ret host_rename(int from_dir, const char *from, int to_dir, const char *to, uint32_t flags) {
  return ASK(syscall(SYS_renameat2, from_dir, from, to_dir, to, flags));
}

/* ---- contents ---- */

k_ret host_pread(int fd, void *buf, size_t len, int64_t pos) { return ASK(pread(fd, buf, len, pos)); }

k_ret host_pwrite(int fd, const void *buf, size_t len, int64_t pos, bool append) {
  if (!append) return ASK(pwrite(fd, buf, len, pos));
  struct iovec iov = { (void *)(uintptr_t)buf, len };
  return ASK(pwritev2(fd, &iov, 1, pos, RWF_APPEND));
}

k_ret host_seek(int fd, int64_t pos, int whence) {
  static const int WHENCE[] = { SEEK_SET, SEEK_CUR, SEEK_END, SEEK_DATA, SEEK_HOLE };
  return ASK(lseek(fd, pos, WHENCE[whence]));
}

k_ret host_fsync(int fd) { return ASK(fsync(fd)); }

k_ret host_list(int fd, int64_t pos, void *buf, size_t cap) {
  K_TRY(host_seek(fd, pos, K_SEEK_SET));
  return ASK(syscall(SYS_getdents64, fd, buf, cap));
}
