/* mem_source.c - files and directories whose contents are elsewhere: filling, open files, copying up,
 * comparing (mem_source.h). */
#include "kernel/fs/mem/mem_source.h"

#include "base/alloc.h"
#include "kernel/fs/host/host_call.h"
#include "kernel/fs/mem/mem_inode.h"

#include <stdatomic.h>
#include <string.h>

enum { PIECE = 1 << 16 };

mem_source *mem_source_ref(mem_source *s) {
  atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
  return s;
}

void mem_source_unref(mem_source *s) {
  if (s == NULL || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1) return;
  s->ops->free(s);
}

/* ---- directories ---- */

bool mem_node_is_unfilled(const mem_node *n) {
  return n->source != NULL && (n->mode & K_S_IFMT) == K_S_IFDIR &&
         !atomic_load_explicit(&n->source->filled, memory_order_acquire);
}

k_ret mem_node_fill(mem_node *n, uint64_t most) {
  return mem_node_is_unfilled(n) ? n->source->ops->fill(n->source, n, most) : 0;
}

bool mem_node_is_unseen(const mem_node *n) { return atomic_load_explicit(&n->unseen, memory_order_acquire); }

mem_node *mem_node_same(mem_node *n) { return n->same != NULL ? n->same : n; }

k_ret mem_node_see_below(mem_node *dir) {
  bool own = dir->source != NULL && dir->source->ops->see_below != NULL;
  for (size_t i = 0; i < dir->count; i++) {
    mem_node *n = dir->children[i].node;
    if (!mem_node_is_unseen(n)) continue;
    if (own) return dir->source->ops->see_below(dir->source, dir);
    K_TRY(n->source->ops->see(n->source, n));
  }
  return 0;
}

/* The limit of memory counts what the guest makes us remember of the names elsewhere: once, and also where others have used
 * the memory up meanwhile. */
K_LOCKED static k_ret dir_fill(memfs *fs, k_kernel *k, mem_node *n) {
  uint64_t used = k_memory_used(k), most = k->limits.memory > used ? k->limits.memory - used : 0;
  mem_node_ref(n);
  k_unlock(k);
  k_ret r = mem_node_fill(n, most);
  k_lock(k);
  uint64_t weight = r > 0 ? n->source->weight : 0;
  mem_node_unref(n);
  if (r <= 0) return r;
  k_memory_charge_over(k, weight);
  fs->remembered += weight;
  return 0;
}

K_LOCKED static k_ret dir_see(k_kernel *k, mem_node *dir) {
  mem_node_ref(dir);
  k_unlock(k);
  k_ret r = mem_node_see_below(dir);
  k_lock(k);
  mem_node_unref(dir);
  return r;
}

K_LOCKED k_ret mem_dir_fill_below(mem_inode *dir, k_name name) {
  k_kernel *k = mem_kernel(dir);
  const mem_child *c = dir->origin != NULL ? mem_node_find(dir->origin, name, mem_hash(name)) : NULL;
  if (c == NULL || k == NULL) return 0;
  if (mem_node_is_unseen(c->node)) return dir_see(k, dir->origin);
  return mem_node_is_unfilled(c->node) ? dir_fill(dir->fs, k, c->node) : 0;
}

K_LOCKED k_ret memfs_remember(k_inode *root, k_kernel *k) {
  memfs *fs = mem_of(root)->fs;
  uint64_t weight = fs->tree->root->source->weight;
  K_TRY(k_memory_charge(k, weight));
  fs->remembered = weight;
  root->kernel = k; /* it is given back to this one */
  return 0;
}

/* ---- open files ---- */

typedef struct source_handle {
  mem_source *source; /* a reference */
  int fd;
} source_handle;

/* Taken out of the file system; its source is NULL if there is none. */
static mem_opened opened_take(memfs *fs) {
  mem_opened o = fs->opened;
  fs->opened = (mem_opened){ 0 };
  return o;
}

K_LOCKED static void opened_drop(memfs *fs, k_kernel *k) {
  mem_opened o = opened_take(fs);
  if (o.source == NULL) return;
  k_unlock(k);
  o.source->ops->close(o.source, o.fd);
  mem_source_unref(o.source);
  k_lock(k);
}

