/* folder.h - the inside of the store of a folder.
 *
 *   DIR/cay.db         records, lists of trees, and contents of up to 32 KiB, in SQLite (WAL)
 *   DIR/contents/ab/…  one file for each larger content, named by its digest
 *   DIR/tmp/           files that are being written; whatever a writer finds there is of one that died
 *   DIR/locks/HANDLE   flock(2) of the process that has a parked session
 *
 * Every writer holds SQLite's one write lock (BEGIN IMMEDIATE) from its first content to its record, so files are made and
 * removed by one process at a time. A content file is complete and synced before it gets its name, and has its name before
 * the row that refers to it is committed. In the other direction a row is gone, and its name is in `dead`, before the file is
 * removed. So a crash leaves at most files without a row, which the next writer of the same content takes over and fsck
 * removes. */
#pragma once

#include "workspace/store.h"

#include <pthread.h>
#include <sqlite3.h>

enum { WS_INLINE_MAX = 32 << 10, WS_CHUNK = 256 << 10 };

typedef struct ws_folder {
  ws_store base;
  pthread_mutex_t mu; /* for db; held from begin to commit or rollback */
  sqlite3 *db;
  int dir;
} ws_folder;

struct ws_claim {
  int fd;
  char handle[CAY_WS_ID_MAX];
};

/* ---- SQL (folder_sql.c) ---- */

cay_status ws_sql_error(sqlite3 *db, int code, cay_error *err); /* CAY_OK for SQLITE_OK, _ROW, _DONE */
cay_status ws_sql_run(ws_folder *f, const char *sql, cay_error *err) CHECKED;

/* One statement. `types` has a letter for each parameter: i (int64_t), t (const char *), d (const digest *). Steps once: the
 * row is in *out when it is not NULL, which the caller finalizes; else rows are ignored. */
cay_status ws_sql(ws_folder *f, sqlite3_stmt **out, bool *row, cay_error *err, const char *sql,
                  const char *types, ...) CHECKED;
/* The first column of the first row, or `otherwise`. */
cay_status ws_sql_number(ws_folder *f, int64_t *out, int64_t otherwise, cay_error *err, const char *sql,
                         const char *types, ...) CHECKED;
cay_status ws_sql_open(ws_folder *f, const char *path, cay_error *err) CHECKED;

/* ---- files (folder_file.c) ---- */

cay_status ws_file_dirs(ws_folder *f, const char *path, cay_error *err) CHECKED;
/* Writes and syncs a content, and gives it its name. The bytes are compared with the name. */
cay_status ws_file_put(ws_folder *f, const digest *name, uint64_t len, ws_source_fn *source, void *ctx,
                       cay_error *err) CHECKED;
bool ws_file_is_there(ws_folder *f, const digest *name, uint64_t len);
cay_status ws_file_get(ws_folder *f, const digest *name, ws_sink_fn *sink, void *ctx, cay_error *err) CHECKED;
void ws_file_remove(ws_folder *f, const digest *name);
void ws_file_clear_tmp(ws_folder *f); /* as a writer */

typedef void ws_file_fn(void *ctx, const char *path, const digest *name); /* name NULL: not one of contents */
cay_status ws_file_each(ws_folder *f, ws_file_fn *each, void *ctx, cay_error *err) CHECKED;

/* ---- contents and records (folder.c) ---- */

cay_status ws_folder_get(ws_store *s, const digest *name, ws_sink_fn *sink, void *ctx,
                         cay_error *err) CHECKED;
cay_status ws_folder_fsck(ws_store *s, bool repair, cay_ws_fsck_fn *each, void *ctx, size_t *problems,
                          cay_error *err) CHECKED;
/* Deletes one record, and what only it refers to; in a transaction. *found: there was one. */
cay_status ws_folder_drop(ws_folder *f, ws_table table, const char *id, bool *found, cay_error *err) CHECKED;
/* Removes the files of `dead`, in a transaction of its own. What cannot be removed now is removed later. */
void ws_folder_sweep(ws_folder *f);
