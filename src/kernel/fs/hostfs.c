/* hostfs.c - a directory of the host inside the tree.
 *
 * A node is an O_PATH descriptor of the host, found one name at a time from the descriptor of its directory;
 * ".." goes by our own pointers. So whatever happens to names on the host meanwhile, a node is what it was
 * when it was found, and nothing above the root is ever asked for. */
#include "kernel/fs/hostfs.h"

#include "base/alloc.h"
#include "kernel/file.h"
#include "kernel/fs/host.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Descriptors of the host that one mount may hold: a guest must not use up those of the process. */
enum { DESCRIPTORS_MAX = 512 };

typedef struct host_fs {
  uint32_t nodes;       /* live ones; the last frees this */
  uint32_t descriptors; /* held by nodes and open files */
  bool writable;
} host_fs;

typedef struct host_node {
  k_inode base;
  host_fs *fs;
  struct host_node *parent; /* a reference; NULL for the root */
  int fd;                   /* O_PATH */
  size_t name_len;
  char name[];
} host_node;

static host_node *node_of(k_inode *i) { return CONTAINER_OF(i, host_node, base); }

/* Host calls go between these two. */
static void leave(k_kernel *k) {
  if (k != NULL) k_unlock(k);
}
static void back(k_kernel *k) {
  if (k != NULL) k_lock(k);
}

static k_ret host_result(int64_t r) { return r < 0 ? r == -1 ? -k_errno_from_host(errno) : r : r; }

/* ---- nodes ---- */

static const k_inode_ops host_inode_ops;

/* Takes `fd` over, also on failure. */
static k_ret node_new(host_fs *fs, host_node *parent, int fd, uint32_t mode, k_name name, k_inode **out) {
  host_node *n = mem_zalloc(sizeof *n + name.len);
  if (n == NULL) {
    close(fd);
    return -K_ENOMEM;
  }
  n->base = (k_inode){ .ops = &host_inode_ops,
                       .fs = fs,
                       .refs = 1,
                       .mode = mode,
                       .kernel = parent != NULL ? parent->base.kernel : NULL };
  n->fs = fs;
  n->fd = fd;
  n->name_len = name.len;
  if (name.len != 0) memcpy(n->name, name.data, name.len);
  if (parent != NULL) {
    k_inode_ref(&parent->base);
    n->parent = parent;
  }
  fs->nodes++;
  fs->descriptors++;
  *out = &n->base;
  return 0;
}

static void host_release(k_inode *i) {
  host_node *n = node_of(i);
  while (n != NULL) { /* up the chain without recursion */
    host_node *parent = n->parent;
    host_fs *fs = n->fs;
    close(n->fd);
    mem_free(n);
    fs->descriptors--;
    if (--fs->nodes == 0) mem_free(fs);
    n = parent != NULL && --parent->base.refs == 0 ? parent : NULL;
  }
}

static k_ret room_for_descriptor(const host_fs *fs) {
  return fs->descriptors < DESCRIPTORS_MAX ? 0 : -K_ENFILE;
}

/* What of a host mode is shown: no set-id bits. */
static uint32_t shown_mode(uint32_t mode) { return mode & ~(uint32_t)(S_ISUID | S_ISGID); }

static k_ret host_lookup(k_inode *dir, k_name name, k_process *viewer, k_inode **out) {
  (void)viewer;
  host_node *d = node_of(dir);
  if (!k_is_dir(dir)) return -K_ENOTDIR;
  K_TRY(room_for_descriptor(d->fs));
  char text[K_NAME_MAX + 1];
  host_name(name, text);
  struct stat st;
  leave(dir->kernel);
  int fd = host_open_node(d->fd, text);
  int64_t r = fd < 0 ? -1 : fstat(fd, &st);
  k_ret result = host_result(r);
  if (r < 0 && fd >= 0) close(fd);
  back(dir->kernel);
  if (result < 0) return result;
  return node_new(d->fs, d, fd, shown_mode(st.st_mode), name, out);
}

static k_ret host_parent(k_inode *dir, k_inode **out) {
  host_node *n = node_of(dir);
  *out = k_inode_ref(n->parent != NULL ? &n->parent->base : dir);
  return 0;
}

static k_ret host_name_of(k_inode *dir, char *buf, size_t cap) {
  const host_node *n = node_of(dir);
  if (n->parent == NULL) return -K_ENOENT;
  if (n->name_len > cap) return -K_ENAMETOOLONG;
  memcpy(buf, n->name, n->name_len);
  return (k_ret)n->name_len;
}

/* ---- attributes ---- */

