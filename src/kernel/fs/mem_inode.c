/* mem_inode.c - the life of live inodes: made, inherited, changed, forgotten. */
#include "kernel/fs/mem_inode.h"

#include "base/alloc.h"
#include "kernel/vfs.h"

#include <string.h>

/* ---- quota ---- */

static k_ret count_one(mem_inode *i) {
  k_kernel *k = mem_kernel(i);
  if (i->counted || k == NULL) return 0;
  if (k->used.inodes >= k->limits.inodes) return -K_ENOSPC;
  k->used.inodes++;
  i->counted = true;
  return 0;
}

k_ret mem_touch(mem_inode *i) {
  K_TRY(count_one(i));
  i->dirty = true;
  return 0;
}

void mem_stamp(mem_inode *i, bool contents) {
  i->ctime_ns = k_real_ns(mem_kernel(i));
  if (contents) i->mtime_ns = i->ctime_ns;
}

/* ---- making ---- */

static mem_inode *alloc(memfs *fs, uint32_t mode) {
  mem_inode *i = mem_zalloc(sizeof *i);
  if (i == NULL) return NULL;
  i->base = (k_inode){ .ops = &mem_inode_ops,
                       .kernel = fs->root != NULL ? fs->root->base.kernel : NULL,
                       .fs = fs,
                       .refs = 1,
                       .mode = mode };
  i->fs = fs;
  fs->inode_count++;
  return i;
}

k_ret mem_inode_new(memfs *fs, uint32_t mode, uint32_t uid, uint32_t gid, mem_inode **out) {
  mem_inode *i = alloc(fs, mode);
  if (i == NULL) return -K_ENOMEM;
  i->ino = fs->next_ino++;
  i->uid = uid;
  i->gid = gid;
  i->dir.next_pos = MEM_POS_FIRST;
  i->dirty = true;
  if (fs->root != NULL) {
    k_ret r = count_one(i);
    if (r < 0) {
      k_inode_unref(&i->base);
      return r;
    }
    i->btime_ns = k_real_ns(mem_kernel(i));
    i->atime_ns = i->mtime_ns = i->ctime_ns = i->btime_ns;
  }
  *out = i;
  return 0;
}

static mem_alias *alias_of(memfs *fs, const mem_node *node) {
  for (size_t i = 0; i < fs->alias_count; i++)
    if (fs->aliases[i].node == node) return &fs->aliases[i];
  return NULL;
}

static bool alias_add(memfs *fs, const mem_node *node, mem_inode *inode) {
  if (fs->alias_count == fs->alias_cap) {
    size_t cap = fs->alias_cap != 0 ? 2 * fs->alias_cap : 8;
    mem_alias *aliases = mem_realloc_array(fs->aliases, cap, sizeof *aliases);
    if (aliases == NULL) return false;
    fs->aliases = aliases;
    fs->alias_cap = cap;
  }
  fs->aliases[fs->alias_count++] = (mem_alias){ node, inode };
  return true;
}

static bool has_aliases(const mem_node *node) {
  return (node->mode & K_S_IFMT) != K_S_IFDIR && node->nlink > 1;
}

k_ret mem_inode_inherit(memfs *fs, mem_node *node, mem_inode **out) {
  mem_alias *alias = has_aliases(node) ? alias_of(fs, node) : NULL;
  if (alias != NULL) {
    k_inode_ref(&alias->inode->base);
    *out = alias->inode;
    return 0;
  }
  mem_inode *i = alloc(fs, node->mode);
  if (i == NULL) return -K_ENOMEM;
  i->origin = node;
  i->base.exe = node->exe;
  i->ino = node->ino;
  i->rdev = node->rdev;
  i->uid = node->uid;
  i->gid = node->gid;
  i->nlink = node->nlink;
  i->atime_ns = node->atime_ns;
  i->mtime_ns = node->mtime_ns;
  i->ctime_ns = node->ctime_ns;
  i->btime_ns = node->btime_ns;
  i->dir.next_pos = node->next_pos;
  i->dir.count = node->count;
  k_ret r = mem_contents_share(&i->contents, &node->contents);
  if (r >= 0 && has_aliases(node) && !alias_add(fs, node, i)) r = -K_ENOMEM;
  if (r < 0) {
    k_inode_unref(&i->base);
    return r;
  }
  *out = i;
  return 0;
}

/* ---- ending ---- */

static void forget_alias(mem_inode *i) {
  if (i->origin == NULL || !has_aliases(i->origin)) return;
  mem_alias *alias = alias_of(i->fs, i->origin);
  if (alias != NULL && alias->inode == i) *alias = i->fs->aliases[--i->fs->alias_count];
}

