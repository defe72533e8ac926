/* mem_dir.c - directories that inherit their names from a frozen tree.
 *
 * Inherited names are looked up in the frozen directory; a name looked up, made or removed here has an
 * entry of its own, which goes first. An entry without an inode hides an inherited name. Positions of a
 * listing: inherited names keep theirs, new ones come after, in the order in which they were made, and no
 * position is used twice. */
#include "kernel/fs/mem/mem_inode.h"

#include "base/alloc.h"

#include <string.h>

static bool mem_dir_same(const mem_entry *e, k_name name, uint32_t hash) {
  return e->hash == hash && e->len == name.len && memcmp(e->name, name.data, name.len) == 0;
}

static mem_entry *mem_mem_dir_own(const mem_dir *d, k_name name, uint32_t hash) {
  if (d->bucket_count == 0) return NULL;
  mem_entry *e = d->buckets[hash & (d->bucket_count - 1)];
  while (e != NULL && !mem_dir_same(e, name, hash)) e = e->next;
  return e;
}

static mem_child *inherited(const mem_inode *dir, k_name name, uint32_t hash) {
  return dir->origin != NULL ? mem_node_find(dir->origin, name, hash) : NULL;
}

static bool grow_buckets(mem_dir *d) {
  if (d->entry_count < d->bucket_count) return true;
  size_t count = d->bucket_count != 0 ? 2 * d->bucket_count : 8;
  mem_entry **buckets = mem_zalloc_array(count, sizeof *buckets);
  if (buckets == NULL) return false;
  for (size_t i = 0; i < d->bucket_count; i++) {
    for (mem_entry *e = d->buckets[i], *next; e != NULL; e = next) {
      next = e->next;
      e->next = buckets[e->hash & (count - 1)];
      buckets[e->hash & (count - 1)] = e;
    }
  }
  mem_free(d->buckets);
  d->buckets = buckets;
  d->bucket_count = count;
  return true;
}

static mem_entry *entry_add(mem_dir *d, k_name name, uint32_t hash) {
  if (!grow_buckets(d)) return NULL;
  mem_entry *e = mem_zalloc(sizeof *e + name.len + 1);
  if (e == NULL) return NULL;
  e->hash = hash;
  e->len = name.len;
  memcpy(e->name, name.data, name.len);
  e->next = d->buckets[hash & (d->bucket_count - 1)];
  d->buckets[hash & (d->bucket_count - 1)] = e;
  d->entry_count++;
  return e;
}

static void entry_remove(mem_dir *d, mem_entry *e) {
  mem_entry **at = &d->buckets[e->hash & (d->bucket_count - 1)];
  while (*at != e) at = &(*at)->next;
  *at = e->next;
  d->entry_count--;
  mem_free(e);
}

k_ret mem_dir_find(mem_inode *dir, k_name name, mem_entry **out) {
  uint32_t hash = mem_hash(name);
  mem_entry *e = mem_mem_dir_own(&dir->dir, name, hash);
  if (e == NULL) {
    mem_child *c = inherited(dir, name, hash);
    if (c == NULL) return -K_ENOENT;
    mem_inode *inode = NULL;
    K_TRY(mem_inode_inherit(dir->fs, c->node, &inode));
    e = entry_add(&dir->dir, name, hash);
    if (e == NULL) {
      k_inode_unref(&inode->base);
      return -K_ENOMEM;
    }
    e->inode = inode;
    e->pos = c->pos;
    inode->dir.parent = dir;
    inode->dir.entry = e;
  }
  if (e->inode == NULL) return -K_ENOENT;
  *out = e;
  return 0;
}

/* ---- changing ---- */

/* Closes the gaps once they are half of it; the order stays. */
static void compact_fresh(mem_dir *d) {
  if (d->fresh_gone <= d->fresh_len / 2) return;
  size_t kept = 0;
  for (size_t i = 0; i < d->fresh_len; i++)
    if (d->fresh[i].entry != NULL) d->fresh[kept++] = d->fresh[i];
  d->fresh_len = kept;
  d->fresh_gone = 0;
}

static bool reserve_fresh(mem_dir *d) {
  if (d->fresh_len < d->fresh_cap) return true;
  size_t cap = d->fresh_cap != 0 ? 2 * d->fresh_cap : 8;
  mem_fresh *fresh = mem_realloc_array(d->fresh, cap, sizeof *fresh);
  if (fresh == NULL) return false;
  d->fresh = fresh;
  d->fresh_cap = cap;
  return true;
}

