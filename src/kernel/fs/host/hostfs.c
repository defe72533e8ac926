/* hostfs.c - a directory of the host inside the tree: its inodes. */
#include "kernel/fs/host/hostfs.h"

#include "base/alloc.h"
#include "kernel/fs/host/hostfs_inner.h"
#include "kernel/vfs/vfs.h"

#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/vfs.h>

K_UNCHECKED void host_leave(const hostfs *fs) {
  if (fs->root != NULL && fs->root->base.kernel != NULL) k_unlock(fs->root->base.kernel);
}

K_UNCHECKED void host_return(const hostfs *fs) {
  if (fs->root != NULL && fs->root->base.kernel != NULL) k_lock(fs->root->base.kernel);
}

void host_text_of(k_name name, host_text out) {
  memcpy(out, name.data, name.len);
  out[name.len] = '\0';
}

/* ---- looking ---- */

K_LOCKED k_ret host_look(host_node *dir, const char *name, host_node **out) {
  hostfs *fs = dir->fs;
  struct statx st;
  K_TRY(host_count(fs));
  host_leave(fs);
  k_ret fd = host_open(dir->fd, name, O_PATH, 0, fs->highest);
  k_ret r = fd < 0 ? fd : host_stat((int)fd, &st);
  if (r < 0 && fd >= 0) host_close((int)fd);
  host_return(fs);
  if (r >= 0) return host_adopt(fs, dir, name, (int)fd, &st, out);
  host_uncount(fs);
  return r;
}

K_LOCKED static k_ret lookup(k_inode *dir, k_name name, k_process *viewer, k_inode **out) {
  (void)viewer;
  host_text text;
  host_node *n = NULL;
  if (!k_is_dir(dir)) return -K_ENOTDIR;
  host_text_of(name, text);
  K_TRY(host_look(host_of(dir), text, &n));
  *out = &n->base;
  return 0;
}

K_LOCKED static k_ret parent(k_inode *dir, k_inode **out) {
  host_node *n = host_of(dir);
  *out = k_inode_ref(n->parent != NULL ? &n->parent->base : dir);
  return 0;
}

static k_ret name_of(k_inode *dir, char *buf, size_t cap) {
  const host_node *n = host_of(dir);
  if (n->gone || n->name == NULL) return -K_ENOENT;
  size_t len = strlen(n->name);
  if (len > cap) return -K_ENAMETOOLONG;
  memcpy(buf, n->name, len);
  return (k_ret)len;
}

static k_ret was(k_inode *i, char *buf, size_t cap) {
  size_t at = cap;
  for (const host_node *n = host_of(i); n->parent != NULL; n = n->parent) {
    size_t len = strlen(n->name);
    if (len + 1 > at) return -K_ENAMETOOLONG;
    at -= len;
    memcpy(buf + at, n->name, len);
    buf[--at] = '/';
  }
  memmove(buf, buf + at, cap - at);
  return (k_ret)(cap - at);
}

K_LOCKED static k_ret read_link(k_inode *i, char *buf, size_t cap) {
  const host_node *n = host_of(i);
  if (!k_is_link(i)) return -K_EINVAL;
  host_leave(n->fs);
  k_ret r = host_readlink(n->fd, buf, cap);
  host_return(n->fs);
  return r;
}

/* ---- attributes ---- */

static int64_t ns_of(const struct statx_timestamp *t) { return t->tv_sec * NS_PER_SEC + t->tv_nsec; }

/* Device numbers are shifted: no file system of our own has such. */
static void show(const struct statx *st, k_stat *out) {
  enum { MAJOR_SHIFT = 512 };
  *out = (k_stat){
    .ino = st->stx_ino,
    .size = st->stx_size,
    .blocks = st->stx_blocks,
    .mode = st->stx_mode & ~(uint32_t)(K_S_ISUID | K_S_ISGID),
    .nlink = st->stx_nlink,
    .uid = K_UID,
    .gid = K_GID,
    .dev_major = st->stx_dev_major + MAJOR_SHIFT,
    .dev_minor = st->stx_dev_minor,
    .rdev_major = st->stx_rdev_major,
    .rdev_minor = st->stx_rdev_minor,
    .atime_ns = ns_of(&st->stx_atime),
    .mtime_ns = ns_of(&st->stx_mtime),
    .ctime_ns = ns_of(&st->stx_ctime),
    .btime_ns = ns_of(st->stx_mask & STATX_BTIME ? &st->stx_btime : &st->stx_ctime),
  };
}