/* The first look at a file, and its opening, in one. */
K_LOCKED k_ret mem_prepare(k_inode *base, k_name name) {
  const mem_inode *dir = mem_of(base);
  memfs *fs = dir->fs;
  k_kernel *k = mem_kernel(dir);
  if (!fs->lazy || k == NULL) return 0;
  opened_drop(fs, k);
  const mem_child *c =
      name.len != 0 && dir->origin != NULL ? mem_node_find(dir->origin, name, mem_hash(name)) : NULL;
  if (c == NULL || !mem_node_is_unseen(c->node) || mem_dir_own(dir, c) != NULL) return 0;
  mem_node *n = mem_node_ref(c->node);
  mem_source_state now;
  k_unlock(k);
  k_ret fd = n->source->ops->see_open(n->source, n, &now);
  k_lock(k);
  opened_drop(fs, k); /* another thread's */
  if (fd >= 0) fs->opened = (mem_opened){ mem_source_ref(mem_node_same(n)->source), (int)fd, now };
  mem_node_unref(n);
  return fd >= 0;
}

K_LOCKED static k_ret source_open_now(memfs *fs, k_kernel *k, mem_source *s, mem_source_state *now) {
  if (fs->opened.source == s) {
    mem_opened o = opened_take(fs);
    *now = o.now;
    mem_source_unref(o.source); /* the caller has another */
    return o.fd;
  }
  k_unlock(k);
  k_ret fd = s->ops->open(s, true, now);
  k_lock(k);
  return fd;
}

/* The file elsewhere may be another one than at the last look. */
K_LOCKED static k_ret source_open(mem_inode *i, mem_source *s) {
  mem_source_state now;
  k_ret fd = source_open_now(i->fs, mem_kernel(i), s, &now);
  if (fd < 0 || i->source != s) return fd;
  if (now.changed || i->contents.size != now.size) mem_contents_changed(i);
  i->contents.size = now.size;
  i->contents.held = now.held;
  if (!now.changed) return fd;
  i->mtime_ns = now.mtime_ns;
  i->ctime_ns = now.ctime_ns;
  return fd;
}

/* After a copy up the bytes are those of the sandbox, for files that were open before, too. */
K_LOCKED static k_ret source_read(k_file *f, void *buf, size_t len, int64_t pos) {
  const mem_inode *i = mem_of(f->inode);
  const source_handle *h = f->object;
  if (i->source == NULL) return (k_ret)mem_contents_read(&i->contents, buf, len, (uint64_t)pos);
  if ((uint64_t)pos >= i->contents.size) return 0;
  if (len > i->contents.size - (uint64_t)pos) len = (size_t)(i->contents.size - (uint64_t)pos);
  k_kernel *k = f->kernel;
  k_unlock(k);
  k_ret r = host_pread(h->fd, buf, len, pos);
  k_lock(k);
  return r;
}

static k_ret source_size(k_file *f) { return (k_ret)mem_of(f->inode)->contents.size; }

static k_ret source_seek(k_file *f, int64_t pos, bool hole) {
  const mem_inode *i = mem_of(f->inode);
  if (i->source == NULL) return mem_contents_seek(&i->contents, (uint64_t)pos, hole);
  if ((uint64_t)pos >= i->contents.size) return -K_ENXIO;
  return hole ? (k_ret)i->contents.size : pos;
}

K_LOCKED static void handle_free(k_kernel *k, source_handle *h) {
  k_unlock(k);
  if (h->fd >= 0) h->source->ops->close(h->source, h->fd);
  mem_source_unref(h->source);
  mem_free(h);
  k_lock(k);
}

K_LOCKED static void source_release(k_file *f) { handle_free(f->kernel, f->object); }

static const k_file_ops source_file_ops = { .lets_go = true,
                                            .read = source_read,
                                            .size = source_size,
                                            .seek_data = source_seek,
                                            .release = source_release };

K_LOCKED k_ret mem_source_open_file(mem_inode *i, uint32_t flags, k_file **out) {
  source_handle *h = mem_zalloc(sizeof *h);
  if (h == NULL) return -K_ENOMEM;
  h->source = mem_source_ref(i->source);
  k_ret fd = source_open(i, h->source);
  h->fd = fd >= 0 ? (int)fd : -1;
  k_ret r = fd < 0 ? fd : k_file_new(mem_kernel(i), &source_file_ops, flags, &i->base, h, out);
  if (r < 0)
    handle_free(mem_kernel(i), h);
  else
    k_inode_ref(&i->base);
  return r;
}

