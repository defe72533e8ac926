/* walk.h - two frozen trees side by side, by name.
 *
 * What both share is skipped without a look below. Directories of copy-on-write mounts are filled when the walk enters
 * them: not with kernel.mu. Without recursion: guests make trees of any depth. */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "kernel/fs/mem/mem_node.h"

typedef struct sb_pair {
  const char *path;               /* absolute; borrowed until the function returns */
  const mem_node *before, *after; /* NULL where it is not; not both */
} sb_pair;

/* What to do after a pair: go on below it, go on beside it, or end. */
enum sb_walk { SB_WALK_INTO, SB_WALK_ON, SB_WALK_STOP };
typedef enum sb_walk sb_walk_fn(void *ctx, const sb_pair *pair);

/* From `path` (NULL: "/") on; a directory before its entries, these by name. Either root may be NULL. `all`: also
 * what both share. CAY_NOT_FOUND: the path is in neither. CAY_INVALID, CAY_NO_MEMORY. */
cay_status sb_trees_walk(const mem_node *before, const mem_node *after, const char *path, bool all,
                         sb_walk_fn *visit, void *ctx, cay_error *err) CHECKED;

/* The node at `path`; *out NULL: there is none. Symlinks are not followed. CAY_INVALID: not an absolute path, or with
 * "." or ".." in it. */
cay_status sb_tree_find(const mem_node *root, const char *path, const mem_node **out, cay_error *err) CHECKED;

static inline bool sb_node_is(const mem_node *n, uint32_t type) {
  return n != NULL && (n->mode & K_S_IFMT) == type;
}
