/* vfs_internal.h - what the parts of the path layer share. */
#pragma once

#include "base/buf.h"
#include "kernel/vfs/mount.h"
#include "kernel/vfs/vfs.h"

/* Where the last component of a path is to be found or made. */
typedef struct vfs_last {
  k_inode *dir; /* a reference */
  char name[K_NAME_MAX + 1];
  size_t len;
  bool dot;   /* it is "." or ".." or there is none: `dir` is the thing itself */
  bool slash; /* the path ended with a slash: only a directory will do */
} vfs_last;

/* Everything but the last component. */
k_ret vfs_resolve_last(const vfs_view *v, k_inode *at, const char *path, vfs_last *out) CHECKED;
void vfs_last_clear(vfs_last *last) K_LOCKED;

/* vfs_resolve before opening for reading. *prepared: a reference to the directory that prepared itself for it, or NULL. */
k_ret vfs_resolve_to_read(const vfs_view *v, k_inode *at, const char *path, uint32_t how, k_inode **out,
                          k_inode **prepared) CHECKED K_LOCKED;

/* The last component itself; -K_ENOENT when there is none. Follows mounts, not symlinks. */
k_ret vfs_lookup(const vfs_view *v, k_inode *dir, const char *name, size_t len,
                 k_inode **out) CHECKED K_LOCKED;

/* vfs_truncate without its event. */
k_ret vfs_truncate_untold(const vfs_view *v, k_inode *inode, uint64_t size) CHECKED K_LOCKED;

/* EROFS when the file system of this inode was mounted read-only. */
k_ret vfs_writable(const vfs_view *v, const k_inode *inode) CHECKED K_LOCKED;

static inline k_name vfs_name(const vfs_last *last) { return (k_name){ last->name, last->len }; }