/* ---- copying up ---- */

K_LOCKED static k_ret copy_piece(k_kernel *k, mem_contents *to, int fd, void *piece) {
  k_unlock(k);
  k_ret n = host_pread(fd, piece, PIECE, (int64_t)to->size);
  k_lock(k);
  if (n <= 0) return n;
  k_ret written = mem_contents_write(to, k, piece, (size_t)n, to->size);
  return written >= 0 && written < n ? -K_ENOSPC : written;
}

K_LOCKED static k_ret copy_bytes(k_kernel *k, int fd, mem_contents *out) {
  void *piece = mem_alloc(PIECE);
  if (piece == NULL) return -K_ENOMEM;
  k_ret r;
  do r = copy_piece(k, out, fd, piece);
  while (r > 0);
  mem_free(piece);
  if (r < 0) mem_contents_free(out, k);
  return r;
}

void mem_source_forget(mem_inode *i) {
  mem_source_unref(i->source);
  i->source = NULL;
}

K_LOCKED k_ret mem_copy_up_held(mem_inode *i) {
  if (i->source == NULL) return 0;
  k_kernel *k = mem_kernel(i);
  mem_source *s = mem_source_ref(i->source);
  mem_contents copy = { 0 };
  k_ret r = mem_touch(i);
  k_ret fd = r < 0 ? r : source_open(i, s);
  r = fd < 0 ? fd : copy_bytes(k, (int)fd, &copy);
  if (r >= 0) {
    i->contents = copy;
    mem_source_forget(i);
  }
  k_unlock(k);
  if (fd >= 0) s->ops->close(s, (int)fd);
  mem_source_unref(s);
  k_lock(k);
  return r;
}

K_LOCKED k_ret mem_copy_up(mem_inode *i) {
  k_inode_write_begin(&i->base);
  k_ret r = mem_copy_up_held(i);
  k_inode_write_end(&i->base);
  return r;
}

/* ---- frozen files ---- */

k_ret mem_reader_begin(mem_reader *r, const mem_node *n) {
  *r = (mem_reader){ .node = n, .fd = -1, .size = n->contents.size };
  if (n->source == NULL) return mem_contents_ready(&n->contents);
  mem_source_state now;
  k_ret fd = n->source->ops->open(n->source, false, &now);
  if (fd < 0) return fd;
  r->fd = (int)fd;
  r->changed = now.changed;
  r->size = now.size;
  return 0;
}

k_ret mem_reader_read(const mem_reader *r, void *buf, size_t len, uint64_t pos) {
  if (r->fd >= 0) return host_pread(r->fd, buf, len, (int64_t)pos);
  return (k_ret)mem_contents_read(&r->node->contents, buf, len, pos);
}

void mem_reader_end(mem_reader *r) {
  if (r->fd >= 0) r->node->source->ops->close(r->node->source, r->fd);
  r->fd = -1;
}

static k_ret readers_equal(const mem_reader *a, const mem_reader *b, uint8_t *pieces, bool *equal) {
  *equal = a->size == b->size;
  for (uint64_t at = 0; *equal && at < a->size;) {
    k_ret x = mem_reader_read(a, pieces, PIECE, at), y = mem_reader_read(b, pieces + PIECE, PIECE, at);
    if (x < 0 || y < 0) return x < 0 ? x : y;
    k_ret both = x < y ? x : y;
    if (both == 0 || memcmp(pieces, pieces + PIECE, (size_t)both) != 0) *equal = false;
    at += (uint64_t)both;
  }
  return 0;
}

k_ret mem_nodes_equal(const mem_node *a, const mem_node *b, bool *equal) {
  *equal = true;
  if (a->source == NULL && b->source == NULL) *equal = mem_contents_equal(&a->contents, &b->contents);
  if (a->source == b->source) return 0;
  mem_reader x, y;
  K_TRY(mem_reader_begin(&x, a));
  k_ret r = mem_reader_begin(&y, b);
  uint8_t *pieces = r >= 0 ? mem_alloc((size_t)2 * PIECE) : NULL;
  if (r >= 0) r = pieces != NULL ? readers_equal(&x, &y, pieces, equal) : -K_ENOMEM;
  mem_free(pieces);
  mem_reader_end(&y);
  mem_reader_end(&x);
  return r;
}
