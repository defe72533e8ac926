/* proc_fd.h - a descriptor that is no file of the tree (a pipe, a stream), as the inode that /proc/self/fd/N
 * leads to; and the text of /proc/self/fdinfo/N, for any.
 *
 * Locks       require kernel.mu. */
#pragma once

#include "base/buf.h"
#include "kernel/proc/process.h"

/* Opening it gives the same open file again, if its access mode allows it (-K_EACCES). `fs`: the file
 * system to count it to. -K_ENOMEM. */
k_ret proc_fd_inode(k_file *f, void *fs, k_inode **out) CHECKED K_LOCKED;

/* Appends what proc(5) says of descriptor `fd`: position, flags, and what an eventfd counts. -K_ENOENT: it is
 * closed, -K_ENOMEM. */
k_ret proc_fdinfo(const k_process *p, int32_t fd, buf *out) CHECKED K_LOCKED;
