/* host_names.c - making, removing and moving names in a directory of the host. */
#include "base/alloc.h"
#include "kernel/fs/host/hostfs_inner.h"
#include "kernel/vfs/vfs.h"

#include <fcntl.h>
#include <string.h>

/* ---- making ---- */

/* The host's umask took bits that the guest's had left. Some file systems have no modes: not our affair. */
static void give_mode(int fd, bool open, const struct statx *st, uint32_t mode) {
  if ((st->stx_mode & 0777) == mode) return;
  k_ret ignored = open ? host_chmod_open(fd, mode) : host_chmod(fd, mode);
  (void)ignored;
}

/* The O_PATH descriptor of the file made just now, unless the host has put something else in its place. */
static k_ret open_made(const host_node *dir, const char *name, const struct statx *made, struct statx *st) {
  k_ret fd = host_open(dir->fd, name, O_PATH, 0, dir->fs->highest);
  if (fd < 0) return fd;
  k_ret r = host_stat((int)fd, st);
  bool same =
      r >= 0 && (made == NULL || (made->stx_ino == st->stx_ino && made->stx_dev_major == st->stx_dev_major &&
                                  made->stx_dev_minor == st->stx_dev_minor));
  if (same) return fd;
  host_close((int)fd);
  return r < 0 ? r : -K_ESTALE;
}

/* Both descriptors of a new file, without kernel.mu. */
static k_ret host_names_make_file(const host_node *dir, const char *name, uint32_t mode, int *made,
                                  struct statx *st) {
  struct statx own;
  k_ret file = host_open(dir->fd, name, O_RDWR | O_CREAT | O_EXCL, mode, dir->fs->highest);
  if (file < 0) return file;
  k_ret r = host_stat((int)file, &own);
  if (r >= 0) {
    give_mode((int)file, true, &own, mode);
    r = open_made(dir, name, &own, st);
  }
  if (r < 0)
    host_close((int)file);
  else
    *made = (int)file;
  return r;
}

static k_ret make_dir(const host_node *dir, const char *name, uint32_t mode, struct statx *st) {
  K_TRY(host_mkdir(dir->fd, name, mode));
  k_ret fd = open_made(dir, name, NULL, st);
  if (fd >= 0 && (st->stx_mode & K_S_IFMT) == K_S_IFDIR) give_mode((int)fd, false, st, mode & 0777);
  return fd;
}

K_LOCKED static k_ret create_counted(host_node *dir, const char *name, uint32_t mode, k_inode **out) {
  hostfs *fs = dir->fs;
  struct statx st;
  int made = -1;
  host_leave(fs);
  k_ret fd = (mode & K_S_IFMT) == K_S_IFDIR ? make_dir(dir, name, mode & 01777, &st)
                                            : host_names_make_file(dir, name, mode & 0777, &made, &st);
  host_return(fs);
  if (made < 0) host_uncount(fs);
  if (fd < 0) {
    host_uncount(fs);
    return fd;
  }
  host_node *n = NULL;
  k_ret r = host_adopt(fs, dir, name, (int)fd, &st, &n);
  if (r >= 0 && n->made < 0)
    n->made = made; /* its mode may forbid to open it so again */
  else if (made >= 0)
    host_close_counted(fs, made);
  if (r >= 0) *out = &n->base;
  return r;
}

K_LOCKED k_ret host_create(k_inode *dir, k_name name, uint32_t mode, uint32_t uid, uint32_t gid,
                           uint64_t rdev, k_inode **out) {
  (void)uid, (void)gid, (void)rdev;
  host_node *d = host_of(dir);
  uint32_t type = mode & K_S_IFMT;
  if (!d->fs->writable) return -K_EROFS;
  if (type != K_S_IFREG && type != K_S_IFDIR) return -K_EPERM;
  host_text text;
  host_text_of(name, text);
  K_TRY(host_count(d->fs));
  k_ret r = host_count(d->fs);
  if (r < 0) {
    host_uncount(d->fs);
    return r;
  }
  return create_counted(d, text, mode, out);
}

