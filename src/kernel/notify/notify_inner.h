/* notify_inner.h - what the two sides of a watch share: the inode (notify.c) and the queue (inotify.c).
 *
 *   k_inode ── watched ── k_watched ── marks ──┬─ notify_mark ──┐
 *      ▲                      │                └─ notify_mark ──┼── inotify (the object of a k_file)
 *      └──── a reference ─────┘                       …         ┘
 *
 * Invariant   a k_watched has marks, or a remembered name, or both; with neither it is freed and gives its reference
 *             to the inode back. */
#pragma once

#include "kernel/notify/notify.h"

typedef struct inotify inotify;

struct k_watched {
  list in_kernel;
  k_inode *inode; /* a reference, one for all marks */
  list marks;
  k_inode *dir; /* a reference: where the name was that was removed while the inode is in use; NULL: none */
  char *name;
  bool gone; /* it has no name any more: its end is told when it is used no longer */
};

typedef struct notify_mark {
  list in_watched, in_inotify;
  k_watched *watched;
  inotify *inotify;
  int32_t wd;
  uint32_t mask; /* events, IN_EXCL_UNLINK, IN_ONESHOT */
} notify_mark;

enum { K_IN_EXCL_UNLINK = 0x04000000, K_IN_ONESHOT = 0x80000000 };

enum {
  NOTIFY_BUCKETS_LOG = 8,
  NOTIFY_BUCKETS = 1 << NOTIFY_BUCKETS_LOG /* of the marks of an inotify descriptor */
};

/* The bucket of a watch descriptor. The seed is odd and unknown to guests, which choose the descriptors that they keep: no
 * choice puts them all into one bucket. */
static inline size_t notify_bucket(int32_t wd, uint64_t seed) {
  return (uint64_t)wd * seed >> (64 - NOTIFY_BUCKETS_LOG);
}

/* The record of an inode, found or made; made without marks, so the caller adds one or calls notify_watched_drop.
 * -K_ENOMEM. */
k_ret notify_watched_of(k_inode *inode, k_watched **out) CHECKED K_LOCKED;
void notify_watched_drop(k_watched *w) K_LOCKED; /* frees it if it is of no use any more */

/* Takes the mark from both sides and frees it, with an event IN_IGNORED if `tell`. The k_watched stays. */
void notify_mark_end(notify_mark *m, bool tell) K_LOCKED;

/* An event for the queue of a mark. name.len 0: none. */
void notify_put(notify_mark *m, uint32_t event, uint32_t cookie, k_name name) K_LOCKED;
