/* vfs_names.c - making, moving and removing names: mkdirat(2), linkat(2), renameat2(2), unlinkat(2) and their
 * like. */
#include "kernel/vfs/vfs_internal.h"

#include "kernel/file/transfer.h"
#include "kernel/notify/notify.h"

#include <string.h>

/* ---- making ---- */

/* The directory must take a new name, and the name be free. */
K_LOCKED static k_ret find_room(const vfs_view *v, k_inode *at, const char *path, bool directory,
                                vfs_last *last) {
  K_TRY(vfs_resolve_last(v, at, path, last));
  k_ret r = last->dot ? -K_EEXIST : vfs_may(v, last->dir, 1);
  if (r >= 0) {
    k_inode *there = NULL;
    r = vfs_lookup(v, last->dir, last->name, last->len, &there);
    if (r >= 0) {
      k_inode_unref(there);
      r = -K_EEXIST;
    } else if (r == -K_ENOENT) {
      r = last->slash && !directory ? -K_ENOENT : vfs_writable(v, last->dir);
      if (r >= 0) r = vfs_may(v, last->dir, 3);
    }
  }
  if (r < 0) vfs_last_clear(last);
  return r;
}

K_LOCKED static k_ret vfs_names_make(const vfs_view *v, k_inode *at, const char *path, uint32_t mode,
                                     uint64_t rdev) {
  vfs_last last;
  K_TRY(find_room(v, at, path, (mode & K_S_IFMT) == K_S_IFDIR, &last));
  OWNED(k_inode_unref) k_inode *made = NULL;
  k_ret r = -K_EPERM;
  if (last.dir->ops->create != NULL)
    r = last.dir->ops->create(last.dir, vfs_name(&last), mode, v->uid, v->gid, rdev, &made);
  if (r >= 0) k_notify_created(last.dir, vfs_name(&last), mode);
  vfs_last_clear(&last);
  return r;
}

k_ret vfs_mkdir(const vfs_view *v, k_inode *at, const char *path, uint32_t mode) {
  return vfs_names_make(v, at, path, K_S_IFDIR | (mode & 01777 & ~v->umask), 0);
}

k_ret vfs_mknod(const vfs_view *v, k_inode *at, const char *path, uint32_t mode, uint64_t rdev) {
  uint32_t type = mode & K_S_IFMT;
  if (type == 0) type = K_S_IFREG;
  if (type == K_S_IFCHR || type == K_S_IFBLK) return -K_EPERM;
  if (type != K_S_IFREG && type != K_S_IFIFO && type != K_S_IFSOCK) return -K_EINVAL;
  return vfs_names_make(v, at, path, type | (mode & 07777 & ~v->umask), rdev);
}

k_ret vfs_make_socket(const vfs_view *v, const char *path, k_inode **out) {
  vfs_last last;
  K_TRY(find_room(v, NULL, path, false, &last));
  k_ret r = -K_EOPNOTSUPP;
  if (last.dir->ops->create != NULL && last.dir->ops->has_fifos)
    r = last.dir->ops->create(last.dir, vfs_name(&last), K_S_IFSOCK | (0777 & ~v->umask), v->uid, v->gid, 0,
                              out);
  if (r >= 0) k_notify_created(last.dir, vfs_name(&last), K_S_IFSOCK);
  vfs_last_clear(&last);
  return r;
}

k_ret vfs_symlink(const vfs_view *v, const char *target, k_inode *at, const char *path) {
  size_t len = strlen(target);
  if (len == 0) return -K_ENOENT;
  if (len >= K_PATH_MAX) return -K_ENAMETOOLONG;
  vfs_last last;
  K_TRY(find_room(v, at, path, false, &last));
  k_ret r = -K_EPERM;
  if (last.dir->ops->symlink != NULL)
    r = last.dir->ops->symlink(last.dir, vfs_name(&last), target, len, v->uid, v->gid);
  if (r >= 0) k_notify_created(last.dir, vfs_name(&last), K_S_IFLNK);
  vfs_last_clear(&last);
  return r;
}

K_LOCKED k_ret vfs_link(const vfs_view *v, k_inode *old_at, const char *old_path, uint32_t how,
                        k_inode *new_at, const char *new_path) {
  OWNED(k_inode_unref) k_inode *target = NULL;
  K_TRY(vfs_resolve(v, old_at, old_path, how, &target));
  vfs_last last;
  K_TRY(find_room(v, new_at, new_path, false, &last));
  k_ret r;
  if (k_is_dir(target))
    r = -K_EPERM;
  else if (target->fs != last.dir->fs)
    r = -K_EXDEV;
  else
    r = last.dir->ops->link != NULL ? last.dir->ops->link(last.dir, vfs_name(&last), target) : -K_EPERM;
  if (r >= 0) k_notify_linked(last.dir, vfs_name(&last), target);
  vfs_last_clear(&last);
  return r;
}

