/* store.h - where snapshots and parked sessions are kept: the interface, and the store of a folder behind it.
 *
 * Contents are kept once, by their SHA-256. A tree is one content too: the list of a sandbox's files (tree.h). A record
 * names a tree. Everything of a record is durable when the commit returns, and nothing of it is to be seen before.
 *
 * Threads: any; a transaction belongs to the thread that began it, and other writers wait. */
#pragma once

#include "base/buf.h"
#include "base/digest.h"

#include <cay/workspace.h>

typedef struct ws_store ws_store;
typedef struct ws_claim ws_claim; /* the right to use a parked session, held by one process */

typedef struct ws_record {
  char id[CAY_WS_ID_MAX];     /* of a snapshot; of a session its handle */
  char handle[CAY_WS_ID_MAX]; /* of the session that a snapshot was taken of */
  digest tree;
  uint64_t files, len;
  int64_t created_ns;
  char *config; /* JSON; mem_free */
} ws_record;

typedef bool ws_record_fn(void *ctx, const ws_record *record);

/* Bytes in order, 0 at the end. */
typedef cay_status ws_source_fn(void *ctx, void *buf, size_t cap, size_t *len, cay_error *err);
typedef cay_status ws_sink_fn(void *ctx, cay_slice bytes, cay_error *err);

typedef enum ws_table { WS_SNAPSHOTS, WS_SESSIONS } ws_table;

typedef struct ws_store_ops {
  /* One transaction: contents, then one record. `contents` are the digests that its tree refers to. */
  cay_status (*begin)(ws_store *s, cay_error *err);
  cay_status (*put)(ws_store *s, const digest *name, uint64_t len, ws_source_fn *source, void *ctx,
                    cay_error *err);
  cay_status (*commit)(ws_store *s, ws_table table, const ws_record *record, const digest *contents,
                       size_t count, cay_error *err);
  void (*rollback)(ws_store *s);

  /* CAY_NOT_FOUND. */
  cay_status (*find)(ws_store *s, ws_table table, const char *id, ws_record *out, cay_error *err);
  cay_status (*remove)(ws_store *s, ws_table table, const char *id, cay_error *err);
  cay_status (*each)(ws_store *s, ws_table table, ws_record_fn *each, void *ctx, cay_error *err);
  /* The bytes of a content, checked against its name. CAY_CORRUPT, after part of them was given. */
  cay_status (*get)(ws_store *s, const digest *name, ws_sink_fn *sink, void *ctx, cay_error *err);

  /* CAY_BUSY: another has it. CAY_NOT_FOUND: no such session, and `fresh` is false. */
  cay_status (*claim)(ws_store *s, const char *handle, bool fresh, ws_claim **out, cay_error *err);
  void (*release)(ws_store *s, ws_claim *claim, bool gone); /* gone: the session does not exist any more */

  cay_status (*fsck)(ws_store *s, bool repair, cay_ws_fsck_fn *each, void *ctx, size_t *problems,
                     cay_error *err);
  void (*free)(ws_store *s);
} ws_store_ops;

struct ws_store {
  const ws_store_ops *ops;
};

/* A folder: SQLite for records and small contents, one file for each large content. The folder is made, for its owner
 * alone. CAY_CORRUPT, CAY_INVALID: another program's. CAY_UNSUPPORTED: of a newer version. CAY_IO. */
cay_status ws_folder_open(const char *path, ws_store **out, cay_error *err) CHECKED;

void ws_record_free(ws_record *record); /* its config */
static inline void ws_record_free_p(ws_record *record) { ws_record_free(record); }
