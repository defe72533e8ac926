/* host_call.h - the calls to the host that hostfs makes, each of which can be made to fail on purpose.
 *
 * A name is always one component, and every descriptor it starts from was itself opened so: nothing here can
 * follow a symlink or go up. EINTR is repeated; errors are those of the guest.
 *
 * Locks       called without kernel.mu: any of these may wait for a disk or a network. */
#pragma once

#include "kernel/vfs/inode.h"

#include <sys/stat.h>

struct statfs;

/* openat2(2), close-on-exec, never waiting for the other side of a FIFO. `highest`: a descriptor above it is
 * given back at once (-K_ENFILE), so that guests leave the embedder some. */
k_ret host_open(int dir, const char *name, uint64_t flags, uint32_t mode, int highest) CHECKED;
void host_close(int fd); /* below 0: nothing */

k_ret host_stat(int fd, struct statx *out) CHECKED; /* works on O_PATH descriptors */
struct stat;
k_ret host_stat_open(int fd, struct stat *out) CHECKED; /* the same without the time of birth, faster */
k_ret host_stat_at(int dir, const char *name, struct statx *out) CHECKED; /* of the name itself */
k_ret host_readlink_at(int dir, const char *name, char *buf, size_t cap) CHECKED;
k_ret host_statfs(int fd, struct statfs *out) CHECKED;
k_ret host_readlink(int fd, char *buf, size_t cap) CHECKED;

k_ret host_chmod(int fd, uint32_t mode) CHECKED;      /* fd may be O_PATH; -K_EOPNOTSUPP on old hosts */
k_ret host_chmod_open(int fd, uint32_t mode) CHECKED; /* fd is open for reading or writing */
k_ret host_utimens(int fd, const struct timespec times[2]) CHECKED; /* fd may be O_PATH, since Linux 5.8 */
k_ret host_truncate(int fd, uint64_t size) CHECKED;

k_ret host_mkdir(int dir, const char *name, uint32_t mode) CHECKED;
k_ret host_symlink(const char *target, int dir, const char *name) CHECKED;
k_ret host_link(int from_dir, const char *from, int to_dir, const char *to) CHECKED;
k_ret host_unlink(int dir, const char *name, bool directory) CHECKED;
k_ret host_rename(int from_dir, const char *from, int to_dir, const char *to, uint32_t flags) CHECKED;

k_ret host_pread(int fd, void *buf, size_t len, int64_t pos) CHECKED;
k_ret host_pwrite(int fd, const void *buf, size_t len, int64_t pos, bool append) CHECKED;
k_ret host_seek(int fd, int64_t pos, int whence) CHECKED; /* K_SEEK_* */
k_ret host_fsync(int fd) CHECKED;
k_ret host_list(int fd, int64_t pos, void *buf, size_t cap) CHECKED; /* getdents64(2) from a position */