/* ---- removing ---- */

/* In a directory with the sticky bit, only the owner of the file or of the directory may take the name away
 * (unlink(2)). */
static k_ret sticky(const vfs_view *v, k_inode *dir, k_inode *inode) {
  k_stat d, i;
  if (v->privileged) return 0;
  K_TRY(dir->ops->stat(dir, &d));
  if (!(d.mode & K_S_ISVTX) || d.uid == v->uid) return 0;
  K_TRY(inode->ops->stat(inode, &i));
  return i.uid == v->uid ? 0 : -K_EPERM;
}

K_LOCKED static k_ret may_take_away(const vfs_view *v, k_inode *dir, k_inode *inode) {
  K_TRY(vfs_may(v, dir, 3));
  K_TRY(sticky(v, dir, inode));
  return inode == vfs_mount_of(v->kernel, inode)->root ? -K_EBUSY : 0;
}

/* Looks the name up as it stands in its directory. */
K_LOCKED static k_ret find_named(const vfs_view *v, const vfs_last *last, k_inode **out) {
  K_TRY(vfs_may(v, last->dir, 1));
  return vfs_lookup(v, last->dir, last->name, last->len, out);
}

static k_ret dot_error(const vfs_last *last, bool directory) {
  if (!directory) return -K_EISDIR;
  if (last->len == 1) return -K_EINVAL;
  return last->len == 0 ? -K_EBUSY : -K_ENOTEMPTY;
}

K_LOCKED static k_ret take_away(const vfs_view *v, const vfs_last *last, bool directory) {
  if (last->dot) return dot_error(last, directory);
  OWNED(k_inode_unref) k_inode *inode = NULL;
  K_TRY(find_named(v, last, &inode));
  K_TRY(may_take_away(v, last->dir, inode));
  if (directory && !k_is_dir(inode)) return -K_ENOTDIR;
  if (!directory && k_is_dir(inode)) return -K_EISDIR;
  if (!directory && last->slash) return -K_ENOTDIR;
  if (last->dir->ops->unlink == NULL) return -K_EPERM;
  K_TRY(last->dir->ops->unlink(last->dir, vfs_name(last), directory));
  k_notify_removed(last->dir, vfs_name(last), inode);
  return 0;
}

K_LOCKED static k_ret remove_path(const vfs_view *v, k_inode *at, const char *path, bool directory) {
  vfs_last last;
  K_TRY(vfs_resolve_last(v, at, path, &last));
  k_ret r = take_away(v, &last, directory);
  vfs_last_clear(&last);
  return r;
}

k_ret vfs_unlink(const vfs_view *v, k_inode *at, const char *path) { return remove_path(v, at, path, false); }
k_ret vfs_rmdir(const vfs_view *v, k_inode *at, const char *path) { return remove_path(v, at, path, true); }

/* ---- moving ---- */

K_LOCKED static k_ret inside(k_inode *dir, const k_inode *maybe_above) {
  k_inode *here = k_inode_ref(dir);
  k_ret found = 0;
  while (found == 0) {
    if (here == maybe_above) found = 1;
    k_inode *up = NULL;
    k_ret r = here->ops->parent != NULL ? here->ops->parent(here, &up) : -K_ENOENT;
    if (r < 0) break;
    bool top = up == here;
    k_inode_unref(here);
    here = up;
    if (top) break;
  }
  k_inode_unref(here);
  return found;
}

K_LOCKED static k_ret check_replace(const vfs_view *v, const vfs_last *to, k_inode *moved, k_inode *there,
                                    uint32_t flags) {
  if (flags & VFS_RENAME_NOREPLACE) return -K_EEXIST;
  K_TRY(may_take_away(v, to->dir, there));
  if (flags & VFS_RENAME_EXCHANGE) return 0;
  if (k_is_dir(there) && !k_is_dir(moved)) return -K_EISDIR;
  if (!k_is_dir(there) && k_is_dir(moved)) return -K_ENOTDIR;
  return 0;
}

