/* entry.c - nodes of a frozen tree as cay_entry, hard links, and digests of contents (entry.h). */
#include "sandbox/snapshot/entry.h"

#include "base/alloc.h"
#include "base/digest.h"

#include <stdatomic.h>
#include <string.h>

enum { PIECE = 1 << 16 };

static cay_kind entry_kind(uint32_t mode) {
  switch (mode & K_S_IFMT) {
  case K_S_IFREG: return CAY_FILE;
  case K_S_IFDIR: return CAY_DIR;
  case K_S_IFLNK: return CAY_LINK;
  default: return CAY_OTHER;
  }
}

void sb_entry_of(const mem_node *n, const char *path, cay_entry *out) {
  *out = (cay_entry){
    .path = path,
    .kind = entry_kind(n->mode),
    .mode = n->mode & 07777,
    .type = n->mode & K_S_IFMT,
    .uid = n->uid,
    .gid = n->gid,
    .len = n->target != NULL ? strlen(n->target) : n->contents.size,
    .held = n->contents.held,
    .mtime_ns = n->mtime_ns,
    .target = n->target,
  };
}

/* ---- files with several names ---- */

struct sb_link {
  const mem_node *node;
  char *path;
};

static struct sb_link *link_slot(const sb_links *l, const mem_node *n) {
  size_t at = (size_t)((uintptr_t)n / 16 * 0x9e3779b97f4a7c15U >> 32) & (l->cap - 1);
  while (l->slots[at].node != NULL && l->slots[at].node != n) at = (at + 1) & (l->cap - 1);
  return &l->slots[at];
}

static bool links_grow(sb_links *l) {
  if (2 * (l->count + 1) <= l->cap) return true;
  sb_links more = { .cap = l->cap != 0 ? 2 * l->cap : 64, .count = l->count };
  more.slots = mem_zalloc_array(more.cap, sizeof *more.slots);
  if (more.slots == NULL) return false;
  for (size_t i = 0; i < l->cap; i++)
    if (l->slots[i].node != NULL) *link_slot(&more, l->slots[i].node) = l->slots[i];
  mem_free(l->slots);
  *l = more;
  return true;
}

cay_status sb_links_meet(sb_links *l, const mem_node *n, const char *path, const char **first,
                         cay_error *err) {
  *first = NULL;
  if (sb_node_is(n, K_S_IFDIR) || n->nlink < 2) return CAY_OK;
  if (!links_grow(l)) return err_no_memory(err);
  struct sb_link *slot = link_slot(l, n);
  *first = slot->path;
  if (slot->node != NULL) return CAY_OK;
  slot->path = mem_strdup(path);
  if (slot->path == NULL) return err_no_memory(err);
  slot->node = n;
  l->count++;
  return CAY_OK;
}

void sb_links_free(sb_links *l) {
  for (size_t i = 0; i < l->cap; i++) mem_free(l->slots[i].path);
  mem_free(l->slots);
}

/* ---- contents ---- */

static cay_status digest_compute(const mem_node *n, digest *out, cay_error *err) {
  uint8_t *piece = mem_alloc(PIECE);
  if (piece == NULL) return err_no_memory(err);
  digest_state state;
  digest_begin(&state);
  size_t len;
  for (uint64_t at = 0; (len = mem_contents_read(&n->contents, piece, PIECE, at)) > 0; at += len)
    digest_add(&state, piece, len);
  mem_free(piece);
  *out = digest_end(&state);
  return CAY_OK;
}

/* The first thread that knows it leaves it there. */
static void digest_keep(const mem_node *n, const digest *d) {
  uint8_t *kept = mem_dup(d->bytes, sizeof d->bytes), *none = NULL;
  _Atomic(uint8_t *) *slot = (_Atomic(uint8_t *) *)(uintptr_t)&n->digest;
  if (kept != NULL && !atomic_compare_exchange_strong(slot, &none, kept)) mem_free(kept);
}

cay_status sb_node_digest(const mem_node *n, uint8_t out[32], cay_error *err) {
  const uint8_t *kept = atomic_load(&n->digest);
  digest d;
  if (kept != NULL) {
    memcpy(out, kept, sizeof d.bytes);
    return CAY_OK;
  }
  S_TRY(digest_compute(n, &d, err));
  digest_keep(n, &d);
  memcpy(out, d.bytes, sizeof d.bytes);
  return CAY_OK;
}

bool sb_contents_equal(const mem_node *a, const mem_node *b) {
  if (a == b) return true;
  if (a->target != NULL || b->target != NULL)
    return a->target != NULL && b->target != NULL && strcmp(a->target, b->target) == 0;
  return mem_contents_equal(&a->contents, &b->contents);
}
