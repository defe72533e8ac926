/* tree.h - the files of a sandbox as a list in the store.
 *
 * The list has one row for each file that differs from what every sandbox starts with, in the order of
 * cay_snapshot_walk; numbers are little-endian:
 *
 *   "cayws1\n"
 *   u8 kind (cay_kind), u8 flags (1 removed, 2 same_as, 4 has holes), u32 mode, u32 type, u32 uid, u32 gid, u64 len,
 *   i64 mtime_ns, u16 + path, u16 + target or same_as, and for a file with contents its SHA-256
 *
 * The bytes of a list are checked against their digest, but may have been written by anyone who can write to the store:
 * reading is bounded, and the maker of snapshots refuses bad paths. */
#pragma once

#include "workspace/client.h"

enum { WS_TREE_MAX = 1 << 30, WS_TREE_FILES_MAX = 1000000 };

/* Keeps the files of `snapshot` in the transaction that has begun, and fills tree, files and len of the record. The
 * digests that it refers to are *contents (mem_free). */
cay_status ws_tree_write(ws_store *store, const cay_snapshot *snapshot, ws_record *record, digest **contents,
                         size_t *count, cay_error *err) CHECKED;

/* The snapshot that a record names. CAY_CORRUPT. */
cay_status ws_tree_read(ws_store *store, cay_engine *engine, const ws_record *record, cay_snapshot **out,
                        cay_error *err) CHECKED;

/* One row; strings borrow from the list. */
typedef struct ws_row {
  cay_entry entry;
  bool holes, has_digest;
  digest name;
  char path[4096], other[4096];
} ws_row;
/* Takes a row off the beginning of `list`. CAY_CORRUPT. */
cay_status ws_row_read(cay_slice *list, ws_row *out, cay_error *err) CHECKED;
