/* devpts.c - inodes of /dev/pts: its directory, and one for each slave that is looked up (devpts.h). */
#include "kernel/fs/dev/devpts.h"

#include "base/alloc.h"
#include "kernel/tty/tty.h"

#include <stdio.h>
#include <string.h>

enum { PTS_MAJOR = 136, ROOT_INO = 1, FIRST_INO = 3, NUMBER_MAX = 12 };

typedef struct pts_fs {
  k_inode root;
  int64_t made_ns;
} pts_fs;

/* One terminal, while somebody holds its inode. */
typedef struct pts_node {
  k_inode base;
  pts_fs *fs; /* a reference of its root */
  k_tty *tty; /* a reference */
  int64_t made_ns;
} pts_node;

static pts_node *devpts_node_of(k_inode *i) { return CONTAINER_OF(i, pts_node, base); }
static pts_fs *devpts_fs_of(k_inode *root) { return CONTAINER_OF(root, pts_fs, root); }

static size_t write_number(uint32_t number, char text[NUMBER_MAX]) {
  return (size_t)snprintf(text, NUMBER_MAX, "%u", number);
}

/* ---- one terminal ---- */

static k_ret node_stat(k_inode *i, k_stat *out) {
  const pts_node *n = devpts_node_of(i);
  *out = (k_stat){
    .ino = FIRST_INO + n->tty->number,
    .mode = i->mode,
    .nlink = 1,
    .uid = K_UID,
    .gid = K_GID,
    .dev_minor = 24,
    .rdev_major = PTS_MAJOR,
    .rdev_minor = n->tty->number,
    .atime_ns = n->made_ns,
    .mtime_ns = n->made_ns,
    .ctime_ns = n->made_ns,
    .btime_ns = n->made_ns,
  };
  return 0;
}

K_LOCKED static k_ret node_open(k_inode *i, k_process *p, uint32_t flags, k_file **out) {
  k_inode_ref(i);
  k_ret r = k_tty_open(devpts_node_of(i)->tty, p, i, flags, out);
  if (r < 0) k_inode_unref(i);
  return r;
}

static k_ret node_setattr(k_inode *i, const k_attr *attr) {
  if ((attr->which & K_ATTR_SIZE) != 0) return -K_EINVAL;
  if (((attr->which & K_ATTR_UID) != 0 && attr->uid != K_UID) ||
      ((attr->which & K_ATTR_GID) != 0 && attr->gid != K_GID))
    return -K_EPERM;
  if ((attr->which & K_ATTR_MODE) != 0) i->mode = K_S_IFCHR | (attr->mode & 07777);
  return 0;
}

K_LOCKED static k_ret node_parent(k_inode *i, k_inode **out) {
  *out = k_inode_ref(&devpts_node_of(i)->fs->root);
  return 0;
}

static k_ret node_name_of(k_inode *i, char *buf, size_t cap) {
  char text[NUMBER_MAX];
  const k_tty *t = devpts_node_of(i)->tty;
  if (!t->has_master) return -K_ENOENT;
  size_t len = write_number(t->number, text);
  if (len > cap) return -K_ENAMETOOLONG;
  memcpy(buf, text, len);
  return (k_ret)len;
}

static k_ret pts_statfs(k_inode *i, k_statfs *out) {
  enum { DEVPTS_MAGIC = 0x1cd1 };
  (void)i;
  *out = (k_statfs){ .type = DEVPTS_MAGIC, .block_size = K_PAGE, .name_max = K_NAME_MAX };
  return 0;
}

K_LOCKED static void node_release(k_inode *i) {
  pts_node *n = devpts_node_of(i);
  n->tty->node = NULL;
  k_tty_unref(n->tty);
  k_inode_unref(&n->fs->root);
  mem_free(n);
}

static const k_inode_ops node_ops = {
  .stat = node_stat,
  .setattr = node_setattr,
  .open_by = node_open,
  .parent = node_parent,
  .name_of = node_name_of,
  .statfs = pts_statfs,
  .release = node_release,
};

