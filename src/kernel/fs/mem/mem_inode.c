/* mem_inode.c - the life of live inodes: made, inherited, changed, forgotten. */
#include "kernel/fs/mem/mem_inode.h"

#include "base/alloc.h"
#include "kernel/fs/mem/mem_source.h"

#include <string.h>

/* ---- quota ---- */

K_LOCKED static k_ret count_one(k_kernel *k) {
  if (k == NULL) return 0;
  if (k->used.inodes >= k->limits.inodes) return -K_ENOSPC;
  k->used.inodes++;
  return 0;
}

/* The way up ends where it was marked before. A leaf knows one of its names, or none. */
void mem_dirty(mem_inode *i) {
  memfs *fs = i->fs;
  i->dirty = fs->dirty = true;
  if (!k_is_dir(&i->base)) {
    if (i->nlink == 0) return;
    bool several = i->nlink > 1 || (i->origin != NULL && i->origin->nlink > 1);
    if (several || i->dir.entry == NULL) fs->scattered = true;
    if (i->dir.entry == NULL) return;
  }
  for (mem_inode *up = i->dir.parent; up != NULL && !up->dirty_below; up = up->dir.parent)
    up->dirty_below = true;
}

k_ret mem_touch(mem_inode *i) {
  if (!i->counted && mem_kernel(i) != NULL) {
    K_TRY(count_one(mem_kernel(i)));
    i->counted = true;
  }
  mem_dirty(i);
  return 0;
}

k_ret mem_count_link(mem_inode *i) {
  K_TRY(count_one(mem_kernel(i)));
  i->links_counted++;
  return 0;
}

void mem_stamp(mem_inode *i, bool contents) {
  i->ctime_ns = k_real_ns(mem_kernel(i));
  if (contents) i->mtime_ns = i->ctime_ns;
}

/* A change of a program clears its set-id bits (chmod(2), write(2)) and the runner's note. */
void mem_contents_changed(mem_inode *i) {
  uint32_t set_gid = i->base.mode & 010 ? K_S_ISGID : 0;
  i->base.mode &= ~(K_S_ISUID | set_gid);
  i->base.exe = NULL;
  i->base.version++;
}

/* ---- files of the frozen tree that have several names ---- */

static size_t bucket_of(const memfs *fs, const mem_node *node) {
  return (size_t)((uintptr_t)node / 64 * 0x9e3779b97f4a7c15U >> 32) & (fs->alias_buckets - 1);
}

static bool has_aliases(const mem_node *node) {
  return (node->mode & K_S_IFMT) != K_S_IFDIR && node->nlink > 1;
}

mem_inode *mem_inode_of_node(const memfs *fs, const mem_node *node) {
  if (fs->alias_buckets == 0 || !has_aliases(node)) return NULL;
  mem_inode *i = fs->aliases[bucket_of(fs, node)];
  while (i != NULL && i->origin != node) i = i->next_alias;
  return i;
}

static void alias_put(memfs *fs, mem_inode *i) {
  mem_inode **bucket = &fs->aliases[bucket_of(fs, i->origin)];
  i->next_alias = *bucket;
  *bucket = i;
}

k_ret mem_alias_reserve(memfs *fs, size_t more) {
  if (fs->alias_count + more <= fs->alias_buckets) return 0;
  size_t old_count = fs->alias_buckets, count = old_count != 0 ? 2 * old_count : 16;
  while (count < fs->alias_count + more) count *= 2;
  mem_inode **old = fs->aliases, **aliases = mem_zalloc_array(count, sizeof *aliases);
  if (aliases == NULL) return -K_ENOMEM;
  fs->aliases = aliases;
  fs->alias_buckets = count;
  for (size_t b = 0; b < old_count; b++) {
    for (mem_inode *i = old[b], *next; i != NULL; i = next) {
      next = i->next_alias;
      alias_put(fs, i);
    }
  }
  mem_free(old);
  return 0;
}

static void alias_forget(mem_inode *i) {
  memfs *fs = i->fs;
  if (i->origin == NULL || mem_inode_of_node(fs, i->origin) != i) return;
  mem_inode **at = &fs->aliases[bucket_of(fs, i->origin)];
  while (*at != i) at = &(*at)->next_alias;
  *at = i->next_alias;
  fs->alias_count--;
}

K_LOCKED static void alias_pin(mem_inode *i) {
  if (!i->pinned) k_inode_ref(&i->base);
  i->pinned = true;
}

