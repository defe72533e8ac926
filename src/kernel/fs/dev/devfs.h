/* devfs.h - /dev: null zero full random urandom tty ptmx stdin stdout stderr fd (null(4), random(4), tty(4),
 * ptmx(4), fd(4)), and the directories shm and pts.
 * /dev/fd/N and /dev/stdin lead to the descriptors of the process that opens them. */
#pragma once

#include "kernel/vfs/inode.h"

k_ret devfs_new(k_inode **out) CHECKED;
