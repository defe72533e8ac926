/* diff.c - two snapshots compared (cay_snapshot_diff). */
#include "sandbox/snapshot/diff.h"

#include "sandbox/snapshot/snapshot.h"

typedef struct diffing {
  sb_change_fn *each;
  void *ctx;
  bool times;
} diffing;

static bool contents_differ(const mem_node *a, const mem_node *b) {
  if ((a->mode & K_S_IFMT) != (b->mode & K_S_IFMT)) return true;
  return !sb_node_is(a, K_S_IFDIR) && !sb_contents_equal(a, b);
}

static bool metadata_differs(const diffing *d, const mem_node *a, const mem_node *b) {
  return a->mode != b->mode || a->uid != b->uid || a->gid != b->gid ||
         (d->times && a->mtime_ns != b->mtime_ns);
}

static enum sb_walk diffing_visit(void *ctx, const sb_pair *pair) {
  const diffing *d = ctx;
  sb_change change = { .pair = pair, .contents = true };
  if (pair->before == NULL) {
    change.kind = CAY_ADDED;
  } else if (pair->after == NULL) {
    change.kind = CAY_REMOVED;
  } else {
    change.kind = CAY_CHANGED;
    change.contents = contents_differ(pair->before, pair->after);
    if (!change.contents && !metadata_differs(d, pair->before, pair->after)) return SB_WALK_INTO;
  }
  return d->each(d->ctx, &change) ? SB_WALK_INTO : SB_WALK_STOP;
}

cay_status sb_trees_diff(const mem_node *before, const mem_node *after, const cay_diff_options *options,
                         sb_change_fn *each, void *ctx, cay_error *err) {
  diffing d = { .each = each, .ctx = ctx, .times = options->times };
  return sb_trees_walk(before, after, options->path, false, diffing_visit, &d, err);
}

/* ---- for the embedder ---- */

typedef struct reporting {
  cay_change_fn *each;
  void *ctx;
} reporting;

static bool report_change(void *ctx, const sb_change *change) {
  const reporting *r = ctx;
  const sb_pair *p = change->pair;
  cay_entry before, after;
  if (p->before != NULL) sb_entry_of(p->before, p->path, &before);
  if (p->after != NULL) sb_entry_of(p->after, p->path, &after);
  const cay_change out = { .kind = change->kind,
                           .path = p->path,
                           .before = p->before != NULL ? &before : NULL,
                           .after = p->after != NULL ? &after : NULL,
                           .contents = change->contents };
  return r->each(r->ctx, &out);
}

cay_status cay_snapshot_diff(const cay_snapshot *before, const cay_snapshot *after,
                             const cay_diff_options *options, cay_change_fn *each, void *ctx,
                             cay_error *err) {
  cay_diff_options o;
  if (!sb_options_copy(&o, sizeof o, options))
    return err_set(err, CAY_INVALID, "diff options: from a newer version of snapshot.h");
  const mem_node *root = before != NULL ? before->tree->root : after->engine->base->root;
  return sb_trees_diff(root, after->tree->root, &o, report_change, &(reporting){ each, ctx }, err);
}
