/* vfs_open.c - openat(2). */
#include "kernel/vfs/vfs_internal.h"

#include "kernel/file/pipe.h"
#include "kernel/notify/notify.h"
#include "kernel/proc/process.h"

#include <string.h>

enum {
  STATUS_FLAGS = K_O_ACCMODE | K_O_APPEND | K_O_NONBLOCK | K_O_DSYNC | K_O_SYNC | K_O_DIRECT | K_O_LARGEFILE |
                 K_O_NOATIME | K_O_DIRECTORY
};

/* A place in the tree and nothing more: the generic functions refuse all else by the flag. */
static const k_file_ops path_ops = { 0 };

K_LOCKED static k_ret vfs_open_path(const vfs_view *v, k_inode *inode, k_file **out) {
  k_inode_ref(inode);
  k_ret r = k_file_new(v->kernel, &path_ops, K_O_PATH, inode, NULL, out);
  if (r < 0) k_inode_unref(inode);
  return r;
}

static uint32_t vfs_open_wanted(uint32_t flags) {
  switch (flags & K_O_ACCMODE) {
  case K_O_RDONLY: return 4;
  case K_O_WRONLY: return 2;
  default: return 6;
  }
}

static k_ret vfs_open_check_type(const k_inode *inode, uint32_t flags) {
  if (k_is_link(inode)) return -K_ELOOP;
  if ((flags & K_O_DIRECTORY) && !k_is_dir(inode)) return -K_ENOTDIR;
  if (k_is_dir(inode) && ((flags & K_O_ACCMODE) != K_O_RDONLY || (flags & K_O_TRUNC))) return -K_EISDIR;
  if ((inode->mode & K_S_IFMT) == K_S_IFSOCK) return -K_ENXIO;
  return 0;
}

K_LOCKED static k_ret open_by_type(const vfs_view *v, k_inode *inode, uint32_t flags, k_file **out) {
  if ((inode->mode & K_S_IFMT) == K_S_IFIFO && inode->ops->has_fifos)
    return k_fifo_open(v->process, inode, &inode->fifo, flags & STATUS_FLAGS, out);
  if (inode->ops->open_by != NULL)
    return inode->ops->open_by(inode, v->process, flags & (STATUS_FLAGS | K_O_NOCTTY), out);
  return inode->ops->open != NULL ? inode->ops->open(inode, flags & STATUS_FLAGS, out) : -K_ENXIO;
}

/* Cut before it is opened: a file whose bytes are elsewhere is not copied for that. Linux tells of it in the other
 * order. */
K_LOCKED static k_ret open_checked(const vfs_view *v, k_inode *inode, uint32_t flags, k_file **out) {
  bool cut = (flags & K_O_TRUNC) && k_is_reg(inode);
  if (cut) K_TRY(vfs_truncate_untold(v, inode, 0));
  K_TRY(open_by_type(v, inode, flags, out));
  k_notify(inode, K_IN_OPEN);
  if (cut) k_notify(inode, K_IN_MODIFY);
  return 0;
}

k_ret vfs_open_inode(const vfs_view *v, k_inode *inode, uint32_t flags, k_file **out) {
  if (flags & K_O_PATH) return vfs_open_path(v, inode, out);
  K_TRY(vfs_open_check_type(inode, flags));
  K_TRY(vfs_may(v, inode, vfs_open_wanted(flags) | ((flags & K_O_TRUNC) ? 2 : 0)));
  return open_checked(v, inode, flags, out);
}

/* A new file in `last`, already open: its own permission bits do not matter to who made it. */
K_LOCKED static k_ret create(const vfs_view *v, const vfs_last *last, uint32_t flags, uint32_t mode,
                             k_file **out) {
  K_TRY(vfs_may(v, last->dir, 3));
  OWNED(k_inode_unref) k_inode *made = NULL;
  if (last->dir->ops->create == NULL) return -K_EACCES;
  K_TRY(last->dir->ops->create(last->dir, vfs_name(last), K_S_IFREG | (mode & 07777 & ~v->umask), v->uid,
                               v->gid, 0, &made));
  k_notify_created(last->dir, vfs_name(last), K_S_IFREG);
  return open_checked(v, made, flags & ~(uint32_t)K_O_TRUNC, out);
}

/* One try to open or make the last component. *again: it is a symlink, whose text is in `target`, to be
 * looked at from `last->dir`. */
