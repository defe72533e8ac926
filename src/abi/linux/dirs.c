/* dirs.c - names: making, removing, linking, renaming, listing, and the working directory. */
#include "abi/linux/layout.h"
#include "abi/linux/machine.h"
#include "kernel/notify/notify.h"

enum { AT_SYMLINK_NOFOLLOW = 0x100, AT_REMOVEDIR = 0x200, AT_SYMLINK_FOLLOW = 0x400, AT_EMPTY_PATH = 0x1000 };

k_ret abi_at(abi_machine *m, int32_t fd, const char *path, k_inode **out) {
  *out = NULL;
  if (fd == ABI_AT_FDCWD || path[0] == '/') return 0;
  k_file *f = NULL;
  K_TRY(k_fd_get(&m->p->fds, fd, &f));
  if (f->inode == NULL && (f->flags & K_O_PATH) != 0) return -K_EBADF; /* it is dead (fd_snapshot.h) */
  if (f->inode == NULL) return path[0] == 0 ? 0 : -K_ENOTDIR;
  *out = f->inode;
  return 0;
}

/* A path of the guest and the directory it starts from. */
struct place {
  k_inode *at;
  const char *path;
};

static k_ret place_locked(abi_machine *m, uint32_t fd, uint32_t addr, struct place *out) {
  K_TRY(abi_string(m->instance, addr, &out->path));
  return abi_at(m, (int32_t)fd, out->path, &out->at);
}

K_LOCKED static k_ret mkdir_locked(abi_machine *m, const uint32_t *a) {
  struct place place;
  K_TRY(place_locked(m, a[0], a[1], &place));
  return vfs_mkdir(&m->p->view, place.at, place.path, a[2] & 07777);
}

k_ret sys_mkdirat(abi_machine *m, const uint32_t a[static 6]) { return ABI_LOCKED(m, mkdir_locked(m, a)); }

K_LOCKED static k_ret mknod_locked(abi_machine *m, const uint32_t *a) {
  struct place place;
  K_TRY(place_locked(m, a[0], a[1], &place));
  uint32_t mode = a[2] & (K_S_IFMT | 07777);
  if ((mode & K_S_IFMT) == 0) mode |= K_S_IFREG;
  return vfs_mknod(&m->p->view, place.at, place.path, mode, a[3]);
}

k_ret sys_mknodat(abi_machine *m, const uint32_t a[static 6]) { return ABI_LOCKED(m, mknod_locked(m, a)); }

K_LOCKED static k_ret unlink_locked(abi_machine *m, const uint32_t *a) {
  struct place place;
  if ((a[2] & ~(uint32_t)AT_REMOVEDIR) != 0) return -K_EINVAL;
  K_TRY(place_locked(m, a[0], a[1], &place));
  return a[2] & AT_REMOVEDIR ? vfs_rmdir(&m->p->view, place.at, place.path)
                             : vfs_unlink(&m->p->view, place.at, place.path);
}

k_ret sys_unlinkat(abi_machine *m, const uint32_t a[static 6]) { return ABI_LOCKED(m, unlink_locked(m, a)); }

K_LOCKED static k_ret symlink_locked(abi_machine *m, const uint32_t *a) {
  const char *target = NULL;
  struct place place;
  K_TRY(abi_string(m->instance, a[0], &target));
  K_TRY(place_locked(m, a[1], a[2], &place));
  return vfs_symlink(&m->p->view, target, place.at, place.path);
}

k_ret sys_symlinkat(abi_machine *m, const uint32_t a[static 6]) {
  return ABI_LOCKED(m, symlink_locked(m, a));
}

static k_ret link_locked(abi_machine *m, const uint32_t *a) {
  struct place from, to;
  if ((a[4] & ~(uint32_t)(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH)) != 0) return -K_EINVAL;
  K_TRY(place_locked(m, a[0], a[1], &from));
  K_TRY(place_locked(m, a[2], a[3], &to));
  uint32_t how = (a[4] & AT_SYMLINK_FOLLOW ? 0 : VFS_NOFOLLOW) | (a[4] & AT_EMPTY_PATH ? VFS_EMPTY_PATH : 0);
  return vfs_link(&m->p->view, from.at, from.path, how, to.at, to.path);
}

k_ret sys_linkat(abi_machine *m, const uint32_t a[static 6]) { return ABI_LOCKED(m, link_locked(m, a)); }

K_LOCKED static k_ret rename_locked(abi_machine *m, const uint32_t *a, uint32_t flags) {
  struct place from, to;
  K_TRY(place_locked(m, a[0], a[1], &from));
  K_TRY(place_locked(m, a[2], a[3], &to));
  return vfs_rename(&m->p->view, from.at, from.path, to.at, to.path, flags);
}

k_ret sys_renameat(abi_machine *m, const uint32_t a[static 6]) {
  return ABI_LOCKED(m, rename_locked(m, a, 0));
}