/* The same inode for everybody who looks while one of them holds it. */
K_LOCKED static k_ret node_get(pts_fs *fs, k_tty *t, k_inode **out) {
  if (t->node != NULL) {
    *out = k_inode_ref(t->node);
    return 0;
  }
  pts_node *n = mem_zalloc(sizeof *n);
  if (n == NULL) return -K_ENOMEM;
  *n = (pts_node){
    .base = { .ops = &node_ops, .kernel = t->kernel, .fs = fs, .refs = 1, .mode = K_S_IFCHR | 0620 },
    .fs = fs,
    .tty = k_tty_ref(t),
    .made_ns = k_real_ns(t->kernel),
  };
  k_inode_ref(&fs->root);
  t->node = &n->base;
  *out = t->node;
  return 0;
}

/* ---- the directory ---- */

static k_ret root_stat(k_inode *i, k_stat *out) {
  pts_fs *fs = devpts_fs_of(i);
  if (fs->made_ns == 0 && i->kernel != NULL) fs->made_ns = k_real_ns(i->kernel);
  *out = (k_stat){
    .ino = ROOT_INO,
    .mode = i->mode,
    .nlink = 2,
    .dev_minor = 24,
    .atime_ns = fs->made_ns,
    .mtime_ns = fs->made_ns,
    .ctime_ns = fs->made_ns,
    .btime_ns = fs->made_ns,
  };
  return 0;
}

K_LOCKED static k_ret root_lookup(k_inode *dir, k_name name, k_process *viewer, k_inode **out) {
  (void)viewer;
  LIST_EACH (t, &dir->kernel->ttys, k_tty, in_kernel) {
    char text[NUMBER_MAX];
    size_t len = write_number(t->number, text);
    if (len == name.len && memcmp(text, name.data, len) == 0) return node_get(devpts_fs_of(dir), t, out);
  }
  return -K_ENOENT;
}

K_LOCKED static k_ret root_parent(k_inode *dir, k_inode **out) {
  *out = k_inode_ref(dir);
  return 0;
}

static k_ret root_readdir(k_file *f, int64_t pos, k_dirent_fn *each, void *ctx) {
  if (pos < 1 && !each(ctx, (k_name){ ".", 1 }, ROOT_INO, K_S_IFDIR, 1)) return 0;
  if (pos < 2 && !each(ctx, (k_name){ "..", 2 }, ROOT_INO, K_S_IFDIR, 2)) return 0;
  LIST_EACH (t, &f->kernel->ttys, k_tty, in_kernel) {
    char text[NUMBER_MAX];
    int64_t next = (int64_t)t->number + FIRST_INO;
    if (next <= pos) continue;
    size_t len = write_number(t->number, text);
    if (!each(ctx, (k_name){ text, len }, FIRST_INO + t->number, K_S_IFCHR, next)) return 0;
  }
  return 0;
}

static k_ret devpts_no_size(k_file *f) {
  (void)f;
  return 0;
}

static const k_file_ops dir_ops = { .readdir = root_readdir, .size = devpts_no_size };

K_LOCKED static k_ret root_open(k_inode *i, uint32_t flags, k_file **out) {
  k_inode_ref(i);
  k_ret r = k_file_new(i->kernel, &dir_ops, flags, i, NULL, out);
  if (r < 0) k_inode_unref(i);
  return r;
}

static void root_release(k_inode *i) { mem_free(devpts_fs_of(i)); }

static const k_inode_ops root_ops = {
  .stat = root_stat,
  .open = root_open,
  .lookup = root_lookup,
  .parent = root_parent,
  .statfs = pts_statfs,
  .release = root_release,
};

k_ret devpts_new(k_inode **out) {
  pts_fs *fs = mem_zalloc(sizeof *fs);
  if (fs == NULL) return -K_ENOMEM;
  fs->root = (k_inode){ .ops = &root_ops, .fs = fs, .refs = 1, .mode = K_S_IFDIR | 0755 };
  *out = &fs->root;
  return 0;
}