K_LOCKED static k_ret open_or_create(const vfs_view *v, const vfs_last *last, uint32_t flags, uint32_t mode,
                                     char target[K_PATH_MAX], bool *again, k_file **out) {
  OWNED(k_inode_unref) k_inode *found = NULL;
  k_ret r = vfs_lookup(v, last->dir, last->name, last->len, &found);
  if (r == -K_ENOENT) {
    r = create(v, last, flags, mode, out);
    return r == -K_EEXIST && !(flags & K_O_EXCL) ? -K_ESTALE : r; /* made by the host meanwhile */
  }
  if (r < 0) return r;
  if (flags & K_O_EXCL) return -K_EEXIST;
  if (k_is_dir(found)) return -K_EISDIR;
  if (!k_is_link(found)) return vfs_open_inode(v, found, flags, out);
  if (flags & K_O_NOFOLLOW) return -K_ELOOP;
  if (found->ops->follow != NULL) {
    OWNED(k_inode_unref) k_inode *direct = NULL;
    K_TRY(found->ops->follow(found, v->process, &direct));
    return k_is_dir(direct) ? -K_EISDIR : vfs_open_inode(v, direct, flags, out);
  }
  r = found->ops->readlink(found, target, K_PATH_MAX);
  if (r < 0) return r;
  if (r == K_PATH_MAX) return -K_ENAMETOOLONG;
  target[r] = '\0';
  *again = true;
  return 0;
}

/* A link at the end that leads nowhere names the file to be made. */
K_LOCKED static k_ret open_creating(const vfs_view *v, k_inode *at, const char *path, uint32_t flags,
                                    uint32_t mode, k_file **out) {
  char target[K_PATH_MAX];
  k_inode *from = at != NULL ? k_inode_ref(at) : NULL;
  k_ret r = -K_ELOOP;
  bool again = true;
  for (unsigned links = 0; again && links <= K_SYMLOOP_MAX; links++) {
    vfs_last last;
    again = false;
    r = vfs_resolve_last(v, from, path, &last);
    if (r < 0) break;
    if (last.dot)
      r = (flags & K_O_EXCL) ? -K_EEXIST : -K_EISDIR;
    else
      r = vfs_may(v, last.dir, 1);
    if (r >= 0 && last.slash && !last.dot) r = -K_EISDIR; /* whatever stands there */
    if (r >= 0) r = open_or_create(v, &last, flags, mode, target, &again, out);
    if (again) {
      k_inode_unref(from);
      from = k_inode_ref(last.dir);
      path = target;
      r = -K_ELOOP;
    }
    vfs_last_clear(&last);
  }
  k_inode_unref(from);
  return r;
}

K_LOCKED static k_ret open_unnamed(const vfs_view *v, k_inode *at, const char *path, uint32_t flags,
                                   uint32_t mode, k_file **out) {
  if ((flags & K_O_ACCMODE) == K_O_RDONLY) return -K_EINVAL;
  OWNED(k_inode_unref) k_inode *dir = NULL;
  OWNED(k_inode_unref) k_inode *made = NULL;
  K_TRY(vfs_resolve(v, at, path, VFS_DIRECTORY, &dir));
  K_TRY(vfs_may(v, dir, 3));
  if (dir->ops->create_unnamed == NULL) return -K_EOPNOTSUPP;
  mode = K_S_IFREG | (mode & 07777 & ~v->umask);
  K_TRY(dir->ops->create_unnamed(dir, mode, v->uid, v->gid, !(flags & K_O_EXCL), &made));
  return open_checked(v, made, flags & ~(uint32_t)(K_O_TRUNC | K_O_DIRECTORY), out);
}

K_LOCKED static k_ret open_to_read(const vfs_view *v, k_inode *at, const char *path, uint32_t flags,
                                   uint32_t how, k_file **out) {
  OWNED(k_inode_unref) k_inode *inode = NULL;
  OWNED(k_inode_unref) k_inode *prepared = NULL;
  k_ret r = vfs_resolve_to_read(v, at, path, how, &inode, &prepared);
  if (r >= 0) r = vfs_open_inode(v, inode, flags, out);
  if (prepared != NULL) (void)!prepared->ops->prepare(prepared, (k_name){ 0 });
  return r;
}

K_LOCKED static k_ret open_once(const vfs_view *v, k_inode *at, const char *path, uint32_t flags,
                                uint32_t mode, k_file **out) {
  if ((flags & K_O_TMPFILE) == K_O_TMPFILE) return open_unnamed(v, at, path, flags, mode, out);
  if ((flags & K_O_CREAT) && !(flags & K_O_PATH)) {
    if (flags & K_O_DIRECTORY) return -K_EINVAL;
    return open_creating(v, at, path, flags, mode, out);
  }
  uint32_t how = ((flags & K_O_NOFOLLOW) ? VFS_NOFOLLOW : 0) | ((flags & K_O_DIRECTORY) ? VFS_DIRECTORY : 0);
  if ((flags & (K_O_ACCMODE | K_O_PATH | K_O_TRUNC)) == K_O_RDONLY)
    return open_to_read(v, at, path, flags, how, out);
  OWNED(k_inode_unref) k_inode *inode = NULL;
  K_TRY(vfs_resolve(v, at, path, how, &inode));
  return vfs_open_inode(v, inode, flags, out);
}

/* What a name of the host leads to may change between looking and opening: -K_ESTALE says look again. */
k_ret vfs_open(const vfs_view *v, k_inode *at, const char *path, uint32_t flags, uint32_t mode,
               k_file **out) {
  enum { TRIES = 10 };
  k_ret r = -K_ESTALE;
  for (int i = 0; i < TRIES && r == -K_ESTALE; i++) r = open_once(v, at, path, flags, mode, out);
  return r;
}
