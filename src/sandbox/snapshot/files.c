/* files.c - looking into a snapshot (cay_snapshot_walk, _stat, _read, _digest, _info_get). */
#include "sandbox/snapshot/entry.h"
#include "sandbox/snapshot/snapshot.h"

#include "base/text.h"

#include <string.h>

void cay_snapshot_info_get(const cay_snapshot *s, cay_snapshot_info *out) {
  uint64_t bytes, files;
  mem_tree_charge(s->tree, &bytes, &files);
  *out = (cay_snapshot_info){ .label = s->label,
                              .created_ns = s->created_ns,
                              .files = files,
                              .bytes = bytes,
                              .sessions = s->session_count,
                              .limits = s->limits };
  out->limits.size = sizeof out->limits;
  memcpy(out->id, s->id, sizeof out->id);
  memcpy(out->parent, s->parent, sizeof out->parent);
}

/* ---- walking ---- */

typedef struct walking {
  cay_entry_fn *each;
  void *ctx;
  sb_links links;
  cay_status status;
  cay_error *err;
} walking;

static enum sb_walk walking_visit(void *ctx, const sb_pair *pair) {
  walking *w = ctx;
  cay_entry entry;
  sb_entry_of(pair->after != NULL ? pair->after : pair->before, pair->path, &entry);
  entry.removed = pair->after == NULL;
  if (!entry.removed) w->status = sb_links_meet(&w->links, pair->after, pair->path, &entry.same_as, w->err);
  if (w->status != CAY_OK || !w->each(w->ctx, &entry)) return SB_WALK_STOP;
  return entry.removed ? SB_WALK_ON : SB_WALK_INTO;
}

cay_status cay_snapshot_walk(const cay_snapshot *s, const cay_walk_options *options, cay_entry_fn *each,
                             void *ctx, cay_error *err) {
  cay_walk_options o;
  if (!sb_options_copy(&o, sizeof o, options))
    return err_set(err, CAY_INVALID, "walk options: from a newer version of snapshot.h");
  walking w = { .each = each, .ctx = ctx, .err = err };
  const mem_node *before = o.all ? NULL : s->engine->base->root;
  cay_status status = sb_trees_walk(before, s->tree->root, o.path, o.all, walking_visit, &w, err);
  sb_links_free(&w.links);
  return status != CAY_OK ? status : w.status;
}

/* ---- one file ---- */

static cay_status snapshot_find(const cay_snapshot *s, const char *path, const mem_node **out,
                                cay_error *err) {
  S_TRY(sb_tree_find(s->tree->root, path, out, err));
  return *out != NULL ? CAY_OK
                      : err_set(err, CAY_NOT_FOUND, "there is no %s in the snapshot", TEXT_NAME(path));
}

static cay_status snapshot_find_file(const cay_snapshot *s, const char *path, const mem_node **out,
                                     cay_error *err) {
  S_TRY(snapshot_find(s, path, out, err));
  return sb_node_is(*out, K_S_IFREG) ? CAY_OK
                                     : err_set(err, CAY_INVALID, "%s is no regular file", TEXT_NAME(path));
}

cay_status cay_snapshot_stat(const cay_snapshot *s, const char *path, cay_entry *out, cay_error *err) {
  const mem_node *n;
  S_TRY(snapshot_find(s, path, &n, err));
  sb_entry_of(n, path, out);
  return CAY_OK;
}

cay_status cay_snapshot_read(const cay_snapshot *s, const char *path, uint64_t offset, void *buf, size_t cap,
                             size_t *out, cay_error *err) {
  const mem_node *n;
  S_TRY(snapshot_find_file(s, path, &n, err));
  *out = mem_contents_read(&n->contents, buf, cap, offset);
  return CAY_OK;
}

cay_status cay_snapshot_digest(const cay_snapshot *s, const char *path, uint8_t out[32], cay_error *err) {
  const mem_node *n;
  S_TRY(snapshot_find_file(s, path, &n, err));
  return sb_node_digest(n, out, err);
}