static void show(const struct stat *st, k_stat *out) {
  *out = (k_stat){
    .ino = st->st_ino,
    .size = (uint64_t)st->st_size,
    .blocks = (uint64_t)st->st_blocks,
    .mode = shown_mode(st->st_mode),
    .nlink = (uint32_t)st->st_nlink,
    .uid = K_UID,
    .gid = K_GID,
    .dev_minor = 7,
    .atime_ns = host_time(&st->st_atim),
    .mtime_ns = host_time(&st->st_mtim),
    .ctime_ns = host_time(&st->st_ctim),
    .btime_ns = host_time(&st->st_ctim),
  };
}

static k_ret host_stat(k_inode *i, k_stat *out) {
  struct stat st;
  leave(i->kernel);
  k_ret r = host_result(fstat(node_of(i)->fd, &st));
  back(i->kernel);
  if (r >= 0) show(&st, out);
  return r;
}

static k_ret host_setattr(k_inode *i, const k_attr *attr) {
  host_node *n = node_of(i);
  if (!n->fs->writable) return -K_EROFS;
  leave(i->kernel);
  k_ret r = host_result(host_change(n->fd, i->mode, attr));
  back(i->kernel);
  return r;
}

static k_ret host_readlink(k_inode *i, char *buf, size_t cap) {
  leave(i->kernel);
  k_ret r = host_result(readlinkat(node_of(i)->fd, "", buf, cap));
  back(i->kernel);
  return r;
}

/* ---- names ---- */

static k_ret host_create(k_inode *dir, k_name name, uint32_t mode, uint32_t uid, uint32_t gid, uint64_t rdev,
                         k_inode **out) {
  (void)uid, (void)gid, (void)rdev;
  host_node *d = node_of(dir);
  if (!d->fs->writable) return -K_EROFS;
  K_TRY(room_for_descriptor(d->fs));
  uint32_t type = mode & K_S_IFMT;
  if (type != K_S_IFREG && type != K_S_IFDIR) return -K_EPERM;
  char text[K_NAME_MAX + 1];
  host_name(name, text);
  leave(dir->kernel);
  k_ret r = host_result(type == K_S_IFDIR ? mkdirat(d->fd, text, mode & 01777)
                                          : host_make_file(d->fd, text, mode & 0777));
  back(dir->kernel);
  return r < 0 ? r : host_lookup(dir, name, NULL, out);
}

static k_ret host_symlink(k_inode *dir, k_name name, const char *target, size_t len, uint32_t uid,
                          uint32_t gid) {
  (void)uid, (void)gid;
  host_node *d = node_of(dir);
  if (!d->fs->writable) return -K_EROFS;
  char text[K_NAME_MAX + 1], to[K_PATH_MAX];
  if (len >= sizeof to) return -K_ENAMETOOLONG;
  host_name(name, text);
  memcpy(to, target, len);
  to[len] = '\0';
  leave(dir->kernel);
  k_ret r = host_result(symlinkat(to, d->fd, text));
  back(dir->kernel);
  return r;
}

static k_ret host_link(k_inode *dir, k_name name, k_inode *target) {
  host_node *d = node_of(dir);
  if (!d->fs->writable) return -K_EROFS;
  char text[K_NAME_MAX + 1];
  host_name(name, text);
  leave(dir->kernel);
  k_ret r = host_result(host_link_node(node_of(target)->fd, d->fd, text));
  back(dir->kernel);
  return r;
}

static k_ret host_unlink(k_inode *dir, k_name name, bool directory) {
  host_node *d = node_of(dir);
  if (!d->fs->writable) return -K_EROFS;
  char text[K_NAME_MAX + 1];
  host_name(name, text);
  leave(dir->kernel);
  k_ret r = host_result(unlinkat(d->fd, text, directory ? AT_REMOVEDIR : 0));
  back(dir->kernel);
  return r;
}

static k_ret host_rename(k_inode *from, k_name old_name, k_inode *to, k_name new_name, uint32_t flags) {
  if (!node_of(from)->fs->writable) return -K_EROFS;
  char a[K_NAME_MAX + 1], b[K_NAME_MAX + 1];
  host_name(old_name, a);
  host_name(new_name, b);
  leave(from->kernel);
  k_ret r = host_result(renameat2(node_of(from)->fd, a, node_of(to)->fd, b, flags));
  back(from->kernel);
  return r;
}

/* ---- open files ---- */

static int fd_of(const k_file *f) { return (int)(intptr_t)f->object; }

static k_ret file_read(k_file *f, void *buf, size_t len, int64_t pos) {
  leave(f->kernel);
  k_ret r = host_result(host_pread(fd_of(f), buf, len, pos));
  back(f->kernel);
  return r;
}

