/* vfs_view.c - the root, working directory and credentials with which a process looks at the tree. */
#include "kernel/vfs/vfs_internal.h"

#include "kernel/notify/notify.h"

k_ret vfs_view_init(vfs_view *view, k_kernel *k) {
  k_inode *root = vfs_mounts_root(k);
  *view = (vfs_view){
    .kernel = k, .root = k_inode_ref(root), .cwd = k_inode_ref(root), .uid = K_UID, .gid = K_GID, .umask = 022
  };
  return 0;
}

k_ret vfs_view_copy(vfs_view *to, const vfs_view *from) {
  *to = *from;
  if (to->root != NULL) k_inode_ref(to->root);
  if (to->cwd != NULL) k_inode_ref(to->cwd);
  return 0;
}

void vfs_view_clear(vfs_view *view) {
  k_inode_unref(view->root);
  k_inode_unref(view->cwd);
  view->root = view->cwd = NULL;
}

/* ---- permission ---- */

k_ret vfs_writable(const vfs_view *v, const k_inode *inode) {
  return vfs_mount_of(v->kernel, inode)->writable ? 0 : -K_EROFS;
}

k_ret vfs_may(const vfs_view *v, k_inode *inode, uint32_t mask) {
  uint32_t type = inode->mode & K_S_IFMT;
  bool stored = type == K_S_IFREG || type == K_S_IFDIR || type == K_S_IFLNK;
  if ((mask & 2) && stored) K_TRY(vfs_writable(v, inode));
  if (v->privileged) return 0;
  k_stat st;
  K_TRY(inode->ops->stat(inode, &st));
  uint32_t bits = st.uid == v->uid ? st.mode >> 6 : st.gid == v->gid ? st.mode >> 3 : st.mode;
  return (mask & 7 & ~bits) == 0 ? 0 : -K_EACCES;
}

/* Only the owner may. */
static k_ret vfs_view_own(const vfs_view *v, k_inode *inode, k_stat *st) {
  K_TRY(inode->ops->stat(inode, st));
  return v->privileged || st->uid == v->uid ? 0 : -K_EPERM;
}

/* ---- attributes ---- */

k_ret vfs_set_attributes(k_inode *inode, const k_attr *attr) {
  if (inode->ops->setattr == NULL) return -K_EPERM;
  K_TRY(inode->ops->setattr(inode, attr));
  k_notify_attributes(inode, attr->which);
  return 0;
}

K_LOCKED static k_ret set(const vfs_view *v, k_inode *inode, const k_attr *attr) {
  K_TRY(vfs_writable(v, inode));
  return vfs_set_attributes(inode, attr);
}

/* A file of a group that one is not in cannot be made to run as that group. */
k_ret vfs_chmod(const vfs_view *v, k_inode *inode, uint32_t mode) {
  k_stat st;
  K_TRY(vfs_view_own(v, inode, &st));
  if (k_is_link(inode)) return -K_EOPNOTSUPP;
  if (!v->privileged && st.gid != v->gid) mode &= ~(uint32_t)K_S_ISGID;
  return set(v, inode, &(k_attr){ .which = K_ATTR_MODE, .mode = mode & 07777 });
}

/* No process gives a file away, and the only group to give it to is its own. Whatever may run with the rights
 * of its owner may no longer when that changes (chown(2)). */
k_ret vfs_chown(const vfs_view *v, k_inode *inode, uint32_t uid, uint32_t gid) {
  k_stat st;
  k_ret r = vfs_view_own(v, inode, &st);
  if (uid == UINT32_MAX && gid == UINT32_MAX) return r == -K_EPERM ? 0 : r;
  if (r < 0) return r;
  if (!v->privileged &&
      ((uid != UINT32_MAX && uid != st.uid) || (gid != UINT32_MAX && gid != st.gid && gid != v->gid)))
    return -K_EPERM;
  k_attr attr = { .mode = st.mode & 07777 & ~(uint32_t)(K_S_ISUID | (st.mode & 010 ? K_S_ISGID : 0)) };
  if (!k_is_dir(inode) && !k_is_link(inode) && attr.mode != (st.mode & 07777)) attr.which = K_ATTR_MODE;
  if (uid != UINT32_MAX) attr.which |= K_ATTR_UID, attr.uid = uid;
  if (gid != UINT32_MAX) attr.which |= K_ATTR_GID, attr.gid = gid;
  return set(v, inode, &attr);
}

k_ret vfs_utimens(const vfs_view *v, k_inode *inode, const int64_t *atime_ns, const int64_t *mtime_ns,
                  bool explicit_times) {
  k_stat st;
  k_ret r = vfs_view_own(v, inode, &st);
  if (r < 0) {
    if (explicit_times || r != -K_EPERM) return r;
    K_TRY(vfs_may(v, inode, 2));
  }
  k_attr attr = { 0 };
  if (atime_ns != NULL) attr.which |= K_ATTR_ATIME, attr.atime_ns = *atime_ns;
  if (mtime_ns != NULL) attr.which |= K_ATTR_MTIME, attr.mtime_ns = *mtime_ns;
  if (attr.which == 0) return 0;
  if (!explicit_times && atime_ns != NULL && mtime_ns != NULL) attr.which |= K_ATTR_NOW;
  return set(v, inode, &attr);
}

k_ret vfs_truncate_untold(const vfs_view *v, k_inode *inode, uint64_t size) {
  if (k_is_dir(inode)) return -K_EISDIR;
  if (!k_is_reg(inode)) return -K_EINVAL;
  K_TRY(vfs_may(v, inode, 2));
  if (inode->ops->setattr == NULL) return -K_EPERM;
  return inode->ops->setattr(inode, &(k_attr){ .which = K_ATTR_SIZE, .size = size });
}

k_ret vfs_truncate(const vfs_view *v, k_inode *inode, uint64_t size) {
  K_TRY(vfs_truncate_untold(v, inode, size));
  k_notify_attributes(inode, K_ATTR_SIZE);
  return 0;
}

k_ret vfs_chdir(vfs_view *v, k_inode *dir) {
  if (!k_is_dir(dir)) return -K_ENOTDIR;
  K_TRY(vfs_may(v, dir, 1));
  k_inode *old = v->cwd;
  v->cwd = k_inode_ref(dir);
  k_inode_unref(old);
  return 0;
}

k_ret vfs_statfs(const vfs_view *v, k_inode *inode, k_statfs *out) {
  enum { TMPFS_MAGIC = 0x01021994, ST_RDONLY = 1 };
  const k_kernel *k = v->kernel;
  uint64_t flags = vfs_writable(v, inode) < 0 ? ST_RDONLY : 0;
  if (inode->ops->statfs != NULL) {
    K_TRY(inode->ops->statfs(inode, out));
    out->flags = flags;
    return 0;
  }
  uint64_t disk = k->limits.disk, used = k->used.disk < disk ? k->used.disk : disk;
  *out = (k_statfs){
    .type = TMPFS_MAGIC,
    .block_size = K_PAGE,
    .blocks = disk / K_PAGE,
    .blocks_free = (disk - used) / K_PAGE,
    .files = k->limits.inodes,
    .files_free = k->limits.inodes - (k->used.inodes < k->limits.inodes ? k->used.inodes : k->limits.inodes),
    .name_max = K_NAME_MAX,
    .flags = flags,
  };
  return 0;
}
