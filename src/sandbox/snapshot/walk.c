/* walk.c - the lookup of a path in a frozen tree, and the walk of two trees by name (walk.h). */
#include "sandbox/snapshot/walk.h"

#include "base/alloc.h"
#include "base/text.h"
#include "kernel/fs/mem/mem_source.h"
#include "sandbox/status.h"

#include <stdlib.h>
#include <string.h>

/* A directory that has its names elsewhere gets them when it is entered. */
static cay_status walk_fill(const mem_node *dir, const char *path, cay_error *err) {
  mem_node *n = (mem_node *)(uintptr_t)dir;
  k_ret r = n != NULL ? mem_node_fill(n, UINT64_MAX) : 0;
  if (r >= 0 && n != NULL) r = mem_node_see_below(n);
  return r >= 0 ? CAY_OK : sb_status(err, r, path);
}

/* ---- one path ---- */

cay_status sb_tree_find(const mem_node *root, const char *path, const mem_node **out, cay_error *err) {
  if (path == NULL || path[0] != '/') return err_set(err, CAY_INVALID, "the path is not absolute");
  const mem_node *n = root;
  for (const char *at = path; *(at += strspn(at, "/")) != '\0';) {
    k_name name = { at, strcspn(at, "/") };
    if (name.data[0] == '.' && (name.len == 1 || (name.len == 2 && name.data[1] == '.')))
      return err_set(err, CAY_INVALID, "%s: \".\" and \"..\" have no meaning in a snapshot", TEXT_NAME(path));
    at += name.len;
    if (sb_node_is(n, K_S_IFDIR)) S_TRY(walk_fill(n, path, err));
    const mem_child *c = sb_node_is(n, K_S_IFDIR) ? mem_node_find(n, name, mem_hash(name)) : NULL;
    n = c != NULL ? mem_node_same(c->node) : NULL;
  }
  *out = n;
  return CAY_OK;
}

/* ---- the names of two directories ---- */

typedef struct walk_name {
  const char *name;
  size_t len;
  const mem_node *before, *after;
} walk_name;

typedef struct walk_frame {
  walk_name *names;
  size_t count, next, path_len;
} walk_frame;

typedef struct walker {
  walk_frame *frames;
  size_t depth, cap;
  buf path;
  bool all;
  sb_walk_fn *visit;
  void *ctx;
} walker;

static int walk_name_order(const void *a, const void *b) {
  const walk_name *x = a, *y = b;
  int order = memcmp(x->name, y->name, x->len < y->len ? x->len : y->len);
  return order != 0 ? order : (x->len > y->len) - (x->len < y->len);
}

/* Names that only `dir` has, or that differ. `other` has those with its own node beside. */
static size_t walk_names_of(const mem_node *dir, const mem_node *other, bool after, bool all,
                            walk_name *out) {
  size_t count = 0;
  for (size_t i = 0; dir != NULL && i < dir->count; i++) {
    const mem_child *c = &dir->children[i];
    const mem_child *twin = other != NULL ? mem_node_find(other, (k_name){ c->name, c->len }, c->hash) : NULL;
    if (twin != NULL && (after || (!all && mem_node_same(twin->node) == mem_node_same(c->node)))) continue;
    const mem_node *own = mem_node_same(c->node), *beside = twin != NULL ? mem_node_same(twin->node) : NULL;
    out[count++] = (walk_name){ c->name, c->len, after ? NULL : own, after ? own : beside };
  }
  return count;
}

static cay_status walk_push(walker *w, const mem_node *before, const mem_node *after, cay_error *err) {
  before = sb_node_is(before, K_S_IFDIR) ? before : NULL;
  after = sb_node_is(after, K_S_IFDIR) ? after : NULL;
  const char *path = w->path.len != 0 ? buf_text(&w->path) : "/";
  S_TRY(walk_fill(before, path, err));
  S_TRY(walk_fill(after, path, err));
  size_t most = (before != NULL ? before->count : 0) + (after != NULL ? after->count : 0);
  if (most == 0 || (before == after && !w->all)) return CAY_OK;
  if (w->depth == w->cap) {
    size_t cap = w->cap != 0 ? 2 * w->cap : 16;
    walk_frame *frames = mem_realloc_array(w->frames, cap, sizeof *frames);
    if (frames == NULL) return err_no_memory(err);
    w->frames = frames;
    w->cap = cap;
  }
  walk_name *names = mem_zalloc_array(most, sizeof *names);
  if (names == NULL) return err_no_memory(err);
  size_t count = walk_names_of(before, after, false, w->all, names);
  count += walk_names_of(after, before, true, w->all, names + count);
  qsort(names, count, sizeof *names, walk_name_order);
  w->frames[w->depth++] = (walk_frame){ names, count, 0, w->path.len };
  return CAY_OK;
}

/* ---- the walk ---- */

static cay_status walk_visit(walker *w, const mem_node *before, const mem_node *after, bool *go_on,
                             cay_error *err) {
  const sb_pair pair = { w->path.len != 0 ? buf_text(&w->path) : "/", before, after };
  switch (w->visit(w->ctx, &pair)) {
  case SB_WALK_INTO: return walk_push(w, before, after, err);
  case SB_WALK_STOP: *go_on = false; break;
  case SB_WALK_ON: break;
  }
  return CAY_OK;
}

static cay_status walk_next(walker *w, bool *go_on, cay_error *err) {
  walk_frame *top = &w->frames[w->depth - 1];
  w->path.len = top->path_len;
  if (top->next == top->count) {
    mem_free(top->names);
    w->depth--;
    return CAY_OK;
  }
  const walk_name *n = &top->names[top->next++];
  if (buf_append_byte(&w->path, '/') != CAY_OK || buf_append(&w->path, n->name, n->len) != CAY_OK)
    return err_no_memory(err);
  return walk_visit(w, n->before, n->after, go_on, err);
}

/* Without a '/' at its end: "" for the root. */
static cay_status walk_begin(walker *w, const char *path, cay_error *err) {
  for (const char *at = path; *(at += strspn(at, "/")) != '\0'; at += strcspn(at, "/"))
    if (buf_append_byte(&w->path, '/') != CAY_OK || buf_append(&w->path, at, strcspn(at, "/")) != CAY_OK)
      return err_no_memory(err);
  return CAY_OK;
}

static cay_status walk_run(walker *w, const mem_node *before, const mem_node *after, const char *path,
                           cay_error *err) {
  bool go_on = true;
  S_TRY(walk_begin(w, path, err));
  S_TRY(walk_visit(w, before, after, &go_on, err));
  while (w->depth > 0 && go_on) S_TRY(walk_next(w, &go_on, err));
  return CAY_OK;
}

cay_status sb_trees_walk(const mem_node *before, const mem_node *after, const char *path, bool all,
                         sb_walk_fn *visit, void *ctx, cay_error *err) {
  walker w = { .path = BUF_INIT(BUF_UNLIMITED), .all = all, .visit = visit, .ctx = ctx };
  if (path == NULL) path = "/";
  if (before != NULL) S_TRY(sb_tree_find(before, path, &before, err));
  if (after != NULL) S_TRY(sb_tree_find(after, path, &after, err));
  if (before == NULL && after == NULL) return err_set(err, CAY_NOT_FOUND, "there is no %s", TEXT_NAME(path));
  if (before == after && !all) return CAY_OK;
  cay_status status = walk_run(&w, before, after, path, err);
  while (w.depth > 0) mem_free(w.frames[--w.depth].names);
  mem_free(w.frames);
  buf_free(&w.path);
  return status;
}
