/* mem_names.c - looking up, making, removing and moving names in a memfs.
 *
 * Each change gets everything that may fail first (entry, inode, quota), and then cannot fail any more. */
#include "kernel/fs/mem/mem_inode.h"

#include "base/alloc.h"
#include "kernel/vfs/vfs.h"

#include <string.h>

/* ---- looking ---- */

k_ret mem_lookup(k_inode *dir, k_name name, k_process *viewer, k_inode **out) {
  (void)viewer;
  if (!k_is_dir(dir)) return -K_ENOTDIR;
  if (mem_of(dir)->fs->lazy) K_TRY(mem_dir_fill_below(mem_of(dir), name));
  mem_entry *e;
  K_TRY(mem_dir_find(mem_of(dir), name, &e));
  *out = k_inode_ref(&e->inode->base);
  return 0;
}

k_ret mem_parent(k_inode *dir, k_inode **out) {
  mem_inode *i = mem_of(dir);
  /* A file without a name: its directory may be gone. */
  if (!k_is_dir(dir) && i->dir.entry == NULL) return -K_ENOENT;
  *out = k_inode_ref(i->dir.parent != NULL ? &i->dir.parent->base : dir);
  return 0;
}

k_ret mem_name_of(k_inode *dir, char *buf, size_t cap) {
  const mem_entry *e = mem_of(dir)->dir.entry;
  if (e == NULL) return -K_ENOENT;
  if (e->len > cap) return -K_ENAMETOOLONG;
  memcpy(buf, e->name, e->len);
  return (k_ret)e->len;
}

/* The path of `dir` and a name in it, from the end of `buf` backwards; NULL when it does not fit. */
static char *path_in(const mem_inode *dir, const char *name, size_t len, char *buf, size_t cap) {
  char *at = buf + cap - 1;
  *at = '\0';
  for (;;) {
    if (len + 1 > (size_t)(at - buf)) return NULL;
    at -= len;
    memcpy(at, name, len);
    *--at = '/';
    const mem_entry *e = dir->dir.entry;
    if (e == NULL) return at;
    name = e->name;
    len = e->len;
    dir = dir->dir.parent;
  }
}

void mem_was_forget(mem_inode *i, k_kernel *k) {
  if (i->was == NULL) return;
  if (k != NULL) k_memory_uncharge(k, strlen(i->was) + 1);
  mem_free(i->was);
  i->was = NULL;
}

/* A process that has it open may ask for its name (/proc/self/fd): only then is the name kept, and charged. */
K_LOCKED static void remember(mem_inode *i, const mem_inode *dir, const mem_entry *e) {
  char buf[K_PATH_MAX];
  if (i->base.refs == 1 || (!k_is_dir(&i->base) && i->nlink > 1)) return;
  const char *path = path_in(dir, e->name, e->len, buf, sizeof buf);
  k_kernel *k = i->base.kernel;
  mem_was_forget(i, k);
  if (path == NULL || k_memory_charge(k, strlen(path) + 1) < 0) return;
  i->was = mem_strdup(path);
  if (i->was == NULL) k_memory_uncharge(k, strlen(path) + 1);
}

k_ret mem_was(k_inode *inode, char *buf, size_t cap) {
  const mem_inode *i = mem_of(inode);
  if (i->was == NULL) return -K_ENOENT;
  size_t len = strlen(i->was);
  if (len > cap) return -K_ENAMETOOLONG;
  memcpy(buf, i->was, len);
  return (k_ret)len;
}

/* ---- making ---- */

/* An entry for a new name in a directory that still exists. */
K_LOCKED static k_ret new_name(mem_inode *dir, k_name name, mem_entry **out) {
  mem_entry *e;
  if (dir->nlink == 0) return -K_ENOENT;
  k_ret r = mem_dir_find(dir, name, &e);
  if (r >= 0) return -K_EEXIST;
  return r == -K_ENOENT ? mem_dir_reserve(dir, name, out) : r;
}

