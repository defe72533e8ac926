/* mem_freeze.c - the live tree as a frozen one.
 *
 * Directories with something changed below are listed breadth first and frozen from the last to the first, so
 * that children are frozen before their parents, without recursion. An unchanged inode keeps the node it came
 * from, with everything below it.
 *
 * A snapshot is adopted: the live inodes are from then on made from its nodes, and unchanged. The next one
 * costs what changes until then. Everything that can fail comes before. */
#include "kernel/fs/mem/mem_inode.h"

#include "base/alloc.h"
#include "kernel/fs/mem/mem_source.h"

#include <stdatomic.h>
#include <string.h>

typedef struct freezer {
  mem_inode **dirs;
  size_t count, cap;
  size_t several; /* new nodes with several names */
  bool charged;   /* nodes have what their inodes are charged */
} freezer;

/* ---- which directories ---- */

static k_ret add_dir(freezer *f, mem_inode *dir) {
  if (f->count == f->cap) {
    size_t cap = f->cap != 0 ? 2 * f->cap : 64;
    mem_inode **dirs = mem_realloc_array(f->dirs, cap, sizeof(mem_inode *));
    if (dirs == NULL) return -K_ENOMEM;
    f->dirs = dirs;
    f->cap = cap;
  }
  f->dirs[f->count++] = dir;
  return 0;
}

/* A changed file with several inherited names may be known by one of them only: then all have to be found. */
static bool must_look_everywhere(const memfs *fs) {
  if (!fs->scattered) return false;
  for (size_t b = 0; b < fs->alias_buckets; b++)
    for (const mem_inode *i = fs->aliases[b]; i != NULL; i = i->next_alias)
      if (i->dirty) return true;
  return false;
}

K_LOCKED static k_ret look_at_all(mem_inode *dir) {
  for (size_t c = 0; dir->origin != NULL && c < dir->origin->count; c++) {
    const mem_child *child = &dir->origin->children[c];
    if (mem_node_is_unfilled(child->node)) continue; /* nothing below was looked at */
    mem_entry *e;
    k_ret r = mem_dir_find(dir, (k_name){ child->name, child->len }, &e);
    if (r < 0 && r != -K_ENOENT) return r;
  }
  return 0;
}

static bool has_changed(const mem_inode *dir) { return dir->dirty || dir->dirty_below || dir->fs->scattered; }

K_LOCKED static k_ret mem_freeze_collect(freezer *f, mem_inode *root) {
  bool everywhere = must_look_everywhere(root->fs);
  K_TRY(add_dir(f, root));
  for (size_t i = 0; i < f->count; i++) {
    if (everywhere) K_TRY(look_at_all(f->dirs[i]));
    const mem_dir *dir = &f->dirs[i]->dir;
    for (size_t b = 0; b < dir->bucket_count; b++)
      for (mem_entry *e = dir->buckets[b]; e != NULL; e = e->next)
        if (e->inode != NULL && k_is_dir(&e->inode->base) && has_changed(e->inode))
          K_TRY(add_dir(f, e->inode));
  }
  return 0;
}

/* ---- one inode ---- */

/* The node that stands for it: the one it was made from, if nothing has changed. */
static mem_node *node_of(const mem_inode *i) { return i->frozen != NULL ? i->frozen : i->origin; }

static mem_node *node_like(const freezer *f, const mem_inode *i) {
  mem_node *n = mem_node_new(i->base.mode, i->uid, i->gid, i->ino);
  if (n == NULL) return NULL;
  if (f->charged && i->counted) n->counted = 1 + i->links_counted;
  n->rdev = i->rdev;
  n->atime_ns = i->atime_ns;
  n->mtime_ns = i->mtime_ns;
  n->ctime_ns = i->ctime_ns;
  n->btime_ns = i->btime_ns;
  n->exe = i->base.exe;
  return n;
}

K_LOCKED static k_ret fill_leaf(const freezer *f, mem_node *n, const mem_inode *i) {
  n->nlink = i->nlink;
  if (k_is_link(&i->base)) {
    n->target = mem_strdup(mem_target(i));
    if (n->target == NULL) return -K_ENOMEM;
    n->charged = f->charged ? strlen(n->target) : 0;
    return 0;
  }
  K_TRY(mem_contents_freeze(&i->contents, &n->contents));
  if (i->source != NULL) n->source = mem_source_ref(i->source);
  n->charged = f->charged ? mem_contents_size(&n->contents) : 0;
  if (n->contents.floor != NULL)
    n->below = mem_node_ref(i->origin->below != NULL ? i->origin->below : i->origin);
  return 0;
}

/* A file, symlink or FIFO; once, however many names it has. */
K_LOCKED static k_ret freeze_leaf(freezer *f, mem_inode *i) {
  if (i->frozen != NULL || !i->dirty) return 0;
  mem_node *n = node_like(f, i);
  if (n == NULL) return -K_ENOMEM;
  k_ret r = fill_leaf(f, n, i);
  if (r < 0) {
    mem_node_unref(n);
    return r;
  }
  if (n->nlink > 1) f->several++;
  i->frozen = n;
  return 0;
}

/* ---- one directory; those below it are frozen already ---- */

K_LOCKED static k_ret freeze_names(freezer *f, const mem_dir *d) {
  for (size_t b = 0; b < d->bucket_count; b++)
    for (mem_entry *e = d->buckets[b]; e != NULL; e = e->next)
      if (e->inode != NULL && !k_is_dir(&e->inode->base)) K_TRY(freeze_leaf(f, e->inode));
  return 0;
}

