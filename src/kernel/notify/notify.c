/* notify.c - from a change of an inode to the watches that want to know. */
#include "kernel/notify/notify_inner.h"

#include "base/alloc.h"

#include <string.h>

static const k_name no_name = { 0 };

/* ---- the record of a watched inode ---- */

k_ret notify_watched_of(k_inode *inode, k_watched **out) {
  k_kernel *k = inode->kernel;
  if (inode->watched == NULL) {
    K_TRY(k_memory_charge(k, sizeof(k_watched)));
    k_watched *w = mem_zalloc(sizeof *w);
    if (w == NULL) {
      k_memory_uncharge(k, sizeof *w);
      return -K_ENOMEM;
    }
    w->inode = k_inode_ref(inode);
    list_init(&w->marks);
    list_push(&k->watched, &w->in_kernel);
    inode->watched = w;
  }
  *out = inode->watched;
  return 0;
}

K_LOCKED static void notify_forget_name(k_watched *w) {
  k_inode *dir = w->dir;
  if (dir == NULL) return;
  k_memory_uncharge(w->inode->kernel, strlen(w->name) + 1);
  mem_free(w->name);
  w->name = NULL;
  w->dir = NULL;
  k_inode_unref(dir);
}

K_LOCKED static void notify_watched_free(k_watched *w) {
  k_inode *inode = w->inode;
  notify_forget_name(w);
  list_remove(&w->in_kernel);
  k_memory_uncharge(inode->kernel, sizeof *w);
  mem_free(w);
  inode->watched = NULL;
  k_inode_unref(inode);
}

void notify_watched_drop(k_watched *w) {
  if (list_empty(&w->marks) && w->dir == NULL) notify_watched_free(w);
}

/* ---- telling ---- */

/* To all marks of one inode that ask for it. `unlinked`: the name is one that was removed. */
K_LOCKED static void notify_tell(k_watched *w, uint32_t event, uint32_t cookie, k_name name, bool unlinked) {
  LIST_EACH_SAFE (m, &w->marks, notify_mark, in_watched) {
    if ((m->mask & event & K_IN_ALL_EVENTS) == 0 || (unlinked && (m->mask & K_IN_EXCL_UNLINK) != 0)) continue;
    notify_put(m, event, cookie, name);
    if ((m->mask & K_IN_ONESHOT) != 0) notify_mark_end(m, true);
  }
}

K_LOCKED static void notify_tell_inode(k_inode *i, uint32_t event, uint32_t cookie, k_name name) {
  if (i->watched == NULL) return;
  notify_tell(i->watched, event, cookie, name, false);
  notify_watched_drop(i->watched);
}

static uint32_t notify_type_of(uint32_t mode) { return (mode & K_S_IFMT) == K_S_IFDIR ? K_IN_ISDIR : 0; }

/* To the directory whose name the inode has lost. */
K_LOCKED static void notify_former_directory(const k_watched *w, uint32_t event) {
  if (w->dir->watched != NULL)
    notify_tell(w->dir->watched, event, 0, (k_name){ w->name, strlen(w->name) }, true);
}

K_LOCKED static void notify_directory(k_inode *i, uint32_t event) {
  char name[K_NAME_MAX];
  OWNED(k_inode_unref) k_inode *dir = NULL;
  if (i->ops->parent == NULL || i->ops->name_of == NULL || i->ops->parent(i, &dir) < 0) return;
  if (dir == i || dir->watched == NULL) return;
  k_ret len = i->ops->name_of(i, name, sizeof name);
  if (len > 0) notify_tell_inode(dir, event, 0, (k_name){ name, (size_t)len });
}

void k_notify_used(k_inode *i, uint32_t event) {
  event |= notify_type_of(i->mode);
  if (i->watched != NULL && i->watched->dir != NULL)
    notify_former_directory(i->watched, event);
  else
    notify_directory(i, event);
  notify_tell_inode(i, event, 0, no_name);
}

void k_notify_attributes(k_inode *i, uint32_t which) {
  const uint32_t both = K_ATTR_ATIME | K_ATTR_MTIME;
  uint32_t event = 0;
  if (!k_notify_wanted(i)) return;
  if ((which & (K_ATTR_MODE | K_ATTR_UID | K_ATTR_GID)) != 0 || (which & both) == both) event |= K_IN_ATTRIB;
  if ((which & both) == K_ATTR_ATIME) event |= K_IN_ACCESS;
  if ((which & both) == K_ATTR_MTIME || (which & K_ATTR_SIZE) != 0) event |= K_IN_MODIFY;
  k_notify_used(i, event);
}