k_ret mem_dir_reserve(mem_inode *dir, k_name name, mem_entry **out) {
  uint32_t hash = mem_hash(name);
  if (!reserve_fresh(&dir->dir)) return -K_ENOMEM;
  mem_entry *e = mem_mem_dir_own(&dir->dir, name, hash);
  if (e == NULL) e = entry_add(&dir->dir, name, hash);
  if (e == NULL) return -K_ENOMEM;
  *out = e;
  return 0;
}

void mem_dir_abandon(mem_inode *dir, mem_entry *e) {
  if (e->inode == NULL && inherited(dir, (k_name){ e->name, e->len }, e->hash) == NULL)
    entry_remove(&dir->dir, e);
}

static void put_in(mem_inode *dir, mem_entry *e, mem_inode *inode) {
  e->inode = inode;
  inode->dir.parent = dir;
  inode->dir.entry = e;
  mem_dirty(dir);
  if (k_is_dir(&inode->base)) dir->nlink++;
}

/* It no longer goes by that name. A file with several keeps the one it had last, or none. */
static void lose_name(mem_inode *inode, const mem_entry *e) {
  if (inode->dir.entry == e) inode->dir.entry = NULL;
}

mem_inode *mem_dir_replace(mem_inode *dir, mem_entry *e, mem_inode *inode) {
  mem_inode *old = e->inode;
  if (k_is_dir(&old->base)) dir->nlink--;
  lose_name(old, e);
  put_in(dir, e, inode);
  return old;
}

void mem_dir_set(mem_inode *dir, mem_entry *e, mem_inode *inode) {
  mem_dir *d = &dir->dir;
  e->pos = d->next_pos++;
  d->fresh[d->fresh_len++] = (mem_fresh){ e->pos, e };
  d->count++;
  put_in(dir, e, inode);
}

/* The first of `fresh` after this position. */
static size_t fresh_after(const mem_dir *d, int64_t pos) {
  size_t low = 0, high = d->fresh_len;
  while (low < high) {
    size_t mid = low + (high - low) / 2;
    if (d->fresh[mid].pos <= pos)
      low = mid + 1;
    else
      high = mid;
  }
  return low;
}

mem_inode *mem_dir_clear(mem_inode *dir, mem_entry *e) {
  mem_dir *d = &dir->dir;
  mem_inode *inode = e->inode;
  size_t at = fresh_after(d, e->pos - 1);
  if (at < d->fresh_len && d->fresh[at].entry == e) {
    d->fresh[at].entry = NULL;
    d->fresh_gone++;
    compact_fresh(d);
  }
  d->count--;
  mem_dirty(dir);
  if (k_is_dir(&inode->base)) dir->nlink--;
  lose_name(inode, e);
  e->inode = NULL;
  mem_dir_abandon(dir, e);
  return inode;
}

/* Only an unmounted tree loses names so: files still open below must not find their way up any more. */
K_LOCKED static void cast_off(mem_inode *i, const mem_entry *e) {
  if (k_is_dir(&i->base)) {
    i->dir.parent = i;
    i->nlink = 0;
  }
  lose_name(i, e);
  k_inode_unref(&i->base);
}

/* Looking the name up again would give the same inode, and no other has a reference to this one. */
K_LOCKED static bool is_as_inherited(const mem_inode *dir, const mem_entry *e) {
  const mem_inode *i = e->inode;
  const mem_child *c = inherited(dir, (k_name){ e->name, e->len }, e->hash);
  if (i == NULL || c == NULL || c->pos != e->pos || i->origin != c->node || i->base.refs != 1) return false;
  if (i->dirty || i->dirty_below || i->frozen != NULL || i->pinned || i->was != NULL) return false;
  if (i->counted || i->links_counted != 0 || i->contents.charged != 0 || i->source != NULL) return false;
  if (i->dir.entry_count != 0 || i->dir.fresh_len != 0 || i->base.mounted_here != NULL) return false;
  if (i->base.fifo != NULL || i->base.socket != NULL || i->base.watched != NULL || i->base.writing)
    return false;
  return i->base.version == 0 && i->base.exe == c->node->exe;
}