K_LOCKED static k_ret get_stat(k_inode *i, k_stat *out) {
  host_node *n = host_of(i);
  struct statx st;
  host_leave(n->fs);
  k_ret r = host_stat(n->fd, &st);
  host_return(n->fs);
  if (r < 0) return r;
  host_node_seen(n, &st);
  i->mode = (i->mode & K_S_IFMT) | (st.stx_mode & 01777);
  show(&st, out);
  return 0;
}

K_LOCKED static k_ret get_statfs(k_inode *i, k_statfs *out) {
  const host_node *n = host_of(i);
  struct statfs st;
  host_leave(n->fs);
  k_ret r = host_statfs(n->fd, &st);
  host_return(n->fs);
  if (r < 0) return r;
  *out = (k_statfs){
    .type = (uint64_t)st.f_type,
    .block_size = (uint64_t)st.f_bsize,
    .blocks = st.f_blocks,
    .blocks_free = st.f_bavail,
    .files = st.f_files,
    .files_free = st.f_ffree,
    .name_max = (uint64_t)st.f_namelen,
  };
  return 0;
}

/* ---- the file itself, for reading or writing ---- */

K_LOCKED static k_ret reopen_dir(host_node *n, uint64_t flags) {
  host_leave(n->fs);
  k_ret fd = host_open(n->fd, ".", flags | O_DIRECTORY, 0, n->fs->highest);
  host_return(n->fs);
  return fd;
}

/* Must be the file that `n` is; gives back what else it finds there. */
static k_ret open_same(const host_node *n, int dir, const char *name, uint64_t flags) {
  struct statx st;
  k_ret fd = host_open(dir, name, flags, 0, n->fs->highest);
  if (fd < 0) return fd == -K_ELOOP ? -K_ESTALE : fd;
  k_ret r = host_stat((int)fd, &st);
  if (r >= 0) r = host_node_is(n, &st) ? fd : -K_ESTALE;
  if (r < 0) host_close((int)fd);
  return r;
}

K_LOCKED static k_ret reopen_file(host_node *n, uint64_t flags) {
  if (n->gone) return -K_ENOENT;
  host_text name;
  host_node *dir = n->parent;
  host_text_of((k_name){ n->name, strlen(n->name) }, name);
  k_inode_ref(&dir->base);
  host_leave(n->fs);
  k_ret fd = open_same(n, dir->fd, name, flags);
  host_return(n->fs);
  k_inode_unref(&dir->base);
  return fd;
}

K_LOCKED k_ret host_reopen(host_node *n, uint64_t flags) {
  if (!k_is_dir(&n->base) && !k_is_reg(&n->base)) return -K_EACCES;
  K_TRY(host_count(n->fs));
  k_ret fd = k_is_dir(&n->base) ? reopen_dir(n, flags) : reopen_file(n, flags);
  if (fd < 0) host_uncount(n->fs);
  return fd;
}

/* ---- changing attributes ---- */

K_LOCKED static k_ret truncate_by(host_node *n, int fd, uint64_t size) {
  host_leave(n->fs);
  k_ret r = host_truncate(fd, size);
  host_return(n->fs);
  host_node_changed(n);
  return r;
}

/* Through a descriptor that is open for writing, if there is one: the file may have lost its name since, or
 * forbid to be opened so again. */
K_LOCKED static k_ret set_size(host_node *n, uint64_t size) {
  if (!list_empty(&n->writers)) {
    host_handle *h = CONTAINER_OF(n->writers.next, host_handle, in_writers);
    h->users++;
    k_ret r = truncate_by(n, h->fd, size);
    host_handle_drop(n->fs, h);
    return r;
  }
  k_ret fd = host_reopen(n, O_WRONLY);
  if (fd < 0) return fd;
  k_ret r = truncate_by(n, (int)fd, size);
  host_close_counted(n->fs, (int)fd);
  return r;
}

/* Hosts before Linux 6.6 change the mode of an open file only. */
K_LOCKED static k_ret set_mode_open(host_node *n, uint32_t mode) {
  k_ret fd = host_reopen(n, O_RDONLY);
  if (fd < 0) return fd;
  host_leave(n->fs);
  k_ret r = host_chmod_open((int)fd, mode);
  host_return(n->fs);
  host_close_counted(n->fs, (int)fd);
  return r;
}