K_LOCKED static void alias_unpin(mem_inode *i) {
  if (!i->pinned) return;
  i->pinned = false;
  k_inode_unref(&i->base);
}

/* The file system is unmounted: its names are gone. */
K_LOCKED static void alias_unpin_all(memfs *fs) {
  for (size_t b = 0; b < fs->alias_buckets; b++) {
    for (mem_inode *i = fs->aliases[b], *next; i != NULL; i = next) {
      next = i->next_alias;
      alias_unpin(i);
    }
  }
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
  i->uid = uid;
  i->gid = gid;
  i->dir.next_pos = MEM_POS_FIRST;
  k_ret r = mem_touch(i);
  if (r < 0) {
    k_inode_unref(&i->base);
    return r;
  }
  i->ino = fs->next_ino++;
  i->atime_ns = i->mtime_ns = i->ctime_ns = i->btime_ns = k_real_ns(mem_kernel(i));
  *out = i;
  return 0;
}

static k_ret inherit(mem_inode *i, mem_node *node) {
  i->origin = mem_node_ref(node);
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
  i->counted = node->counted > 0;
  i->links_counted = i->counted ? node->counted - 1 : 0;
  i->contents.charged = node->charged;
  if (!k_is_reg(&i->base)) return 0;
  if (node->source != NULL) {
    i->source = mem_source_ref(node->source);
    i->contents = (mem_contents){ .size = node->contents.size, .held = node->contents.held };
    return 0;
  }
  i->contents = mem_contents_over(&node->contents);
  return node->charged != 0 ? mem_contents_own_all(&i->contents) : 0;
}

k_ret mem_inode_inherit(memfs *fs, mem_node *node, mem_inode **out) {
  if (mem_node_is_unseen(node)) return -K_ESTALE; /* mem_lookup looks first */
  node = mem_node_same(node);
  mem_inode *i = mem_inode_of_node(fs, node);
  if (i != NULL) {
    k_inode_ref(&i->base);
    *out = i;
    return 0;
  }
  if (mem_node_is_unfilled(node)) {
    if (!node->source->ops->in_memory) return -K_ESTALE; /* mem_lookup fills it first */
    K_TRY(mem_node_fill(node, UINT64_MAX));
  }
  if (has_aliases(node)) K_TRY(mem_alias_reserve(fs, 1));
  i = alloc(fs, node->mode);
  if (i == NULL) return -K_ENOMEM;
  k_ret r = inherit(i, node);
  if (r < 0) {
    fs->inode_count--;
    mem_node_unref(i->origin);
    mem_free(i);
    return r;
  }
  if (has_aliases(node)) {
    alias_put(fs, i);
    alias_pin(i);
    fs->alias_count++;
  }
  *out = i;
  return 0;
}

void mem_inode_adopt(mem_inode *i) {
  mem_node *old = i->origin;
  i->dirty = i->frozen != NULL ? false : i->dirty;
  if (i->frozen == NULL) return;
  alias_forget(i);
  i->origin = MOVE(i->frozen);
  if (i->contents.base != NULL) { /* what showed shows through there, too */
    i->contents.base = &i->origin->contents;
    i->contents.base_len = i->contents.size;
  }
  if (has_aliases(i->origin)) {
    alias_put(i->fs, i);
    alias_pin(i);
    i->fs->alias_count++;
  } else {
    alias_unpin(i); /* all its names were looked up for the snapshot */
  }
  mem_node_unref(old);
}

/* ---- ending ---- */

void mem_inode_unlinked(mem_inode *i) {
  if (k_is_dir(&i->base)) {
    i->nlink = 0;
    k_inode_ref(&i->dir.parent->base); /* ".." of a removed directory still leads up */
    return;
  }
  assert(i->nlink > 0);
  i->nlink--;
  if (i->nlink == 0) alias_unpin(i); /* the caller has a reference */
  if (i->links_counted == 0) return;
  i->links_counted--;
  if (mem_kernel(i) != NULL) mem_kernel(i)->used.inodes--;
}

K_LOCKED static void give_back_quota(mem_inode *i, k_kernel *k) {
  mem_contents_free(&i->contents, k);
  if (k == NULL) return;
  if (i->counted) k->used.inodes--;
  k->used.inodes -= i->links_counted;
}