K_LOCKED static k_ret rename_checked(const vfs_view *v, const vfs_last *from, const vfs_last *to,
                                     uint32_t flags) {
  OWNED(k_inode_unref) k_inode *moved = NULL;
  OWNED(k_inode_unref) k_inode *there = NULL;
  if (from->dot || to->dot) return (flags & VFS_RENAME_NOREPLACE) && to->dot ? -K_EEXIST : -K_EBUSY;
  if (from->dir->fs != to->dir->fs) return -K_EXDEV;
  K_TRY(find_named(v, from, &moved));
  K_TRY(may_take_away(v, from->dir, moved));
  if ((from->slash || to->slash) && !k_is_dir(moved)) return -K_ENOTDIR;
  k_ret r = find_named(v, to, &there);
  if (r < 0 && r != -K_ENOENT) return r;
  if (r == -K_ENOENT && (flags & VFS_RENAME_EXCHANGE)) return r;
  K_TRY(vfs_may(v, to->dir, 3));
  if (k_is_dir(moved) && inside(to->dir, moved) == 1) return -K_EINVAL;
  if (k_is_dir(moved) && from->dir != to->dir) K_TRY(vfs_may(v, moved, 2)); /* its ".." changes */
  if (there != NULL && k_is_dir(there) && inside(from->dir, there) == 1)
    return (flags & VFS_RENAME_EXCHANGE) ? -K_EINVAL : -K_ENOTEMPTY;
  if (there == moved && !(flags & VFS_RENAME_NOREPLACE)) return 0;
  if (there != NULL) K_TRY(check_replace(v, to, moved, there, flags));
  if (from->dir->ops->rename == NULL) return -K_EPERM;
  K_TRY(from->dir->ops->rename(from->dir, vfs_name(from), to->dir, vfs_name(to), flags));
  const k_notify_place old = { from->dir, vfs_name(from), moved }, new = { to->dir, vfs_name(to), there };
  k_notify_moved(&old, &new, (flags & VFS_RENAME_EXCHANGE) != 0);
  return 0;
}

k_ret vfs_rename(const vfs_view *v, k_inode *old_at, const char *old_path, k_inode *new_at,
                 const char *new_path, uint32_t flags) {
  if (flags & ~(uint32_t)(VFS_RENAME_NOREPLACE | VFS_RENAME_EXCHANGE)) return -K_EINVAL;
  if ((flags & VFS_RENAME_NOREPLACE) && (flags & VFS_RENAME_EXCHANGE)) return -K_EINVAL;
  vfs_last from, to;
  K_TRY(vfs_resolve_last(v, old_at, old_path, &from));
  k_ret r = vfs_resolve_last(v, new_at, new_path, &to);
  if (r >= 0) {
    r = rename_checked(v, &from, &to, flags);
    vfs_last_clear(&to);
  }
  vfs_last_clear(&from);
  return r;
}

/* ---- looking ---- */

K_LOCKED k_ret vfs_readlink(const vfs_view *v, k_inode *at, const char *path, char *buf, size_t cap) {
  OWNED(k_inode_unref) k_inode *inode = NULL;
  if (path[0] == '\0' && at == NULL) return -K_ENOENT;
  K_TRY(vfs_resolve(v, at, path, VFS_NOFOLLOW | VFS_EMPTY_PATH, &inode));
  if (!k_is_link(inode) || inode->ops->readlink == NULL) return path[0] == '\0' ? -K_ENOENT : -K_EINVAL;
  return inode->ops->readlink(inode, buf, cap);
}

K_LOCKED k_ret vfs_stat(const vfs_view *v, k_inode *at, const char *path, uint32_t how, k_stat *out) {
  OWNED(k_inode_unref) k_inode *inode = NULL;
  K_TRY(vfs_resolve(v, at, path, how, &inode));
  return inode->ops->stat(inode, out);
}

K_LOCKED k_ret vfs_access(const vfs_view *v, k_inode *at, const char *path, uint32_t how, uint32_t mask) {
  OWNED(k_inode_unref) k_inode *inode = NULL;
  K_TRY(vfs_resolve(v, at, path, how, &inode));
  return mask == 0 ? 0 : vfs_may(v, inode, mask);
}

K_LOCKED k_ret vfs_pread(k_file *f, void *buf, size_t len, int64_t pos) {
  if (f->ops->read == NULL || f->ops->size == NULL) return -K_EINVAL;
  k_ret r = k_file_read_pieces(NULL, f, buf, len, pos);
  if (r > 0) k_file_used(f, K_IN_ACCESS);
  return r;
}
