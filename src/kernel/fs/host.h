/* host.h - the calls of the host that hostfs.c makes, each as careful as it must be (openat2(2), open(2)).
 *
 * They answer as the host does: -1 and errno. None is called with kernel.mu held. Interrupted ones are made
 * again. */
#pragma once

#include "kernel/inode.h"

#include <time.h>

int host_open_root(int dirfd);                 /* a directory as O_PATH; ENOSYS without openat2 */
int host_open_node(int dir, const char *name); /* one name as O_PATH: a symlink itself, nothing followed */
int host_reopen(
    int node,
    int flags); /* the file that an O_PATH descriptor stands for; never waits for a FIFO or device */
int64_t host_make_file(int dir, const char *name, uint32_t mode); /* must not be there; 0 */
int64_t host_link_node(int node, int dir, const char *name);
int64_t host_change(int node, uint32_t mode, const k_attr *attr);

int64_t host_pread(int fd, void *buf, size_t len, int64_t pos);
int64_t host_pwrite(int fd, const void *buf, size_t len, int64_t pos, bool append);

/* A piece of a directory after `pos` (0: from the start), as host_dirent_at reads it; bytes, 0 at the end. */
int64_t host_list(int fd, int64_t pos, void *buf, size_t cap);
typedef struct host_dirent {
  const char *name; /* in the piece */
  uint64_t ino;
  uint32_t mode;
  int64_t next; /* position after it */
  uint16_t len;
} host_dirent;
host_dirent host_dirent_at(const char *at);

static inline int64_t host_time(const struct timespec *t) {
  return (int64_t)t->tv_sec * NS_PER_SEC + t->tv_nsec;
}

/* A name with its NUL. */
void host_name(k_name name, char out[static K_NAME_MAX + 1]);