k_ret sys_renameat2(abi_machine *m, const uint32_t a[static 6]) {
  const uint32_t both = VFS_RENAME_NOREPLACE | VFS_RENAME_EXCHANGE;
  if ((a[4] & ~both) != 0 || (a[4] & both) == both) return -K_EINVAL;
  return ABI_LOCKED(m, rename_locked(m, a, a[4]));
}

static k_ret readlink_locked(abi_machine *m, const uint32_t *a) {
  struct place place;
  void *buf = NULL;
  if ((int32_t)a[3] <= 0) return -K_EINVAL;
  K_TRY(place_locked(m, a[0], a[1], &place));
  K_TRY(abi_ptr(m->instance, a[2], a[3], &buf));
  return vfs_readlink(&m->p->view, place.at, place.path, buf, a[3]);
}

k_ret sys_readlinkat(abi_machine *m, const uint32_t a[static 6]) {
  return ABI_LOCKED(m, readlink_locked(m, a));
}

/* ---- listing ---- */

struct listing {
  uint8_t *buf;
  size_t len, cap;
  int64_t next;
  bool full;
};

static uint8_t dirs_type_of(uint32_t mode) {
  return (uint8_t)((mode & K_S_IFMT) >> 12);
} /* DT_* of readdir(3) */

static bool dirs_add_entry(void *ctx, k_name name, uint64_t ino, uint32_t mode, int64_t next_pos) {
  struct listing *l = ctx;
  size_t len = (G_DIRENT_NAME + name.len + 1 + 7) & ~(size_t)7;
  l->full = len > l->cap - l->len;
  if (l->full) return false;
  struct g_dirent head = {
    .ino = ino, .next = next_pos, .reclen = (uint16_t)len, .type = dirs_type_of(mode)
  };
  uint8_t *entry = l->buf + l->len;
  memset(entry, 0, len);
  memcpy(entry, &head, sizeof head);
  memcpy(entry + G_DIRENT_NAME, name.data, name.len);
  l->len += len;
  l->next = next_pos;
  return true;
}

K_LOCKED static k_ret getdents_locked(abi_machine *m, const uint32_t *a) {
  enum { MOST = 32768 }; /* in one call: a listing goes on with the next one */
  k_file *f = NULL;
  void *buf = NULL;
  K_TRY(abi_file(m, a[0], &f));
  if (f->ops->readdir == NULL) return -K_ENOTDIR;
  K_TRY(abi_ptr(m->instance, a[1], a[2], &buf));
  struct listing l = { .buf = buf, .cap = a[2] < MOST ? a[2] : MOST, .next = f->pos };
  k_ret r = f->ops->readdir(f, f->pos, dirs_add_entry, &l);
  if (r < 0) return r;
  if (f->inode != NULL) k_notify(f->inode, K_IN_ACCESS);
  if (l.len == 0 && l.full) return -K_EINVAL;
  f->pos = l.next;
  return (k_ret)l.len;
}

k_ret sys_getdents64(abi_machine *m, const uint32_t a[static 6]) {
  return ABI_LOCKED(m, getdents_locked(m, a));
}

/* ---- the working directory ---- */

K_LOCKED static k_ret getcwd_locked(abi_machine *m, const uint32_t *a) {
  void *buf = NULL;
  char path[K_PATH_MAX];
  k_ret len = vfs_path_of(&m->p->view, m->p->view.cwd, path, sizeof path);
  if (len < 0) return len;
  if (a[1] < (uint64_t)len + 1) return -K_ERANGE;
  K_TRY(abi_ptr(m->instance, a[0], (uint64_t)len + 1, &buf));
  memcpy(buf, path, (size_t)len);
  ((char *)buf)[len] = 0;
  return len + 1;
}

k_ret sys_getcwd(abi_machine *m, const uint32_t a[static 6]) { return ABI_LOCKED(m, getcwd_locked(m, a)); }

K_LOCKED static k_ret chdir_locked(abi_machine *m, const uint32_t *a) {
  const char *path = NULL;
  OWNED(k_inode_unref) k_inode *dir = NULL;
  K_TRY(abi_string(m->instance, a[0], &path));
  K_TRY(vfs_resolve(&m->p->view, NULL, path, VFS_DIRECTORY, &dir));
  return vfs_chdir(&m->p->view, dir);
}

k_ret sys_chdir(abi_machine *m, const uint32_t a[static 6]) { return ABI_LOCKED(m, chdir_locked(m, a)); }

K_LOCKED static k_ret fchdir_locked(abi_machine *m, const uint32_t *a) {
  k_file *f = NULL;
  K_TRY(abi_file(m, a[0], &f));
  if (f->inode == NULL || !k_is_dir(f->inode)) return -K_ENOTDIR;
  return vfs_chdir(&m->p->view, f->inode);
}

k_ret sys_fchdir(abi_machine *m, const uint32_t a[static 6]) { return ABI_LOCKED(m, fchdir_locked(m, a)); }

k_ret sys_umask(abi_machine *m, const uint32_t a[static 6]) {
  k_lock(m->kernel);
  uint32_t old = m->p->view.umask;
  m->p->view.umask = a[0] & 0777;
  k_unlock(m->kernel);
  return old;
}