K_LOCKED static k_ret link_in(mem_inode *dir, mem_entry *e, mem_inode *i) {
  K_TRY(mem_touch(dir));
  mem_dir_set(dir, e, i);
  mem_stamp(dir, true);
  return 0;
}

/* Gives the new inode its first name; both are given back on failure. */
K_LOCKED static k_ret name_first(mem_inode *dir, mem_entry *e, mem_inode *i) {
  i->nlink = k_is_dir(&i->base) ? 2 : 1;
  k_ret r = link_in(dir, e, i);
  if (r < 0) {
    i->nlink = 0;
    k_inode_unref(&i->base);
    mem_dir_abandon(dir, e);
  }
  return r;
}

/* In a directory with the set-group bit new files belong to its group, and new directories have the bit too. */
K_LOCKED static k_ret new_inode(const mem_inode *dir, uint32_t mode, uint32_t uid, uint32_t gid,
                                mem_inode **out) {
  if ((dir->base.mode & K_S_ISGID) == 0) return mem_inode_new(dir->fs, mode, uid, gid, out);
  if ((mode & K_S_IFMT) == K_S_IFDIR) mode |= K_S_ISGID;
  return mem_inode_new(dir->fs, mode, uid, dir->gid, out);
}

k_ret mem_create(k_inode *base, k_name name, uint32_t mode, uint32_t uid, uint32_t gid, uint64_t rdev,
                 k_inode **out) {
  mem_inode *dir = mem_of(base), *i = NULL;
  mem_entry *e;
  K_TRY(new_name(dir, name, &e));
  k_ret r = new_inode(dir, mode, uid, gid, &i);
  if (r < 0) {
    mem_dir_abandon(dir, e);
    return r;
  }
  i->rdev = rdev;
  K_TRY(name_first(dir, e, i));
  *out = k_inode_ref(&i->base);
  return 0;
}

k_ret mem_create_unnamed(k_inode *base, uint32_t mode, uint32_t uid, uint32_t gid, bool linkable,
                         k_inode **out) {
  mem_inode *i = NULL;
  if (mem_of(base)->nlink == 0) return -K_ENOENT;
  K_TRY(new_inode(mem_of(base), mode, uid, gid, &i));
  i->linkable = linkable;
  *out = &i->base;
  return 0;
}

/* The text of a symlink is charged like contents. */
K_LOCKED static k_ret set_target(mem_inode *i, const char *target, size_t len) {
  k_kernel *k = mem_kernel(i);
  if (k != NULL && (k->used.disk > k->limits.disk || len > k->limits.disk - k->used.disk)) return -K_ENOSPC;
  i->target = mem_strndup(target, len);
  if (i->target == NULL) return -K_ENOMEM;
  if (k == NULL) return 0;
  k->used.disk += len;
  i->contents.charged = len;
  if (k->used.disk > k->used.disk_peak) k->used.disk_peak = k->used.disk;
  return 0;
}

k_ret mem_symlink(k_inode *base, k_name name, const char *target, size_t len, uint32_t uid, uint32_t gid) {
  mem_inode *dir = mem_of(base), *i = NULL;
  mem_entry *e;
  K_TRY(new_name(dir, name, &e));
  k_ret r = new_inode(dir, K_S_IFLNK | 0777, uid, gid, &i);
  if (r >= 0) r = set_target(i, target, len);
  if (r < 0) {
    if (i != NULL) k_inode_unref(&i->base);
    mem_dir_abandon(dir, e);
    return r;
  }
  return name_first(dir, e, i);
}

/* One more name of a file that has one, or may be given its first. */
K_LOCKED static k_ret count_name(mem_inode *i) {
  K_TRY(mem_touch(i));
  return i->nlink > 0 ? mem_count_link(i) : 0;
}