void mem_inode_unlinked(mem_inode *i) {
  if (k_is_dir(&i->base)) {
    i->nlink = 0;
    i->dir.entry = NULL;
    k_inode_ref(&i->dir.parent->base); /* ".." of a removed directory still leads up */
  } else if (i->nlink > 0) {
    i->nlink--;
  }
}

static void drop_ref(mem_inode *i) { k_inode_unref(&i->base); }

static void free_one(mem_inode *i, k_kernel *k) {
  if (k_is_dir(&i->base)) {
    bool removed = i->nlink == 0 && i->dir.parent != NULL && i->dir.parent != i;
    mem_dir_free(i, drop_ref);
    if (removed) k_inode_unref(&i->dir.parent->base);
  }
  forget_alias(i);
  mem_contents_free(&i->contents, k);
  if (i->counted && k != NULL) k->used.inodes--;
  mem_free(i->target);
  i->fs->inode_count--;
  mem_free(i);
}

static void fs_free(memfs *fs) {
  mem_tree_unref(fs->tree);
  mem_free(fs->aliases);
  mem_free(fs);
}

/* The outermost release works off what the inner ones leave: a tree of any depth needs no stack. */
static void mem_release(k_inode *inode) {
  mem_inode *i = mem_of(inode);
  memfs *fs = i->fs;
  i->next_doomed = fs->doomed;
  fs->doomed = i;
  if (fs->releasing) return;
  fs->releasing = true;
  k_kernel *k = inode->kernel;
  while ((i = fs->doomed) != NULL) {
    fs->doomed = i->next_doomed;
    if (i == fs->root) fs->root = NULL;
    free_one(i, k);
  }
  fs->releasing = false;
  if (fs->inode_count == 0) fs_free(fs);
}

/* ---- attributes ---- */

static uint64_t size_of(const mem_inode *i) {
  if (k_is_link(&i->base)) return strlen(i->target != NULL ? i->target : i->origin->target);
  if (k_is_dir(&i->base)) return 40 + 20 * i->dir.count; /* as tmpfs shows: so much for each name */
  return i->contents.size;
}

static k_ret mem_stat(k_inode *inode, k_stat *out) {
  const mem_inode *i = mem_of(inode);
  *out = (k_stat){
    .ino = i->ino,
    .size = size_of(i),
    .blocks = (mem_contents_held(&i->contents) + 511) / 512,
    .mode = inode->mode,
    .nlink = i->nlink,
    .uid = i->uid,
    .gid = i->gid,
    .dev_minor = 1,
    .rdev_major = (uint32_t)(i->rdev >> 32),
    .rdev_minor = (uint32_t)i->rdev,
    .atime_ns = i->atime_ns,
    .mtime_ns = i->mtime_ns,
    .ctime_ns = i->ctime_ns,
    .btime_ns = i->btime_ns,
  };
  return 0;
}

static void contents_changed(mem_inode *i) {
  i->base.exe = NULL;
  i->base.version++;
}

static k_ret mem_setattr(k_inode *inode, const k_attr *attr) {
  mem_inode *i = mem_of(inode);
  K_TRY(mem_touch(i));
  if (attr->which & K_ATTR_SIZE) {
    K_TRY(mem_contents_resize(&i->contents, mem_kernel(i), attr->size));
    contents_changed(i);
    mem_stamp(i, true);
  }
  if (attr->which & K_ATTR_MODE) inode->mode = (inode->mode & K_S_IFMT) | (attr->mode & 07777);
  if (attr->which & K_ATTR_UID) i->uid = attr->uid;
  if (attr->which & K_ATTR_GID) i->gid = attr->gid;
  mem_stamp(i, false);
  if (attr->which & K_ATTR_ATIME) i->atime_ns = attr->atime_ns;
  if (attr->which & K_ATTR_MTIME) i->mtime_ns = attr->mtime_ns;
  return 0;
}

static k_ret mem_readlink(k_inode *inode, char *buf, size_t cap) {
  const mem_inode *i = mem_of(inode);
  if (!k_is_link(inode)) return -K_EINVAL;
  const char *target = i->target != NULL ? i->target : i->origin->target;
  size_t len = strlen(target), n = len < cap ? len : cap;
  memcpy(buf, target, n);
  return (k_ret)n;
}

/* ---- open files ---- */

static k_ret mem_open(k_inode *inode, uint32_t flags, k_file **out) {
  const k_file_ops *ops = k_is_dir(inode) ? &mem_dir_file_ops : k_is_reg(inode) ? &mem_file_ops : NULL;
  if (ops == NULL) return -K_ENXIO;
  k_inode_ref(inode);
  k_ret r = k_file_new(inode->kernel, ops, flags, inode, NULL, out);
  if (r < 0) k_inode_unref(inode);
  return r;
}