K_LOCKED static void free_one(mem_inode *i, k_kernel *k) {
  mem_inode *parent = i->dir.parent;
  bool removed = k_is_dir(&i->base) && i->nlink == 0 && parent != NULL && parent != i;
  mem_dir_free(i);
  if (removed) k_inode_unref(&parent->base);
  give_back_quota(i, k);
  mem_was_forget(i, k);
  mem_free(i->target);
  mem_source_unref(i->source);
  i->fs->inode_count--;
  mem_node_unref(i->origin);
  mem_free(i);
}

K_LOCKED static void fs_free(memfs *fs) {
  mem_tree_unref(fs->tree);
  mem_free(fs->aliases);
  mem_free(fs);
}

/* Frees some of the doomed, or some blocks of the first. True: there are no more. */
K_LOCKED static bool free_some(k_chore *chore) {
  enum { INODES = 64 };
  memfs *fs = CONTAINER_OF(chore, memfs, freeing);
  for (int n = 0; n < INODES && fs->doomed != NULL; n++) {
    mem_inode *i = fs->doomed;
    k_kernel *k = mem_kernel(i);
    bool large = k != NULL && i->contents.own.height > 0;
    if (large && !mem_contents_free_some(&i->contents, k)) return false;
    fs->doomed = i->next_doomed;
    free_one(i, k);
    if (large) break;
  }
  if (fs->doomed != NULL) return false;
  fs->is_freeing = false;
  if (fs->inode_count == 0) fs_free(fs);
  return true;
}

/* Inodes released while others are freed join them: a tree of any depth needs no stack. The first piece is
 * done at once and the rest is a chore of the kernel, since a file may have a hundred thousand blocks, and a
 * removed directory holds its parent. */
K_LOCKED static void release(k_inode *inode) {
  mem_inode *i = mem_of(inode);
  memfs *fs = i->fs;
  alias_forget(i);
  bool unmounted = i == fs->root;
  if (unmounted) {
    fs->root = NULL;
    if (fs->remembered != 0) k_memory_uncharge(inode->kernel, fs->remembered);
    fs->remembered = 0;
  }
  i->next_doomed = fs->doomed;
  fs->doomed = i;
  bool was_freeing = fs->is_freeing;
  fs->is_freeing = true;
  if (unmounted) alias_unpin_all(fs); /* they become doomed, too */
  if (was_freeing) return;
  k_kernel *k = inode->kernel;
  bool done = free_some(&fs->freeing);
  while (!done && k == NULL) done = free_some(&fs->freeing);
  if (!done) k_chore_add(k, &fs->freeing);
}

/* ---- attributes ---- */

const char *mem_target(const mem_inode *i) { return i->target != NULL ? i->target : i->origin->target; }

static uint64_t size_of(const mem_inode *i) {
  if (k_is_link(&i->base)) return strlen(mem_target(i));
  if (k_is_dir(&i->base)) return 40 + 20 * i->dir.count; /* as tmpfs shows: so much for each name */
  return i->contents.size;
}

static k_ret get_stat(k_inode *inode, k_stat *out) {
  const mem_inode *i = mem_of(inode);
  *out = (k_stat){
    .ino = i->ino,
    .size = size_of(i),
    .blocks = (i->contents.held + 511) / 512,
    .mode = inode->mode,
    .nlink = i->nlink,
    .uid = i->uid,
    .gid = i->gid,
    .dev_minor = i->fs->dev_minor,
    .rdev_major = (uint32_t)(i->rdev >> 32),
    .rdev_minor = (uint32_t)i->rdev,
    .atime_ns = i->atime_ns,
    .mtime_ns = i->mtime_ns,
    .ctime_ns = i->ctime_ns,
    .btime_ns = i->btime_ns,
  };
  return 0;
}

K_LOCKED static k_ret resize(mem_inode *i, uint64_t size) {
  k_inode_write_begin(&i->base);
  k_ret r = 0;
  if (i->source != NULL && size == 0) {
    mem_source_forget(i);
    i->contents = (mem_contents){ 0 };
  }
  if (i->source != NULL) r = mem_copy_up_held(i);
  if (r >= 0) r = mem_contents_ready(&i->contents);
  if (r >= 0) r = mem_contents_resize(&i->contents, mem_kernel(i), size);
  if (r >= 0) {
    mem_contents_changed(i);
    mem_stamp(i, true);
  }
  k_inode_write_end(&i->base);
  return r;
}

