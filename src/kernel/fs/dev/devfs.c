/* devfs.c - the table of devices in /dev, the operations of each, and the inodes of the directory
 * (devfs.h). */
#include "kernel/fs/dev/devfs.h"

#include "base/alloc.h"
#include "kernel/proc/process.h"
#include "kernel/tty/tty.h"

#include <string.h>

/* ---- the devices ---- */

static k_ret devfs_null_read(k_file *f, void *buf, size_t len, int64_t pos) {
  (void)f, (void)buf, (void)len, (void)pos;
  return 0;
}

static k_ret swallow(k_file *f, const void *buf, size_t len, int64_t pos) {
  (void)f, (void)buf, (void)pos;
  return (k_ret)len;
}

static k_ret zero_read(k_file *f, void *buf, size_t len, int64_t pos) {
  (void)f, (void)pos;
  memset(buf, 0, len);
  return (k_ret)len;
}

static k_ret full_write(k_file *f, const void *buf, size_t len, int64_t pos) {
  (void)f, (void)buf, (void)len, (void)pos;
  return -K_ENOSPC;
}

static k_ret random_read(k_file *f, void *buf, size_t len, int64_t pos) {
  (void)pos;
  rng_bytes(&f->kernel->random, buf, len);
  return (k_ret)len;
}

static k_ret devfs_no_size(k_file *f) {
  (void)f;
  return 0;
}

static const k_file_ops null_ops = { .read = devfs_null_read, .write = swallow, .size = devfs_no_size };
static const k_file_ops zero_ops = { .read = zero_read, .write = swallow, .size = devfs_no_size };
static const k_file_ops full_ops = { .read = zero_read, .write = full_write, .size = devfs_no_size };
static const k_file_ops random_ops = { .read = random_read, .write = swallow, .size = devfs_no_size };

enum node_kind { ROOT, DEVICE, LINK, DIRECTORY };

/* Every name of /dev. Numbers are those of Linux (devices.txt of the kernel's documentation). */
static const struct device {
  const char *name;
  enum node_kind kind;
  const k_file_ops *ops;
  uint32_t major, minor;
  const char *target;
} DEVICES[] = {
  { "null", DEVICE, &null_ops, 1, 3, NULL },
  { "zero", DEVICE, &zero_ops, 1, 5, NULL },
  { "full", DEVICE, &full_ops, 1, 7, NULL },
  { "random", DEVICE, &random_ops, 1, 8, NULL },
  { "urandom", DEVICE, &random_ops, 1, 9, NULL },
  { "tty", DEVICE, NULL, 5, 0, NULL },
  { "ptmx", DEVICE, NULL, 5, 2, NULL },
  { "fd", LINK, NULL, 0, 0, "/proc/self/fd" },
  { "stdin", LINK, NULL, 0, 0, "/proc/self/fd/0" },
  { "stdout", LINK, NULL, 0, 0, "/proc/self/fd/1" },
  { "stderr", LINK, NULL, 0, 0, "/proc/self/fd/2" },
  { "shm", DIRECTORY, NULL, 0, 0, NULL },
  { "pts", DIRECTORY, NULL, 0, 0, NULL },
};

typedef struct dev_node {
  k_inode base;
  struct dev_node *root; /* itself for the root */
  const struct device *device;
  size_t place;
} dev_node;

typedef struct dev_fs {
  dev_node root;
  dev_node nodes[COUNT_OF(DEVICES)];
  uint32_t live; /* nodes with references, the root included */
  int64_t made_ns;
} dev_fs;

static dev_node *devfs_node_of(k_inode *i) { return CONTAINER_OF(i, dev_node, base); }
static dev_fs *devfs_fs_of(dev_node *n) { return CONTAINER_OF(n->root, dev_fs, root); }

static k_ret dev_stat(k_inode *i, k_stat *out) {
  dev_node *n = devfs_node_of(i);
  dev_fs *fs = devfs_fs_of(n);
  if (fs->made_ns == 0 && i->kernel != NULL) fs->made_ns = k_real_ns(i->kernel);
  const struct device *d = n->device;
  *out = (k_stat){
    .ino = d != NULL ? 2 + n->place : 1,
    .mode = i->mode,
    .nlink = k_is_dir(i) ? 2 : 1,
    .size = d != NULL && d->target != NULL ? strlen(d->target) : 0,
    .dev_minor = 5,
    .rdev_major = d != NULL ? d->major : 0,
    .rdev_minor = d != NULL ? d->minor : 0,
    .atime_ns = fs->made_ns,
    .mtime_ns = fs->made_ns,
    .ctime_ns = fs->made_ns,
    .btime_ns = fs->made_ns,
  };
  return 0;
}

K_LOCKED static k_ret devfs_take(dev_node *n, k_inode **out) {
  dev_fs *fs = devfs_fs_of(n);
  if (n->base.refs == 0) fs->live++;
  n->base.kernel = fs->root.base.kernel;
  *out = k_inode_ref(&n->base);
  return 0;
}

K_LOCKED static k_ret dev_lookup(k_inode *dir, k_name name, k_process *viewer, k_inode **out) {
  (void)viewer;
  if (!k_is_dir(dir)) return -K_ENOTDIR;
  dev_node *n = devfs_node_of(dir);
  if (n->device != NULL) return -K_ENOENT; /* shm is empty, pts is where devpts is mounted */
  for (size_t i = 0; i < COUNT_OF(DEVICES); i++)
    if (strlen(DEVICES[i].name) == name.len && memcmp(DEVICES[i].name, name.data, name.len) == 0)
      return devfs_take(&devfs_fs_of(n)->nodes[i], out);
  return -K_ENOENT;
}

