/* hostfs.h - a directory of the host inside the tree.
 *
 * Every step goes through openat2(2) with RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS, one
 * name at a time, from the descriptor of a directory that was itself reached so: no symlink, "..", rename or
 * mount race leads out. ".." is answered from our own memory. Symlinks are shown to the guest and resolved in
 * the guest's own names. Devices, sockets and FIFOs of the host are listed but cannot be opened. Files appear
 * as owned by the sandbox's user; set-id bits are hidden and never set. Linux 5.8 or later.
 *
 * Limits      a mount holds at most 1024 descriptors of the host (-K_ENFILE), and none of the last quarter of
 * those that the process may have.
 *
 * Locks       operations are called with kernel.mu and release it around each host call.
 *
 * Not here    extended attributes, O_TMPFILE, making FIFOs. */
#pragma once

#include "kernel/vfs/inode.h"

/* `dirfd` is duplicated. -K_ENOTDIR, -K_ENOMEM, -K_ENOSYS when the host has no openat2. */
k_ret hostfs_new(int dirfd, bool writable, k_inode **out) CHECKED K_LOCKED;

/* The same for one regular file, `name` in that directory, of which nothing else can be reached: the root is a file and
 * has no parent in the tree. With the mutex of `k`, whose tree it will be in. -K_EINVAL: it is no regular file. */
k_ret hostfs_new_file(k_kernel *k, int dirfd, const char *name, bool writable, k_inode **out) CHECKED;
