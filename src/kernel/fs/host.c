#include "kernel/fs/host.h"

#include "base/alloc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BENEATH = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };

static int beneath(int dir, const char *name, uint64_t flags, uint64_t mode, uint64_t resolve) {
  struct open_how how = { .flags = flags | O_CLOEXEC, .mode = mode, .resolve = resolve };
  if (mem_fault_here()) {
    errno = EIO;
    return -1;
  }
  long fd;
  do fd = syscall(SYS_openat2, dir, name, &how, sizeof how);
  while (fd < 0 &&
         (errno == EINTR || errno == EAGAIN)); /* EAGAIN: something was renamed during the look-up */
  return (int)fd;
}

int host_open_root(int dirfd) { return beneath(dirfd, ".", O_PATH | O_DIRECTORY, 0, BENEATH); }

/* With O_PATH | O_NOFOLLOW the last component may be a symlink: the link itself is what is opened, so only
 * links in between are refused, and a single name has none. RESOLVE_NO_SYMLINKS would refuse to show links.
 */
int host_open_node(int dir, const char *name) {
  return beneath(dir, name, O_PATH | O_NOFOLLOW, 0, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
}

/* Through the descriptor itself, by the kernel's link to it: the name may mean something else by now. */
static void link_to(int fd, char out[static 32]) { snprintf(out, 32, "/proc/self/fd/%d", fd); }

int host_reopen(int node, int flags) {
  char path[32];
  int fd;
  if ((flags & O_DIRECTORY) != 0) return beneath(node, ".", (uint64_t)flags, 0, BENEATH);
  link_to(node, path);
  do fd = open(path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  while (fd < 0 && errno == EINTR);
  return fd;
}

int64_t host_make_file(int dir, const char *name, uint32_t mode) {
  int fd = beneath(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode, BENEATH);
  if (fd < 0) return -1;
  close(fd);
  return 0;
}

int64_t host_link_node(int node, int dir, const char *name) {
  char path[32];
  link_to(node, path);
  return linkat(AT_FDCWD, path, dir, name, AT_SYMLINK_FOLLOW);
}

static struct timespec to_timespec(bool wanted, int64_t ns) {
  if (!wanted) return (struct timespec){ .tv_nsec = UTIME_OMIT };
  int64_t sec = ns / NS_PER_SEC, rest = ns % NS_PER_SEC;
  if (rest < 0) sec--, rest += NS_PER_SEC;
  return (struct timespec){ .tv_sec = sec, .tv_nsec = rest };
}

static int change_size(int node, uint64_t size) {
  int fd = host_reopen(node, O_WRONLY);
  if (fd < 0) return -1;
  int r = ftruncate(fd, (off_t)size), saved = errno;
  close(fd);
  errno = saved;
  return r;
}

int64_t host_change(int node, uint32_t mode, const k_attr *attr) {
  char path[32];
  link_to(node, path);
  if ((attr->which & K_ATTR_SIZE) && change_size(node, attr->size) != 0) return -1;
  bool link = (mode & K_S_IFMT) == K_S_IFLNK;
  if ((attr->which & K_ATTR_MODE) && !link && chmod(path, attr->mode & 01777) != 0) return -1;
  if (attr->which & (K_ATTR_ATIME | K_ATTR_MTIME)) {
    struct timespec t[2] = { to_timespec(attr->which & K_ATTR_ATIME, attr->atime_ns),
                             to_timespec(attr->which & K_ATTR_MTIME, attr->mtime_ns) };
    return link ? utimensat(node, "", t, AT_EMPTY_PATH) : utimensat(AT_FDCWD, path, t, 0);
  }
  return 0;
}

int64_t host_pread(int fd, void *buf, size_t len, int64_t pos) {
  ssize_t n;
  do n = pread(fd, buf, len, pos);
  while (n < 0 && errno == EINTR);
  return n;
}

int64_t host_pwrite(int fd, const void *buf, size_t len, int64_t pos, bool append) {
  ssize_t n;
  if (append) pos = lseek(fd, 0, SEEK_END);
  if (pos < 0) return -1;
  do n = pwrite(fd, buf, len, pos);
  while (n < 0 && errno == EINTR);
  return n;
}

int64_t host_list(int fd, int64_t pos, void *buf, size_t cap) {
  if (lseek(fd, pos, SEEK_SET) < 0) return -1;
  return getdents64(fd, buf, cap);
}

static uint32_t mode_of(unsigned char type) { return type == DT_UNKNOWN ? K_S_IFREG : (uint32_t)type << 12; }

host_dirent host_dirent_at(const char *at) {
  const struct dirent64 *d = (const void *)at;
  return (host_dirent){ d->d_name, d->d_ino, mode_of(d->d_type), d->d_off, d->d_reclen };
}

void host_name(k_name name, char out[static K_NAME_MAX + 1]) {
  memcpy(out, name.data, name.len);
  out[name.len] = '\0';
}