K_LOCKED static k_ret set_mode(host_node *n, uint32_t mode) {
  mode &= 01777;
  host_leave(n->fs);
  k_ret r = host_chmod(n->fd, mode);
  host_return(n->fs);
  return r == -K_EOPNOTSUPP ? set_mode_open(n, mode) : r;
}

static struct timespec timespec_of(bool wanted, int64_t ns) {
  if (!wanted) return (struct timespec){ .tv_nsec = UTIME_OMIT };
  int64_t sec = ns / NS_PER_SEC, rest = ns % NS_PER_SEC;
  if (rest < 0) sec--, rest += NS_PER_SEC;
  return (struct timespec){ .tv_sec = sec, .tv_nsec = rest };
}

K_LOCKED static k_ret set_times(host_node *n, const k_attr *attr) {
  const struct timespec times[2] = { timespec_of(attr->which & K_ATTR_ATIME, attr->atime_ns),
                                     timespec_of(attr->which & K_ATTR_MTIME, attr->mtime_ns) };
  host_leave(n->fs);
  k_ret r = host_utimens(n->fd, times);
  host_return(n->fs);
  return r;
}

K_LOCKED static k_ret setattr(k_inode *i, const k_attr *attr) {
  host_node *n = host_of(i);
  if (!n->fs->writable) return -K_EROFS;
  if ((attr->which & K_ATTR_UID) && attr->uid != K_UID) return -K_EPERM;
  if ((attr->which & K_ATTR_GID) && attr->gid != K_GID) return -K_EPERM;
  if (attr->which & K_ATTR_SIZE) K_TRY(set_size(n, attr->size));
  if (attr->which & K_ATTR_MODE) K_TRY(set_mode(n, attr->mode));
  if (attr->which & (K_ATTR_ATIME | K_ATTR_MTIME)) K_TRY(set_times(n, attr));
  return 0;
}

const k_inode_ops host_inode_ops = {
  .stat = get_stat,
  .setattr = setattr,
  .open = host_open_file,
  .readlink = read_link,
  .lookup = lookup,
  .parent = parent,
  .name_of = name_of,
  .was = was,
  .create = host_create,
  .symlink = host_make_symlink,
  .link = host_make_link,
  .unlink = host_remove,
  .rename = host_move,
  .statfs = get_statfs,
  .release = host_node_release,
};

/* ---- the file system ---- */

/* The last quarter of the descriptors that the process may have is not for guests. */
static int highest_descriptor(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > INT32_MAX) return INT32_MAX;
  return (int)(limit.rlim_cur - limit.rlim_cur / 4) - 1;
}

K_LOCKED static k_ret open_root(hostfs *fs, int dirfd) {
  struct statx st;
  K_TRY(host_count(fs));
  k_ret fd = host_open(dirfd, ".", O_PATH | O_DIRECTORY, 0, fs->highest);
  if (fd < 0) return fd;
  k_ret r = host_stat((int)fd, &st);
  if (r >= 0) return host_adopt(fs, NULL, NULL, (int)fd, &st, &fs->root);
  host_close((int)fd);
  return r;
}

k_ret hostfs_new(int dirfd, bool writable, k_inode **out) {
  hostfs *fs = mem_zalloc(sizeof *fs);
  if (fs == NULL) return -K_ENOMEM;
  *fs = (hostfs){ .writable = writable, .highest = highest_descriptor() };
  for (size_t b = 0; b < HOST_BUCKETS; b++) list_init(&fs->nodes[b]);
  k_ret r = open_root(fs, dirfd);
  if (r < 0) {
    mem_free(fs);
    return r;
  }
  *out = &fs->root->base;
  return 0;
}

K_LOCKED k_ret hostfs_new_file(k_kernel *k, int dirfd, const char *name, bool writable, k_inode **out) {
  OWNED(k_inode_unref) k_inode *dir = NULL;
  host_node *n = NULL;
  if (strlen(name) > K_NAME_MAX) return -K_ENAMETOOLONG;
  K_TRY(hostfs_new(dirfd, writable, &dir));
  K_TRY(host_look(host_of(dir), name, &n)); /* keeps its directory */
  dir->kernel = n->base.kernel = k;
  if (!k_is_reg(&n->base)) {
    k_inode_unref(&n->base);
    return -K_EINVAL;
  }
  *out = &n->base;
  return 0;
}
