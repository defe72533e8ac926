/* mem_freeze.c - the live tree as a frozen one.
 *
 * Directories that were looked into are listed breadth first and frozen from the last to the first, so that
 * children are frozen before their parents, without recursion. An unchanged inode keeps the node it came
 * from, with everything below it. */
#include "kernel/fs/mem/mem_inode.h"

#include "base/alloc.h"

#include <stdatomic.h>

typedef struct freezer {
  mem_inode **dirs;
  size_t count, cap;
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
  for (size_t b = 0; b < fs->alias_buckets; b++)
    for (const mem_inode *i = fs->aliases[b]; i != NULL; i = i->next_alias)
      if (i->dirty) return true;
  return false;
}

static k_ret look_at_all(mem_inode *dir) {
  for (size_t c = 0; dir->origin != NULL && c < dir->origin->count; c++) {
    const mem_child *child = &dir->origin->children[c];
    mem_entry *e;
    k_ret r = mem_dir_find(dir, (k_name){ child->name, child->len }, &e);
    if (r < 0 && r != -K_ENOENT) return r;
  }
  return 0;
}

static k_ret mem_freeze_collect(freezer *f, mem_inode *root) {
  bool everywhere = must_look_everywhere(root->fs);
  K_TRY(add_dir(f, root));
  for (size_t i = 0; i < f->count; i++) {
    if (everywhere) K_TRY(look_at_all(f->dirs[i]));
    const mem_dir *dir = &f->dirs[i]->dir;
    for (size_t b = 0; b < dir->bucket_count; b++)
      for (mem_entry *e = dir->buckets[b]; e != NULL; e = e->next)
        if (e->inode != NULL && k_is_dir(&e->inode->base)) K_TRY(add_dir(f, e->inode));
  }
  return 0;
}

/* ---- one inode ---- */

static mem_node *node_like(const mem_inode *i) {
  mem_node *n = mem_node_new(i->base.mode, i->uid, i->gid, i->ino);
  if (n == NULL) return NULL;
  n->rdev = i->rdev;
  n->atime_ns = i->atime_ns;
  n->mtime_ns = i->mtime_ns;
  n->ctime_ns = i->ctime_ns;
  n->btime_ns = i->btime_ns;
  n->exe = i->base.exe;
  return n;
}

static k_ret fill_leaf(mem_node *n, const mem_inode *i) {
  n->nlink = i->nlink;
  if (k_is_link(&i->base)) {
    n->target = mem_strdup(mem_target(i));
    return n->target != NULL ? 0 : -K_ENOMEM;
  }
  K_TRY(mem_contents_freeze(&i->contents, &n->contents));
  if (n->contents.floor != NULL)
    n->below = mem_node_ref(i->origin->below != NULL ? i->origin->below : i->origin);
  return 0;
}

/* A file, symlink or FIFO; once, however many names it has. */
static k_ret freeze_leaf(mem_inode *i) {
  if (i->frozen != NULL) return 0;
  if (!i->dirty) {
    i->frozen = mem_node_ref(i->origin);
    return 0;
  }
  mem_node *n = node_like(i);
  if (n == NULL) return -K_ENOMEM;
  k_ret r = fill_leaf(n, i);
  if (r < 0) {
    mem_node_unref(n);
    return r;
  }
  i->frozen = n;
  return 0;
}

/* ---- one directory; those below it are frozen already ---- */

static k_ret freeze_names(const mem_dir *d) {
  for (size_t b = 0; b < d->bucket_count; b++)
    for (mem_entry *e = d->buckets[b]; e != NULL; e = e->next)
      if (e->inode != NULL && !k_is_dir(&e->inode->base)) K_TRY(freeze_leaf(e->inode));
  return 0;
}

static bool is_as_inherited(const mem_inode *dir) {
  if (dir->dirty) return false;
  for (size_t b = 0; b < dir->dir.bucket_count; b++)
    for (const mem_entry *e = dir->dir.buckets[b]; e != NULL; e = e->next)
      if (e->inode != NULL && e->inode->frozen != e->inode->origin) return false;
  return true;
}

static k_ret add_child(mem_node *n, k_name name, mem_node *child, int64_t pos) {
  mem_node_ref(child);
  k_ret r = mem_node_add(n, name, child, pos);
  if (r < 0) mem_node_unref(child);
  return r;
}

static k_ret add_inherited(mem_node *n, const mem_inode *dir) {
  for (size_t i = 0; dir->origin != NULL && i < dir->origin->count; i++) {
    const mem_child *c = &dir->origin->children[i];
    const mem_entry *e = mem_dir_own(dir, c);
    if (e != NULL && (e->inode == NULL || e->pos != c->pos)) continue;
    K_TRY(add_child(n, (k_name){ c->name, c->len }, e != NULL ? e->inode->frozen : c->node, c->pos));
  }
  return 0;
}

static k_ret add_fresh(mem_node *n, const mem_dir *d) {
  for (size_t i = 0; i < d->fresh_len; i++) {
    const mem_entry *e = d->fresh[i].entry;
    if (e != NULL) K_TRY(add_child(n, (k_name){ e->name, e->len }, e->inode->frozen, e->pos));
  }
  return 0;
}

static k_ret freeze_dir(mem_inode *dir) {
  K_TRY(freeze_names(&dir->dir));
  if (is_as_inherited(dir)) {
    dir->frozen = mem_node_ref(dir->origin);
    return 0;
  }
  mem_node *n = node_like(dir);
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

static void forget_one(mem_inode *i) {
  mem_node_unref(i->frozen);
  i->frozen = NULL;
}

static void mem_freeze_forget(freezer *f) {
  for (size_t i = 0; i < f->count; i++) {
    const mem_dir *d = &f->dirs[i]->dir;
    forget_one(f->dirs[i]);
    for (size_t b = 0; b < d->bucket_count; b++)
      for (mem_entry *e = d->buckets[b]; e != NULL; e = e->next)
        if (e->inode != NULL) forget_one(e->inode);
  }
  mem_free(f->dirs);
}

static k_ret freeze_all(freezer *f, mem_inode *root) {
  K_TRY(mem_freeze_collect(f, root));
  for (size_t i = f->count; i > 0; i--) K_TRY(freeze_dir(f->dirs[i - 1]));
  return 0;
}

k_ret memfs_freeze(k_inode *root, mem_tree **out) {
  mem_inode *top = mem_of(root);
  assert(top == top->fs->root);
  mem_tree *tree = mem_zalloc(sizeof *tree);
  if (tree == NULL) return -K_ENOMEM;
  freezer f = { 0 };
  k_ret r = freeze_all(&f, top);
  if (r >= 0) {
    atomic_init(&tree->refs, 1);
    tree->root = mem_node_ref(top->frozen);
    tree->next_ino = top->fs->next_ino;
    *out = MOVE(tree);
  }
  mem_freeze_forget(&f);
  mem_free(tree);
  return r;
}