static k_ret file_read(k_file *f, void *buf, size_t len, int64_t pos) {
  return (k_ret)mem_contents_read(&mem_of(f->inode)->contents, buf, len, (uint64_t)pos);
}

static k_ret file_write(k_file *f, const void *buf, size_t len, int64_t pos) {
  mem_inode *i = mem_of(f->inode);
  uint64_t at = (f->flags & K_O_APPEND) ? i->contents.size : (uint64_t)pos;
  if (len == 0) return 0;
  K_TRY(mem_touch(i));
  k_ret r = mem_contents_write(&i->contents, mem_kernel(i), buf, len, at);
  if (r > 0) {
    contents_changed(i);
    mem_stamp(i, true);
  }
  return r;
}

static k_ret file_size(k_file *f) { return (k_ret)mem_of(f->inode)->contents.size; }

static k_ret file_seek(k_file *f, int64_t pos, bool hole) {
  return mem_contents_seek(&mem_of(f->inode)->contents, (uint64_t)pos, hole);
}

const k_file_ops mem_file_ops = {
  .read = file_read, .write = file_write, .size = file_size, .seek_data = file_seek
};

/* ---- names ---- */

static k_ret mem_lookup(k_inode *dir, k_name name, k_process *viewer, k_inode **out) {
  (void)viewer;
  if (!k_is_dir(dir)) return -K_ENOTDIR;
  mem_entry *e;
  K_TRY(mem_dir_find(mem_of(dir), name, &e));
  *out = k_inode_ref(&e->inode->base);
  return 0;
}

static k_ret mem_parent(k_inode *dir, k_inode **out) {
  mem_inode *i = mem_of(dir);
  if (!k_is_dir(dir) && i->dir.entry == NULL)
    return -K_ENOENT; /* a file without a name: its directory may be gone */
  *out = k_inode_ref(i->dir.parent != NULL ? &i->dir.parent->base : dir);
  return 0;
}

static k_ret mem_name_of(k_inode *dir, char *buf, size_t cap) {
  const mem_entry *e = mem_of(dir)->dir.entry;
  if (e == NULL) return -K_ENOENT;
  if (e->len > cap) return -K_ENAMETOOLONG;
  memcpy(buf, e->name, e->len);
  return (k_ret)e->len;
}

/* An entry for a new name in a directory that still exists. */
static k_ret new_name(mem_inode *dir, k_name name, mem_entry **out) {
  if (dir->nlink == 0) return -K_ENOENT;
  mem_entry *e;
  k_ret r = mem_dir_find(dir, name, &e);
  if (r >= 0) return -K_EEXIST;
  if (r != -K_ENOENT) return r;
  K_TRY(mem_touch(dir));
  return mem_dir_reserve(dir, name, out);
}

static void link_in(mem_inode *dir, mem_entry *e, mem_inode *i) {
  mem_dir_set(dir, e, i);
  mem_stamp(dir, true);
}

static k_ret mem_create(k_inode *base, k_name name, uint32_t mode, uint32_t uid, uint32_t gid, uint64_t rdev,
                        k_inode **out) {
  mem_inode *dir = mem_of(base), *i = NULL;
  mem_entry *e;
  K_TRY(new_name(dir, name, &e));
  bool inherit_group = (base->mode & K_S_ISGID) != 0;
  if (inherit_group && (mode & K_S_IFMT) == K_S_IFDIR) mode |= K_S_ISGID;
  k_ret r = mem_inode_new(dir->fs, mode, uid, inherit_group ? dir->gid : gid, &i);
  if (r < 0) {
    mem_dir_abandon(dir, e);
    return r;
  }
  i->rdev = rdev;
  i->nlink = (mode & K_S_IFMT) == K_S_IFDIR ? 2 : 1;
  link_in(dir, e, i);
  *out = k_inode_ref(&i->base);
  return 0;
}

static k_ret mem_symlink(k_inode *base, k_name name, const char *target, size_t len, uint32_t uid,
                         uint32_t gid) {
  mem_inode *dir = mem_of(base), *i = NULL;
  mem_entry *e;
  K_TRY(new_name(dir, name, &e));
  k_ret r = mem_inode_new(dir->fs, K_S_IFLNK | 0777, uid, gid, &i);
  if (r >= 0 && (i->target = mem_strndup(target, len)) == NULL) {
    k_inode_unref(&i->base);
    r = -K_ENOMEM;
  }
  if (r < 0) {
    mem_dir_abandon(dir, e);
    return r;
  }
  i->nlink = 1;
  link_in(dir, e, i);
  return 0;
}