K_LOCKED static k_ret setattr(k_inode *inode, const k_attr *attr) {
  mem_inode *i = mem_of(inode);
  K_TRY(mem_touch(i));
  if (attr->which & K_ATTR_SIZE) K_TRY(resize(i, attr->size));
  if (attr->which & K_ATTR_MODE) inode->mode = (inode->mode & K_S_IFMT) | (attr->mode & 07777);
  if (attr->which & K_ATTR_UID) i->uid = attr->uid;
  if (attr->which & K_ATTR_GID) i->gid = attr->gid;
  mem_stamp(i, false);
  if (attr->which & K_ATTR_ATIME) i->atime_ns = attr->atime_ns;
  if (attr->which & K_ATTR_MTIME) i->mtime_ns = attr->mtime_ns;
  if (attr->which & K_ATTR_NOW) i->atime_ns = i->mtime_ns = i->ctime_ns; /* find -newercm compares them */
  return 0;
}

K_LOCKED static k_ret punch(k_inode *inode, uint64_t from, uint64_t to) {
  mem_inode *i = mem_of(inode);
  if (!k_is_reg(inode)) return -K_EOPNOTSUPP;
  K_TRY(mem_touch(i));
  k_inode_write_begin(inode);
  k_ret r = mem_copy_up_held(i);
  if (r >= 0) r = mem_contents_punch(&i->contents, mem_kernel(i), from, to);
  mem_contents_changed(i);
  mem_stamp(i, true);
  k_inode_write_end(inode);
  return r;
}

static k_ret readlink_text(k_inode *inode, char *buf, size_t cap) {
  if (!k_is_link(inode)) return -K_EINVAL;
  const char *target = mem_target(mem_of(inode));
  size_t len = strlen(target), n = len < cap ? len : cap;
  memcpy(buf, target, n);
  return (k_ret)n;
}

const k_inode_ops mem_inode_ops = {
  .stat = get_stat,
  .setattr = setattr,
  .punch = punch,
  .open = mem_open,
  .readlink = readlink_text,
  .lookup = mem_lookup,
  .prepare = mem_prepare,
  .parent = mem_parent,
  .name_of = mem_name_of,
  .was = mem_was,
  .create = mem_create,
  .create_unnamed = mem_create_unnamed,
  .symlink = mem_symlink,
  .link = mem_link,
  .unlink = mem_unlink,
  .rename = mem_rename,
  .release = release,
  .has_fifos = true,
};

/* ---- the file system ---- */

K_LOCKED static k_ret make_root(memfs *fs, mem_tree *tree) {
  mem_inode *root = NULL;
  if (tree != NULL) {
    K_TRY(mem_inode_inherit(fs, tree->root, &root));
    fs->tree = mem_tree_ref(tree);
  } else {
    K_TRY(mem_inode_new(fs, K_S_IFDIR | 0755, 0, 0, &root));
    root->nlink = 2;
  }
  root->dir.parent = root;
  fs->root = root;
  return 0;
}

K_UNCHECKED static k_ret memfs_make(mem_tree *tree, const memfs *like, k_inode **out) {
  memfs *fs = mem_dup(like, sizeof *like);
  if (fs == NULL) return -K_ENOMEM;
  fs->freeing.some = free_some;
  k_ret r = make_root(fs, tree);
  if (r < 0) {
    fs_free(fs);
    return r;
  }
  *out = &fs->root->base;
  return 0;
}

void memfs_set_device(k_inode *root, uint32_t minor) { mem_of(root)->fs->dev_minor = minor; }

k_ret memfs_new(mem_tree *tree, k_inode **out) {
  const memfs like = { .next_ino = tree != NULL ? tree->next_ino : 1, .dev_minor = 1 };
  return memfs_make(tree, &like, out);
}

k_ret memfs_new_lazy(mem_tree *tree, uint32_t dev_minor, k_inode **out) {
  const memfs like = { .next_ino = tree->next_ino, .dev_minor = dev_minor, .lazy = true };
  return memfs_make(tree, &like, out);
}

mem_tree *memfs_tree(const k_inode *root) { return CONTAINER_OF(root, mem_inode, base)->fs->tree; }

bool memfs_wants_all(const k_inode *root) { return CONTAINER_OF(root, mem_inode, base)->fs->scattered; }

bool memfs_has_names(const k_inode *root) {
  const mem_inode *top = CONTAINER_OF(root, mem_inode, base);
  return top->dir.count != 0 || top->fs->tree != NULL;
}
