/* hostfs_inner.h - the inodes of a directory of the host; private to host*.c.
 *
 * An inode holds one O_PATH descriptor, which also keeps the host from giving its number to another file, and
 * the directory and name under which it was last seen. The chain of those leads to the root, so ".." never
 * asks the host. What the host renames behind our back makes a name stale; an open by that name finds
 * another one there, gives that back and answers -K_ESTALE, upon which paths are resolved again.
 *
 * Invariant   one live inode for each file of the host (device and number); no inode is its own ancestor.
 *
 * Locks       kernel.mu for all fields; while it is released only `fd` of an inode that is held may be used. */
#pragma once

#include "kernel/file/file.h"
#include "kernel/fs/host/host_call.h"
#include "kernel/fs/host/hostfs.h"

enum { HOST_BUCKETS = 64, HOST_DESCRIPTORS = 1024 };

typedef struct host_node host_node;

typedef struct hostfs {
  host_node *root; /* borrowed: it lives as long as any other */
  bool writable;
  uint32_t descriptors; /* of the host, in use by this mount; at most HOST_DESCRIPTORS */
  int highest;          /* the highest descriptor that we take; the rest is the embedder's */
  list nodes[HOST_BUCKETS];
} hostfs;

/* A descriptor for reading or writing. A thread that uses it without kernel.mu counts as a user. */
typedef struct host_handle {
  int fd;
  uint32_t users; /* the open file is one until it is released; the last one closes */
  list in_writers;
} host_handle;

struct host_node {
  k_inode base; /* first */
  hostfs *fs;
  list in_bucket;
  int fd;       /* O_PATH */
  int made;     /* the descriptor under which it was created, for the first to open it; -1: none */
  list writers; /* of host_handle: those open for writing */
  uint64_t dev, ino, size;
  int64_t mtime_ns, ctime_ns; /* when last looked at: who sees them change forgets the runner's note */
  host_node *parent;          /* a reference; NULL for the root */
  char *name;                 /* in `parent`; NULL for the root */
  bool gone;                  /* that name leads elsewhere now */
};

static inline host_node *host_of(k_inode *i) { return CONTAINER_OF(i, host_node, base); }

extern const k_inode_ops host_inode_ops;

/* Around each call to the host. Before the root is mounted there is no mutex. */
void host_leave(const hostfs *fs) K_RELEASES;
void host_return(const hostfs *fs) K_ACQUIRES;

/* A descriptor is about to be opened. -K_ENFILE. */
k_ret host_count(hostfs *fs) CHECKED;
void host_uncount(hostfs *fs);
/* Closed and given back; may release and retake kernel.mu. */
void host_close_counted(hostfs *fs, int fd);

/* ---- nodes (host_node.c) ---- */

/* The inode of this O_PATH descriptor, found or made. Takes the (counted) descriptor over, also on failure.
 * dir NULL: the root. */
k_ret host_adopt(hostfs *fs, host_node *dir, const char *name, int fd, const struct statx *st,
                 host_node **out) CHECKED K_LOCKED;
void host_node_release(k_inode *i) K_LOCKED;
bool host_node_is(const host_node *n, const struct statx *st); /* the file that this tells of */
host_node *host_node_named(const hostfs *fs, const host_node *dir, const char *name); /* live, or NULL */
void host_node_moved(host_node *n, host_node *dir, char *name) K_LOCKED; /* takes `name` over (mem_alloc) */
void host_node_changed(host_node *n);                                    /* its contents did */
void host_node_seen(host_node *n, const struct statx *st);

/* ---- inodes (hostfs.c) ---- */

typedef char host_text[K_NAME_MAX + 1];
void host_text_of(k_name name, host_text out);

/* The present file of this name. */
k_ret host_look(host_node *dir, const char *name, host_node **out) CHECKED;

/* A descriptor for reading or writing of the very file or directory that `n` is. -K_EACCES: neither;
 * -K_ESTALE: its name leads elsewhere. Counted. */
k_ret host_reopen(host_node *n, uint64_t flags) CHECKED;

/* ---- open files (host_file.c) ---- */

k_ret host_open_file(k_inode *inode, uint32_t flags, k_file **out) CHECKED K_LOCKED;
void host_handle_drop(hostfs *fs, host_handle *h); /* one user less; may release and retake kernel.mu */

/* ---- names (host_names.c) ---- */

k_ret host_create(k_inode *dir, k_name name, uint32_t mode, uint32_t uid, uint32_t gid, uint64_t rdev,
                  k_inode **out) CHECKED;
k_ret host_make_symlink(k_inode *dir, k_name name, const char *target, size_t len, uint32_t uid,
                        uint32_t gid) CHECKED;
k_ret host_make_link(k_inode *dir, k_name name, k_inode *target) CHECKED;
k_ret host_remove(k_inode *dir, k_name name, bool directory) CHECKED;
k_ret host_move(k_inode *from, k_name old_name, k_inode *to, k_name new_name, uint32_t flags) CHECKED;
