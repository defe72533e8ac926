/* proc_fd.h - a descriptor that is no file of the tree (a pipe, a stream), as the inode that /proc/self/fd/N
 * leads to. Opening it gives the same open file again, if it was opened for what is wanted (-K_EACCES).
 *
 * Locks       require kernel.mu. */
#pragma once

#include "kernel/file.h"

/* `fs`: the file system to count it to. -K_ENOMEM. */
k_ret proc_fd_inode(k_file *f, void *fs, k_inode **out) CHECKED;