static k_ret mem_link(k_inode *base, k_name name, k_inode *target) {
  mem_inode *dir = mem_of(base), *i = mem_of(target);
  if (i->nlink >= K_LINK_MAX) return -K_EMLINK;
  if (i->nlink == 0) return -K_ENOENT;
  mem_entry *e;
  K_TRY(mem_touch(i));
  K_TRY(new_name(dir, name, &e));
  i->nlink++;
  mem_stamp(i, false);
  k_inode_ref(target);
  link_in(dir, e, i);
  return 0;
}

/* A name of it is gone, and the reference that the name held. */
static void replaced(mem_inode *old) {
  mem_inode_unlinked(old);
  mem_stamp(old, false);
  old->dirty = true;
  k_inode_unref(&old->base);
}

static k_ret mem_unlink(k_inode *base, k_name name, bool directory) {
  mem_inode *dir = mem_of(base);
  mem_entry *e;
  K_TRY(mem_dir_find(dir, name, &e));
  mem_inode *i = e->inode;
  if (directory != k_is_dir(&i->base)) return directory ? -K_ENOTDIR : -K_EISDIR;
  if (directory && i->dir.count != 0) return -K_ENOTEMPTY;
  /* Taking away must be possible when the quota is used up: what cannot be counted is changed all the same.
   */
  if (mem_touch(dir) < 0) dir->dirty = true;
  mem_stamp(dir, true);
  mem_dir_clear(dir, e);
  replaced(i);
  return 0;
}

/* ---- moving ---- */

static void moved_in(mem_inode *dir, mem_inode *i) {
  mem_stamp(dir, true);
  mem_stamp(i, false);
  i->dirty = true;
}

static k_ret exchange(mem_inode *from, mem_entry *a, mem_inode *to, mem_entry *b) {
  mem_inode *x = a->inode;
  mem_inode *y = mem_dir_replace(to, b, x);
  (void)mem_dir_replace(from, a, y);
  moved_in(to, x);
  moved_in(from, y);
  return 0;
}

/* Over a name that is there: it keeps its place. Cannot fail. */
static k_ret move_over(mem_inode *from, mem_entry *a, mem_inode *to, mem_entry *b) {
  mem_inode *moved = mem_dir_clear(from, a);
  replaced(mem_dir_replace(to, b, moved));
  mem_stamp(from, true);
  moved_in(to, moved);
  return 0;
}

static k_ret mem_rename(k_inode *from_base, k_name old_name, k_inode *to_base, k_name new_name,
                        uint32_t flags) {
  mem_inode *from = mem_of(from_base), *to = mem_of(to_base);
  mem_entry *a, *b;
  if (to->nlink == 0) return -K_ENOENT;
  K_TRY(mem_touch(from));
  K_TRY(mem_touch(to));
  K_TRY(mem_dir_find(from, old_name, &a));
  k_ret r = mem_dir_find(to, new_name, &b);
  if (r >= 0) {
    if (flags & VFS_RENAME_EXCHANGE) return exchange(from, a, to, b);
    if (k_is_dir(&b->inode->base) && b->inode->dir.count != 0) return -K_ENOTEMPTY;
    return move_over(from, a, to, b);
  }
  if (r != -K_ENOENT || (flags & VFS_RENAME_EXCHANGE)) return r;
  K_TRY(mem_dir_reserve(to, new_name, &b));
  mem_inode *moved = mem_dir_clear(from, a);
  mem_dir_set(to, b, moved);
  mem_stamp(from, true);
  moved_in(to, moved);
  return 0;
}

const k_inode_ops mem_inode_ops = {
  .stat = mem_stat,
  .setattr = mem_setattr,
  .open = mem_open,
  .readlink = mem_readlink,
  .lookup = mem_lookup,
  .parent = mem_parent,
  .name_of = mem_name_of,
  .create = mem_create,
  .symlink = mem_symlink,
  .link = mem_link,
  .unlink = mem_unlink,
  .rename = mem_rename,
  .release = mem_release,
};

k_ret memfs_new(mem_tree *tree, k_inode **out) {
  memfs *fs = mem_zalloc(sizeof *fs);
  if (fs == NULL) return -K_ENOMEM;
  fs->next_ino = tree != NULL ? tree->next_ino : 2;
  mem_inode *root = NULL;
  k_ret r = tree != NULL ? mem_inode_inherit(fs, tree->root, &root)
                         : mem_inode_new(fs, K_S_IFDIR | 0755, 0, 0, &root);
  if (r < 0) {
    if (fs->inode_count == 0) mem_free(fs);
    return r;
  }
  if (tree != NULL)
    fs->tree = mem_tree_ref(tree);
  else
    root->nlink = 2, root->ino = 1;
  root->dir.parent = root;
  fs->root = root;
  *out = &root->base;
  return 0;
}