void mem_dir_forget(mem_inode *dir, mem_entry *e) {
  mem_dir *d = &dir->dir;
  if (!is_as_inherited(dir, e)) return;
  cast_off(e->inode, e);
  entry_remove(d, e);
  if (d->entry_count != 0) return;
  mem_free(d->buckets);
  d->buckets = NULL;
  d->bucket_count = 0;
}

void mem_dir_free(mem_inode *dir) {
  mem_dir *d = &dir->dir;
  for (size_t i = 0; i < d->bucket_count; i++) {
    for (mem_entry *e = d->buckets[i], *next; e != NULL; e = next) {
      next = e->next;
      if (e->inode != NULL) cast_off(e->inode, e);
      mem_free(e);
    }
  }
  mem_free(d->buckets);
  mem_free(d->fresh);
}

/* ---- snapshots ---- */

static void forget_hidden(mem_dir *d) {
  for (size_t b = 0; b < d->bucket_count; b++) {
    for (mem_entry *e = d->buckets[b], *next; e != NULL; e = next) {
      next = e->next;
      if (e->inode == NULL) entry_remove(d, e);
    }
  }
}

void mem_dir_adopt(mem_inode *dir) {
  dir->dirty_below = false;
  if (dir->frozen == NULL) return;
  mem_node *old = dir->origin;
  dir->origin = MOVE(dir->frozen);
  dir->dirty = false;
  forget_hidden(&dir->dir);
  dir->dir.fresh_len = dir->dir.fresh_gone = 0;
  mem_node_unref(old);
}

const mem_entry *mem_dir_own(const mem_inode *dir, const mem_child *c) {
  return mem_mem_dir_own(&dir->dir, (k_name){ c->name, c->len }, c->hash);
}

/* ---- listing ---- */

typedef struct lister {
  mem_inode *dir;
  int64_t pos;
  k_dirent_fn *each;
  void *ctx;
} lister;

static bool mem_dir_list_dots(const lister *l, bool *go_on) {
  mem_inode *up = l->dir->dir.parent != NULL ? l->dir->dir.parent : l->dir;
  if (l->pos < MEM_POS_DOT)
    *go_on = l->each(l->ctx, (k_name){ ".", 1 }, l->dir->ino, l->dir->base.mode, MEM_POS_DOT);
  if (*go_on && l->pos < MEM_POS_DOTDOT)
    *go_on = l->each(l->ctx, (k_name){ "..", 2 }, up->ino, up->base.mode, MEM_POS_DOTDOT);
  return *go_on;
}

static size_t child_from(const mem_node *n, int64_t pos) {
  size_t low = 0, high = n->count;
  while (low < high) {
    size_t mid = low + (high - low) / 2;
    if (n->children[mid].pos <= pos)
      low = mid + 1;
    else
      high = mid;
  }
  return low;
}

static bool list_inherited(const lister *l) {
  const mem_node *n = l->dir->origin;
  if (n == NULL) return true;
  for (size_t i = child_from(n, l->pos); i < n->count; i++) {
    const mem_child *c = &n->children[i];
    const mem_entry *e = mem_dir_own(l->dir, c);
    if (e != NULL && (e->inode == NULL || e->pos != c->pos)) continue;
    uint64_t ino = e != NULL ? e->inode->ino : c->ino;
    uint32_t type = e != NULL ? e->inode->base.mode : c->type;
    if (!l->each(l->ctx, (k_name){ c->name, c->len }, ino, type, c->pos)) return false;
  }
  return true;
}

static void list_fresh(const lister *l) {
  const mem_dir *d = &l->dir->dir;
  for (size_t i = fresh_after(d, l->pos); i < d->fresh_len; i++) {
    const mem_entry *e = d->fresh[i].entry;
    if (e == NULL) continue;
    if (!l->each(l->ctx, (k_name){ e->name, e->len }, e->inode->ino, e->inode->base.mode, e->pos)) return;
  }
}

static k_ret mem_dir_readdir(k_file *f, int64_t pos, k_dirent_fn *each, void *ctx) {
  lister l = { mem_of(f->inode), pos, each, ctx };
  bool go_on = true;
  if (l.dir->nlink == 0) return -K_ENOENT;
  if (mem_dir_list_dots(&l, &go_on) && list_inherited(&l)) list_fresh(&l);
  return 0;
}

static k_ret dir_size(k_file *f) { return mem_of(f->inode)->dir.next_pos; }

const k_file_ops mem_dir_file_ops = { .readdir = mem_dir_readdir, .size = dir_size };
