/* diff.h - what differs between two frozen trees, as changes of the public interface. */
#pragma once

#include "sandbox/snapshot/entry.h"

typedef struct sb_change {
  const sb_pair *pair;
  cay_change_kind kind;
  bool contents;
} sb_change;

/* False stops. */
typedef bool sb_change_fn(void *ctx, const sb_change *change);

/* The part of a patch for one file; either node may be NULL. CAY_CANCELLED: `write` said false. */
cay_status sb_patch_file(const char *name, const mem_node *before, const mem_node *after, cay_write_fn *write,
                         void *ctx, cay_error *err) CHECKED;

/* As cay_snapshot_diff. Roots may be NULL. */
cay_status sb_trees_diff(const mem_node *before, const mem_node *after, const cay_diff_options *options,
                         sb_change_fn *each, void *ctx, cay_error *err) CHECKED;