static bool is_as_inherited(const mem_inode *dir) {
  if (dir->dirty) return false;
  for (size_t b = 0; b < dir->dir.bucket_count; b++)
    for (const mem_entry *e = dir->dir.buckets[b]; e != NULL; e = e->next)
      if (e->inode != NULL && e->inode->frozen != NULL) return false;
  return true;
}

K_LOCKED static k_ret add_child(mem_node *n, k_name name, mem_node *child, int64_t pos) {
  mem_node_ref(child);
  k_ret r = mem_node_add(n, name, child, pos);
  if (r < 0) mem_node_unref(child);
  return r;
}

K_LOCKED static k_ret add_inherited(mem_node *n, const mem_inode *dir) {
  for (size_t i = 0; dir->origin != NULL && i < dir->origin->count; i++) {
    const mem_child *c = &dir->origin->children[i];
    const mem_entry *e = mem_dir_own(dir, c);
    if (e != NULL && (e->inode == NULL || e->pos != c->pos)) continue;
    K_TRY(add_child(n, (k_name){ c->name, c->len }, e != NULL ? node_of(e->inode) : c->node, c->pos));
  }
  return 0;
}

K_LOCKED static k_ret add_fresh(mem_node *n, const mem_dir *d) {
  for (size_t i = 0; i < d->fresh_len; i++) {
    const mem_entry *e = d->fresh[i].entry;
    if (e != NULL) K_TRY(add_child(n, (k_name){ e->name, e->len }, node_of(e->inode), e->pos));
  }
  return 0;
}

K_LOCKED static k_ret freeze_dir(freezer *f, mem_inode *dir) {
  K_TRY(freeze_names(f, &dir->dir));
  if (is_as_inherited(dir)) return 0;
  mem_node *n = node_like(f, dir);
  if (n == NULL) return -K_ENOMEM;
  k_ret r = add_inherited(n, dir);
  if (r >= 0) r = add_fresh(n, &dir->dir);
  if (r < 0) {
    mem_node_unref(n);
    return r;
  }
  n->next_pos = dir->dir.next_pos;
  dir->frozen = n;
  return 0;
}

/* ---- all ---- */

K_LOCKED static void forget_one(mem_inode *i) {
  mem_node_unref(i->frozen);
  i->frozen = NULL;
}

K_LOCKED static void mem_freeze_forget(freezer *f) {
  for (size_t i = 0; i < f->count; i++) {
    const mem_dir *d = &f->dirs[i]->dir;
    forget_one(f->dirs[i]);
    for (size_t b = 0; b < d->bucket_count; b++)
      for (mem_entry *e = d->buckets[b]; e != NULL; e = e->next)
        if (e->inode != NULL) forget_one(e->inode);
  }
  mem_free(f->dirs);
}

K_LOCKED static k_ret freeze_all(freezer *f, mem_inode *root) {
  K_TRY(mem_freeze_collect(f, root));
  for (size_t i = f->count; i > 0; i--) K_TRY(freeze_dir(f, f->dirs[i - 1]));
  return 0;
}

static mem_tree *mem_freeze_tree(const mem_inode *top) {
  mem_tree *tree = mem_zalloc(sizeof *tree);
  if (tree == NULL) return NULL;
  atomic_init(&tree->refs, 1);
  tree->root = mem_node_ref(node_of(top));
  tree->next_ino = top->fs->next_ino;
  return tree;
}

k_ret memfs_freeze(k_inode *root, mem_tree **out) {
  mem_inode *top = mem_of(root);
  assert(top == top->fs->root);
  freezer f = { 0 };
  k_ret r = freeze_all(&f, top);
  mem_tree *tree = r >= 0 ? mem_freeze_tree(top) : NULL;
  mem_freeze_forget(&f);
  if (tree == NULL) return r < 0 ? r : -K_ENOMEM;
  *out = tree;
  return 0;
}

/* ---- snapshots ---- */

/* Leaves of a directory before the next one: each gives its new node away once. */
K_LOCKED static void mem_freeze_adopt(const freezer *f, memfs *fs, mem_tree *tree) {
  for (size_t i = 0; i < f->count; i++) {
    const mem_dir *d = &f->dirs[i]->dir;
    for (size_t b = 0; b < d->bucket_count; b++)
      for (mem_entry *e = d->buckets[b]; e != NULL; e = e->next)
        if (e->inode != NULL && !k_is_dir(&e->inode->base)) mem_inode_adopt(e->inode);
  }
  for (size_t i = 0; i < f->count; i++) mem_dir_adopt(f->dirs[i]);
  mem_tree_unref(fs->tree);
  fs->tree = mem_tree_ref(tree);
  fs->dirty = fs->scattered = false;
}

k_ret memfs_snapshot(k_inode *root, mem_tree **out) {
  mem_inode *top = mem_of(root);
  memfs *fs = top->fs;
  assert(top == fs->root);
  freezer f = { .charged = true };
  mem_tree *tree = NULL;
  if (!fs->dirty && fs->tree != NULL) {
    *out = mem_tree_ref(fs->tree);
    return 0;
  }
  k_ret r = freeze_all(&f, top);
  if (r >= 0) r = mem_alias_reserve(fs, f.several);
  if (r >= 0 && (tree = mem_freeze_tree(top)) == NULL) r = -K_ENOMEM;
  if (r >= 0) {
    mem_freeze_adopt(&f, fs, tree);
    *out = tree;
  }
  mem_freeze_forget(&f);
  return r;
}

void mem_tree_charge(const mem_tree *tree, uint64_t *disk, uint64_t *inodes) {
  *disk = mem_node_charge(tree->root);
  *inodes = mem_node_count(tree->root);
}
