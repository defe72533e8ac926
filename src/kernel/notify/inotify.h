/* inotify.h - inotify(7): a descriptor that gives the changes of inodes as records to read.
 *
 * A queue holds at most K_INOTIFY_EVENTS events; the one that does not fit, or for which there is no memory, becomes
 * IN_Q_OVERFLOW. An event that equals the last one of the queue is dropped. Instances, watches and events are charged
 * to the memory of the sandbox.
 *
 * Locks       all require kernel.mu. */
#pragma once

#include "kernel/file/file.h"

enum {
  K_INOTIFY_INSTANCES = 128, /* in a kernel; one more answers -K_EMFILE  */
  K_INOTIFY_WATCHES = 65536, /* in a kernel; one more answers -K_ENOSPC  */
  K_INOTIFY_EVENTS = 16384,  /* in a queue                               */
};

/* What inotify_add_watch(2) takes beside events. */
enum {
  K_IN_ONLYDIR = 0x01000000,
  K_IN_DONT_FOLLOW = 0x02000000,
  K_IN_MASK_CREATE = 0x10000000,
  K_IN_MASK_ADD = 0x20000000,
};

k_ret k_inotify_new(k_kernel *k, uint32_t flags, k_file **out) CHECKED K_LOCKED; /* flags: K_O_NONBLOCK */

/* 0, or what inotify_add_watch(2) answers for this mask and file before it looks at the path. */
k_ret k_inotify_check(const k_file *f, uint32_t mask) CHECKED;

/* The watch descriptor of `inode`, whose read permission was checked. -K_ENOSPC, -K_ENOMEM, -K_EEXIST
 * (K_IN_MASK_CREATE). */
k_ret k_inotify_add(k_file *f, k_inode *inode, uint32_t mask) CHECKED K_LOCKED;
k_ret k_inotify_remove(k_file *f, int32_t wd) CHECKED K_LOCKED; /* -K_EINVAL */