K_LOCKED static k_ret dev_parent(k_inode *dir, k_inode **out) {
  return devfs_take(devfs_node_of(dir)->root, out);
}

static k_ret dev_name_of(k_inode *dir, char *buf, size_t cap) {
  const struct device *d = devfs_node_of(dir)->device;
  if (d == NULL) return -K_ENOENT;
  size_t len = strlen(d->name);
  if (len > cap) return -K_ENAMETOOLONG;
  memcpy(buf, d->name, len);
  return (k_ret)len;
}

static k_ret dev_readlink(k_inode *i, char *buf, size_t cap) {
  const struct device *d = devfs_node_of(i)->device;
  if (d == NULL || d->target == NULL) return -K_EINVAL;
  size_t len = strlen(d->target), n = len < cap ? len : cap;
  memcpy(buf, d->target, n);
  return (k_ret)n;
}

static k_ret dev_readdir(k_file *f, int64_t pos, k_dirent_fn *each, void *ctx) {
  dev_node *n = devfs_node_of(f->inode);
  if (pos < 1 && !each(ctx, (k_name){ ".", 1 }, 1, K_S_IFDIR, 1)) return 0;
  if (pos < 2 && !each(ctx, (k_name){ "..", 2 }, 1, K_S_IFDIR, 2)) return 0;
  if (n->device != NULL) return 0;
  for (size_t i = pos > 2 ? (size_t)pos - 2 : 0; i < COUNT_OF(DEVICES); i++) {
    const char *name = DEVICES[i].name;
    if (!each(ctx, (k_name){ name, strlen(name) }, 2 + i, devfs_fs_of(n)->nodes[i].base.mode, (int64_t)i + 3))
      return 0;
  }
  return 0;
}

static const k_file_ops dir_ops = { .readdir = dev_readdir, .size = devfs_no_size };

K_LOCKED static k_ret dev_open(k_inode *i, uint32_t flags, k_file **out) {
  const struct device *d = devfs_node_of(i)->device;
  const k_file_ops *ops = k_is_dir(i) ? &dir_ops : d->ops;
  k_inode_ref(i);
  k_ret r = k_file_new(i->kernel, ops, flags, i, NULL, out);
  if (r < 0) k_inode_unref(i);
  return r;
}

/* tty(4): whatever terminal the session has. ptmx(4): a new one. */
K_LOCKED static k_ret devfs_open_terminal(k_inode *i, k_process *p, uint32_t flags, k_file **out) {
  enum { PTMX = 2 };
  if (p == NULL) return -K_ENXIO;
  k_tty *own = k_tty_controlling(p);
  bool is_new = devfs_node_of(i)->device->minor == PTMX;
  if (!is_new && own == NULL) return -K_ENXIO;
  k_inode_ref(i);
  k_ret r = is_new ? k_tty_new(i->kernel, i, flags, out) : k_tty_open(own, NULL, i, flags, out);
  if (r < 0) k_inode_unref(i);
  return r;
}

K_LOCKED static k_ret dev_open_by(k_inode *i, k_process *p, uint32_t flags, k_file **out) {
  const struct device *d = devfs_node_of(i)->device;
  if (d != NULL && d->kind == DEVICE && d->ops == NULL) return devfs_open_terminal(i, p, flags, out);
  return dev_open(i, flags & ~(uint32_t)K_O_NOCTTY, out);
}

static k_ret dev_statfs(k_inode *i, k_statfs *out) {
  enum { TMPFS_MAGIC = 0x01021994 };
  (void)i;
  *out = (k_statfs){ .type = TMPFS_MAGIC, .block_size = K_PAGE, .name_max = K_NAME_MAX };
  return 0;
}

static void dev_release(k_inode *i) {
  dev_fs *fs = devfs_fs_of(devfs_node_of(i));
  if (--fs->live == 0) mem_free(fs);
}

/* As Linux: a device's mode cannot be changed by this user, but opening with O_TRUNC is no change. */
static const k_inode_ops dev_inode_ops = {
  .stat = dev_stat,
  .open_by = dev_open_by,
  .readlink = dev_readlink,
  .lookup = dev_lookup,
  .parent = dev_parent,
  .name_of = dev_name_of,
  .statfs = dev_statfs,
  .release = dev_release,
};

static uint32_t mode_of(enum node_kind kind) {
  switch (kind) {
  case DEVICE: return K_S_IFCHR | 0666;
  case LINK: return K_S_IFLNK | 0777;
  default: return K_S_IFDIR | 0755;
  }
}

k_ret devfs_new(k_inode **out) {
  dev_fs *fs = mem_zalloc(sizeof *fs);
  if (fs == NULL) return -K_ENOMEM;
  fs->root = (dev_node){ .base = { .ops = &dev_inode_ops, .fs = fs, .refs = 1, .mode = mode_of(ROOT) },
                         .root = &fs->root };
  fs->live = 1;
  for (size_t i = 0; i < COUNT_OF(DEVICES); i++)
    fs->nodes[i] = (dev_node){ .base = { .ops = &dev_inode_ops, .fs = fs, .mode = mode_of(DEVICES[i].kind) },
                               .root = &fs->root,
                               .device = &DEVICES[i],
                               .place = i };
  *out = &fs->root.base;
  return 0;
}
