/* mount.h - which file systems make up the tree, and where (mount(2)).
 *
 * The root is a memfs. Others cover a directory: path resolution steps from the covered directory to the root
 * of the mount and from there back up. The embedder mounts; guests cannot.
 *
 * Locks       all require kernel.mu. */
#pragma once

#include "kernel/vfs/vfs.h"

typedef struct vfs_mount {
  list in_mounts;
  k_inode *covered, *root; /* references; covered NULL for the root mount */
  char *path;              /* where, for /proc/mounts */
  const char *type;        /* "tmpfs", "hostfs", "overlay" (copy-on-write), "devfs", "proc": static */
  bool writable;
} vfs_mount;

k_ret vfs_mounts_new(k_kernel *k,
                     k_inode *root) CHECKED K_LOCKED; /* sets kernel.mounts; takes `root` over on success */
void vfs_mounts_free(k_kernel *k) K_LOCKED;

/* Mounts `root` (taken over on success) on the directory `path`, which is made if missing. -K_EBUSY when
 * something is mounted there. */
k_ret vfs_mount_add(k_kernel *k, const char *path, const char *type, k_inode *root, bool writable) CHECKED;

/* -K_EINVAL: no mount there; -K_EBUSY: a process has its working directory or an open file in it. */
k_ret vfs_mount_remove(k_kernel *k, const char *path) CHECKED;

/* The root of the mount that this path leads to, a reference, and its type. -K_EINVAL: no mount there. */
k_ret vfs_mount_find(k_kernel *k, const char *path, k_inode **root, const char **type) CHECKED K_LOCKED;

k_inode *vfs_mounts_root(k_kernel *k) K_LOCKED; /* borrowed */
vfs_mount *vfs_mount_of(
    k_kernel *k, const k_inode *inode) K_LOCKED; /* by inode->fs; never NULL for an inode of the tree */
typedef bool vfs_mount_fn(void *ctx, const vfs_mount *m);
void vfs_mounts_each(k_kernel *k, vfs_mount_fn *each, void *ctx) K_LOCKED;