static k_ret file_write(k_file *f, const void *buf, size_t len, int64_t pos) {
  leave(f->kernel);
  k_ret r = host_result(host_pwrite(fd_of(f), buf, len, pos, (f->flags & K_O_APPEND) != 0));
  back(f->kernel);
  return r;
}

static k_ret file_size(k_file *f) {
  struct stat st;
  leave(f->kernel);
  k_ret r = host_result(fstat(fd_of(f), &st));
  back(f->kernel);
  return r < 0 ? r : (k_ret)st.st_size;
}

static k_ret file_seek(k_file *f, int64_t pos, bool hole) {
  leave(f->kernel);
  k_ret r = host_result(lseek(fd_of(f), pos, hole ? SEEK_HOLE : SEEK_DATA));
  back(f->kernel);
  return r;
}

static k_ret file_sync(k_file *f) {
  leave(f->kernel);
  k_ret r = host_result(fsync(fd_of(f)));
  back(f->kernel);
  return r;
}

static void file_release(k_file *f) {
  node_of(f->inode)->fs->descriptors--;
  leave(f->kernel);
  close(fd_of(f));
  back(f->kernel);
}

static const k_file_ops host_file_ops = { .read = file_read,
                                          .write = file_write,
                                          .size = file_size,
                                          .seek_data = file_seek,
                                          .fsync = file_sync,
                                          .release = file_release };

/* What was read of a directory in one piece, to be given out when kernel.mu is held again. */
static k_ret dir_readdir(k_file *f, int64_t pos, k_dirent_fn *each, void *ctx) {
  uint64_t up;
  k_stat st;
  char piece[16384];
  host_node *n = node_of(f->inode);
  up = n->parent != NULL ? 2 : 1;
  if (n->parent != NULL && host_stat(&n->parent->base, &st) >= 0) up = st.ino;
  leave(f->kernel);
  k_ret got = host_result(host_list(fd_of(f), pos, piece, sizeof piece));
  back(f->kernel);
  for (k_ret at = 0; at < got;) {
    host_dirent d = host_dirent_at(piece + at);
    if (strcmp(d.name, "..") == 0) d.ino = up;
    if (!each(ctx, (k_name){ d.name, strlen(d.name) }, d.ino, d.mode, d.next)) return 0;
    at += d.len;
  }
  return got < 0 ? got : 0;
}

static const k_file_ops host_dir_ops = {
  .readdir = dir_readdir, .size = file_size, .fsync = file_sync, .release = file_release
};

static k_ret host_open(k_inode *i, uint32_t flags, k_file **out) {
  host_node *n = node_of(i);
  if (!k_is_reg(i) && !k_is_dir(i)) return -K_EACCES;
  if (!n->fs->writable && (flags & K_O_ACCMODE) != K_O_RDONLY) return -K_EROFS;
  K_TRY(room_for_descriptor(n->fs));
  leave(i->kernel);
  k_ret fd = host_result(host_reopen(n->fd, (int)(flags & K_O_ACCMODE) | (k_is_dir(i) ? O_DIRECTORY : 0)));
  back(i->kernel);
  if (fd < 0) return fd;
  k_inode_ref(i);
  k_ret r = k_file_new(i->kernel, k_is_dir(i) ? &host_dir_ops : &host_file_ops, flags, i,
                       (void *)(intptr_t)fd, out);
  if (r < 0) {
    close((int)fd);
    k_inode_unref(i);
    return r;
  }
  n->fs->descriptors++;
  return 0;
}

static const k_inode_ops host_inode_ops = {
  .stat = host_stat,
  .setattr = host_setattr,
  .open = host_open,
  .readlink = host_readlink,
  .lookup = host_lookup,
  .parent = host_parent,
  .name_of = host_name_of,
  .create = host_create,
  .symlink = host_symlink,
  .link = host_link,
  .unlink = host_unlink,
  .rename = host_rename,
  .release = host_release,
};

k_ret hostfs_new(int dirfd, bool writable, k_inode **out) {
  struct stat st;
  int fd = mem_fault_here() ? -1 : host_open_root(dirfd);
  if (fd < 0) return host_result(-1);
  if (fstat(fd, &st) != 0 || !S_ISDIR(st.st_mode)) {
    close(fd);
    return -K_ENOTDIR;
  }
  host_fs *fs = mem_zalloc(sizeof *fs);
  if (fs == NULL) {
    close(fd);
    return -K_ENOMEM;
  }
  fs->writable = writable;
  k_ret r = node_new(fs, NULL, fd, shown_mode(st.st_mode), (k_name){ "", 0 }, out);
  if (r < 0) mem_free(fs);
  return r;
}