k_ret mem_link(k_inode *base, k_name name, k_inode *target) {
  mem_inode *dir = mem_of(base), *i = mem_of(target);
  mem_entry *e;
  if (i->nlink >= K_LINK_MAX) return -K_EMLINK;
  if (i->nlink == 0 && !i->linkable) return -K_ENOENT;
  K_TRY(new_name(dir, name, &e));
  k_ret r = mem_touch(dir);
  if (r >= 0) r = count_name(i);
  if (r < 0) {
    mem_dir_abandon(dir, e);
    return r;
  }
  i->linkable = false;
  i->nlink++;
  mem_stamp(i, false);
  k_inode_ref(target);
  return link_in(dir, e, i);
}

/* ---- removing ---- */

/* A name of it is gone, and the reference that the name held. */
K_LOCKED static void lost_name(mem_inode *old) {
  mem_inode_unlinked(old);
  mem_stamp(old, false);
  mem_dirty(old);
  k_inode_unref(&old->base);
}

/* Taking away must be possible when the quota is used up: what cannot be counted is changed all the same. */
K_LOCKED static void touch_anyway(mem_inode *i) {
  if (mem_touch(i) < 0) mem_dirty(i);
}

k_ret mem_unlink(k_inode *base, k_name name, bool directory) {
  mem_inode *dir = mem_of(base);
  mem_entry *e;
  K_TRY(mem_dir_find(dir, name, &e));
  mem_inode *i = e->inode;
  if (directory != k_is_dir(&i->base)) return directory ? -K_ENOTDIR : -K_EISDIR;
  if (directory && i->dir.count != 0) return -K_ENOTEMPTY;
  touch_anyway(dir);
  mem_stamp(dir, true);
  remember(i, dir, e);
  mem_dir_clear(dir, e);
  lost_name(i);
  return 0;
}

/* ---- moving ---- */

K_LOCKED static void moved_in(mem_inode *from, mem_inode *to, mem_inode *moved) {
  touch_anyway(from);
  touch_anyway(to);
  mem_stamp(from, true);
  mem_stamp(to, true);
  mem_stamp(moved, false);
  mem_dirty(moved);
}

K_LOCKED static k_ret exchange(mem_inode *from, mem_entry *a, mem_inode *to, mem_entry *b) {
  mem_inode *x = a->inode;
  mem_inode *y = mem_dir_replace(to, b, x);
  (void)mem_dir_replace(from, a, y);
  moved_in(from, to, x);
  moved_in(to, from, y);
  return 0;
}

/* Over a name that is there: it keeps its place. Cannot fail. */
K_LOCKED static k_ret move_over(mem_inode *from, mem_entry *a, mem_inode *to, mem_entry *b) {
  remember(b->inode, to, b);
  mem_inode *moved = mem_dir_clear(from, a);
  mem_inode *old = mem_dir_replace(to, b, moved);
  moved_in(from, to, moved);
  lost_name(old);
  return 0;
}

K_LOCKED static k_ret move_to_new(mem_inode *from, mem_entry *a, mem_inode *to, k_name new_name) {
  mem_entry *b;
  K_TRY(mem_dir_reserve(to, new_name, &b));
  mem_inode *moved = mem_dir_clear(from, a);
  mem_dir_set(to, b, moved);
  moved_in(from, to, moved);
  return 0;
}

k_ret mem_rename(k_inode *from_base, k_name old_name, k_inode *to_base, k_name new_name, uint32_t flags) {
  mem_inode *from = mem_of(from_base), *to = mem_of(to_base);
  mem_entry *a, *b;
  if (to->nlink == 0) return -K_ENOENT;
  K_TRY(mem_dir_find(from, old_name, &a));
  k_ret r = mem_dir_find(to, new_name, &b);
  if (r == -K_ENOENT) return (flags & VFS_RENAME_EXCHANGE) ? r : move_to_new(from, a, to, new_name);
  if (r < 0) return r;
  if (flags & VFS_RENAME_NOREPLACE) return -K_EEXIST;
  if (a->inode == b->inode) return 0;
  if (flags & VFS_RENAME_EXCHANGE) return exchange(from, a, to, b);
  if (k_is_dir(&b->inode->base) && b->inode->dir.count != 0) return -K_ENOTEMPTY;
  return move_over(from, a, to, b);
}
