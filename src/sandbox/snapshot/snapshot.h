/* snapshot.h - the inside of cay_snapshot: a frozen tree, and the rest of a sandbox as values.
 *
 * Immutable after it was made; any number of threads. */
#pragma once

#include "kernel/fs/mem/mem_node.h"
#include "sandbox/sandbox.h"
#include "sandbox/session/session.h"

#include <cay/snapshot.h>

enum { SNAPSHOT_LABEL_MAX = 200, SNAPSHOT_ID = 32 };

struct cay_snapshot {
  _Atomic size_t refs;
  cay_engine *engine;
  mem_tree *tree;
  mem_tree *shm; /* of /dev/shm; NULL: nothing was ever there */
  sb_env env;
  cay_limits limits;
  int64_t
      mono_ns; /* the clock of the sandbox when it was taken, which goes on in copies; 0: of an archive or a maker */
  char *label; /* "" */
  uint8_t id[SNAPSHOT_ID], parent[SNAPSHOT_ID];
  int64_t created_ns;
  sb_session_copy *sessions;
  size_t session_count;
};

/* Without tree, sessions and label ("" then), with a new id. CAY_NO_MEMORY, CAY_IO. */
cay_status sb_snapshot_new(cay_engine *engine, cay_snapshot **out, cay_error *err) CHECKED;
static inline void sb_snapshot_free_p(cay_snapshot **s) { cay_snapshot_free(*s); }

/* The sessions of `from`, shared. `to` has none. */
cay_status sb_snapshot_share_sessions(cay_snapshot *to, const cay_snapshot *from, cay_error *err) CHECKED;

/* CAY_INVALID: longer than SNAPSHOT_LABEL_MAX, or no UTF-8. NULL: "". */
cay_status sb_snapshot_set_label(cay_snapshot *s, const char *label, cay_error *err) CHECKED;