void k_notify_created(k_inode *dir, k_name name, uint32_t mode) {
  notify_tell_inode(dir, K_IN_CREATE | notify_type_of(mode), 0, name);
}

void k_notify_linked(k_inode *dir, k_name name, k_inode *target) {
  if (!k_notify_wanted(dir)) return;
  notify_tell_inode(target, K_IN_ATTRIB, 0, no_name);
  notify_tell_inode(dir, K_IN_CREATE, 0, name);
}

/* ---- losing a name ---- */

/* Somebody but the caller and the watches has a reference. */
K_LOCKED static bool notify_is_in_use(const k_inode *i) { return i->refs > (i->watched != NULL ? 2u : 1u); }

/* Without memory for it, what the inode is used for from now on is not told to the directory. */
K_LOCKED static void notify_remember_name(k_inode *dir, k_name name, k_inode *i) {
  k_watched *w = NULL;
  if (dir->watched == NULL || !notify_is_in_use(i) || notify_watched_of(i, &w) < 0) return;
  notify_forget_name(w);
  if (k_memory_charge(i->kernel, name.len + 1) >= 0) {
    w->name = mem_strndup(name.data, name.len);
    if (w->name != NULL)
      w->dir = k_inode_ref(dir);
    else
      k_memory_uncharge(i->kernel, name.len + 1);
  }
  notify_watched_drop(w);
}

static bool notify_has_no_name(k_inode *i) {
  k_stat st;
  return k_is_dir(i) || i->ops->stat(i, &st) < 0 || st.nlink == 0;
}

/* The end of an inode that was removed. */
K_LOCKED static void notify_end(k_watched *w) {
  notify_tell(w, K_IN_DELETE_SELF, 0, no_name, false);
  LIST_EACH_SAFE (m, &w->marks, notify_mark, in_watched) notify_mark_end(m, true);
  notify_watched_free(w);
}

K_LOCKED static void notify_lost_name(k_inode *dir, k_name name, k_inode *i) {
  bool gone = i->watched != NULL && notify_has_no_name(i); /* the watches may go meanwhile */
  if (i->watched != NULL) i->watched->gone = gone;
  notify_remember_name(dir, name, i);
}

void k_notify_removed(k_inode *dir, k_name name, k_inode *inode) {
  if (!k_notify_wanted(dir)) return;
  if (!k_is_dir(inode)) notify_tell_inode(inode, K_IN_ATTRIB, 0, no_name);
  notify_lost_name(dir, name, inode);
  if (inode->watched != NULL && inode->watched->gone && !notify_is_in_use(inode)) notify_end(inode->watched);
  notify_tell_inode(dir, K_IN_DELETE | notify_type_of(inode->mode), 0, name);
}

void k_notify_unused(k_watched *w) {
  if (w->gone)
    notify_end(w);
  else if (w->dir != NULL) {
    notify_forget_name(w);
    notify_watched_drop(w);
  }
}

/* ---- moving ---- */

K_LOCKED static void notify_move(const k_notify_place *from, const k_notify_place *to, bool replaces) {
  uint32_t type = notify_type_of(from->inode->mode), cookie = ++from->dir->kernel->moves_told;
  notify_tell_inode(from->dir, K_IN_MOVED_FROM | type, cookie, from->name);
  notify_tell_inode(to->dir, K_IN_MOVED_TO | type, cookie, to->name);
  if (replaces) {
    notify_tell_inode(to->inode, K_IN_ATTRIB | notify_type_of(to->inode->mode), 0, no_name);
    notify_lost_name(to->dir, to->name, to->inode);
  }
  notify_tell_inode(from->inode, K_IN_MOVE_SELF, 0, no_name);
}

void k_notify_moved(const k_notify_place *from, const k_notify_place *to, bool exchange) {
  if (!k_notify_wanted(from->dir)) return;
  notify_move(from, to, to->inode != NULL && !exchange);
  if (exchange) notify_move(to, from, false);
}

/* ---- unmounting ---- */

void k_notify_unmounted(k_kernel *k, const void *fs) {
  LIST_EACH_SAFE (w, &k->watched, k_watched, in_kernel) {
    if (w->inode->fs != fs) continue;
    LIST_EACH_SAFE (m, &w->marks, notify_mark, in_watched) {
      notify_put(m, K_IN_UNMOUNT, 0, no_name);
      notify_mark_end(m, true);
    }
    notify_watched_free(w);
  }
}