K_LOCKED k_ret host_make_symlink(k_inode *dir, k_name name, const char *target, size_t len, uint32_t uid,
                                 uint32_t gid) {
  (void)uid, (void)gid;
  const host_node *d = host_of(dir);
  if (!d->fs->writable) return -K_EROFS;
  char *copy = mem_strndup(target, len);
  if (copy == NULL) return -K_ENOMEM;
  host_text text;
  host_text_of(name, text);
  host_leave(d->fs);
  k_ret r = host_symlink(copy, d->fd, text);
  host_return(d->fs);
  mem_free(copy);
  return r;
}

/* By the name under which the target was last seen: through its descriptor only the privileged may. */
K_LOCKED k_ret host_make_link(k_inode *dir, k_name name, k_inode *target) {
  const host_node *d = host_of(dir), *t = host_of(target);
  if (!d->fs->writable) return -K_EROFS;
  if (t->gone || t->parent == NULL) return -K_ENOENT;
  host_text from, to;
  host_node *from_dir = t->parent;
  host_text_of((k_name){ t->name, strlen(t->name) }, from);
  host_text_of(name, to);
  k_inode_ref(&from_dir->base);
  host_leave(d->fs);
  k_ret r = host_link(from_dir->fd, from, d->fd, to);
  host_return(d->fs);
  k_inode_unref(&from_dir->base);
  return r;
}

/* ---- removing ---- */

K_LOCKED k_ret host_remove(k_inode *dir, k_name name, bool directory) {
  const host_node *d = host_of(dir);
  if (!d->fs->writable) return -K_EROFS;
  host_text text;
  host_text_of(name, text);
  host_leave(d->fs);
  k_ret r = host_unlink(d->fd, text, directory);
  host_return(d->fs);
  if (r < 0) return r;
  host_node *n = host_node_named(d->fs, d, text);
  if (n != NULL) n->gone = true;
  return 0;
}

/* ---- moving ---- */

typedef struct move {
  host_node *from, *to;
  host_text old_name, new_name;
  char *copies[2]; /* of both names, ready for the inodes */
} move;

static k_ret move_prepare(move *m) {
  m->copies[0] = mem_strdup(m->old_name);
  m->copies[1] = mem_strdup(m->new_name);
  return m->copies[0] != NULL && m->copies[1] != NULL ? 0 : -K_ENOMEM;
}

/* The cache of the two names follows the host's rename. */
K_LOCKED static void move_known(move *m, bool exchange) {
  host_node *moved = host_node_named(m->from->fs, m->from, m->old_name);
  host_node *there = host_node_named(m->to->fs, m->to, m->new_name);
  if (moved == there) return;
  if (there != NULL) k_inode_ref(&there->base);
  if (moved != NULL) {
    k_inode_ref(&moved->base);
    host_node_moved(moved, m->to, MOVE(m->copies[1]));
    k_inode_unref(&moved->base);
  }
  if (there == NULL) return;
  if (exchange)
    host_node_moved(there, m->from, MOVE(m->copies[0]));
  else
    there->gone = true;
  k_inode_unref(&there->base);
}

K_LOCKED k_ret host_move(k_inode *from, k_name old_name, k_inode *to, k_name new_name, uint32_t flags) {
  move m = { .from = host_of(from), .to = host_of(to) };
  const hostfs *fs = m.from->fs;
  if (!fs->writable) return -K_EROFS;
  host_text_of(old_name, m.old_name);
  host_text_of(new_name, m.new_name);
  k_ret r = move_prepare(&m);
  if (r >= 0) {
    host_leave(fs);
    r = host_rename(m.from->fd, m.old_name, m.to->fd, m.new_name, flags);
    host_return(fs);
  }
  if (r >= 0) move_known(&m, (flags & VFS_RENAME_EXCHANGE) != 0);
  mem_free(m.copies[0]);
  mem_free(m.copies[1]);
  return r;
}
