/* notify.h - changes of the file tree, told to their watchers (inotify(7)).
 *
 * The path layer and open file descriptions call these functions after each change or use of an inode. The event
 * goes to the watches of the inode itself and, with the name, to those of its directory. Without any watch in the
 * kernel a call is one comparison. None of them fails: an event that cannot be kept becomes an overflow of its queue.
 *
 * The name is the one under which the inode is found in its directory now; for a file with several names, the one
 * that was used last. When a name is removed while the inode is in use and the directory is watched, it is
 * remembered until the last user is gone.
 *
 * Locks       all require kernel.mu. */
#pragma once

#include "kernel/vfs/inode.h"

/* Events, as inotify(7) numbers them. */
enum {
  K_IN_ACCESS = 1,
  K_IN_MODIFY = 2,
  K_IN_ATTRIB = 4,
  K_IN_CLOSE_WRITE = 8,
  K_IN_CLOSE_NOWRITE = 0x10,
  K_IN_OPEN = 0x20,
  K_IN_MOVED_FROM = 0x40,
  K_IN_MOVED_TO = 0x80,
  K_IN_CREATE = 0x100,
  K_IN_DELETE = 0x200,
  K_IN_DELETE_SELF = 0x400,
  K_IN_MOVE_SELF = 0x800,
  K_IN_ALL_EVENTS = 0xfff,
  K_IN_UNMOUNT = 0x2000,
  K_IN_Q_OVERFLOW = 0x4000,
  K_IN_IGNORED = 0x8000,
  K_IN_ISDIR = 0x40000000,
};

typedef struct k_watched k_watched;

K_LOCKED static inline bool k_notify_wanted(const k_inode *i) {
  return i->kernel != NULL && i->kernel->watches != 0;
}

/* The inode was used or changed: K_IN_ACCESS to K_IN_OPEN. */
void k_notify_used(k_inode *i, uint32_t event) K_LOCKED;
K_LOCKED static inline void k_notify(k_inode *i, uint32_t event) {
  if (k_notify_wanted(i)) k_notify_used(i, event);
}

/* These K_ATTR_* of the inode were set. */
void k_notify_attributes(k_inode *i, uint32_t which) K_LOCKED;

/* The name was made in `dir`, for an inode of this type. */
void k_notify_created(k_inode *dir, k_name name, uint32_t mode) K_LOCKED;

/* One more name of `target` was made in `dir`. */
void k_notify_linked(k_inode *dir, k_name name, k_inode *target) K_LOCKED;

/* The name of `inode` was removed from `dir`. The caller holds one reference to `inode`. May ask the host. */
void k_notify_removed(k_inode *dir, k_name name, k_inode *inode) K_LOCKED;

typedef struct k_notify_place {
  k_inode *dir;
  k_name name;
  k_inode *inode; /* that was there before; NULL: none */
} k_notify_place;

/* What `from` named is at `to` now; with `exchange` the other way round, too, and else what `to` named has lost that
 * name. May ask the host. */
void k_notify_moved(const k_notify_place *from, const k_notify_place *to, bool exchange) K_LOCKED;

/* The file system goes: its watches end. */
void k_notify_unmounted(k_kernel *k, const void *fs) K_LOCKED;

/* Of k_inode_unref: the watches hold the last reference to `w`'s inode, nothing else does. */
void k_notify_unused(k_watched *w) K_LOCKED;
