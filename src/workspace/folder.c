/* folder.c - transactions and records of the store of a folder. */
#include "workspace/folder.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const tables[] = { [WS_SNAPSHOTS] = "snapshots", [WS_SESSIONS] = "sessions" };

void ws_record_free(ws_record *record) {
  mem_free(record->config);
  record->config = NULL;
}

/* ---- transactions ---- */

static cay_status folder_begin(ws_store *s, cay_error *err) {
  ws_folder *f = (ws_folder *)s;
  pthread_mutex_lock(&f->mu);
  cay_status status = ws_sql_run(f, "BEGIN IMMEDIATE", err);
  if (status == CAY_OK)
    ws_file_clear_tmp(f);
  else
    pthread_mutex_unlock(&f->mu);
  return status;
}

static void folder_rollback(ws_store *s) {
  ws_folder *f = (ws_folder *)s;
  if (sqlite3_get_autocommit(f->db) == 0) IGNORED(ws_sql_run(f, "ROLLBACK", NULL)); /* closing does it too */
  pthread_mutex_unlock(&f->mu);
}

static cay_status folder_end(ws_folder *f, cay_status status, cay_error *err) {
  if (status == CAY_OK) status = ws_sql_run(f, "COMMIT", err);
  if (status != CAY_OK && sqlite3_get_autocommit(f->db) == 0) IGNORED(ws_sql_run(f, "ROLLBACK", NULL));
  return status;
}

/* ---- contents ---- */

static cay_status content_put_inline(ws_folder *f, const digest *name, uint64_t len, ws_source_fn *source,
                                     void *ctx, cay_error *err) {
  uint8_t *bytes = mem_alloc(WS_INLINE_MAX + 1);
  size_t total = 0, got = 0;
  if (bytes == NULL) return err_no_memory(err);
  cay_status status;
  do {
    status = source(ctx, bytes + total, WS_INLINE_MAX + 1 - total, &got, err);
    total += got;
  } while (status == CAY_OK && got > 0 && total <= len);
  digest have = digest_of(bytes, total);
  if (status == CAY_OK && (total != len || !digest_equal(&have, name)))
    status = err_set(err, CAY_CORRUPT, "a content changed while it was kept");
  sqlite3_stmt *statement = NULL;
  if (status == CAY_OK) {
    int code = sqlite3_prepare_v2(f->db, "INSERT INTO contents (digest, len, data) VALUES (?, ?, ?)", -1,
                                  &statement, NULL);
    if (code == SQLITE_OK)
      code = sqlite3_bind_blob(statement, 1, name->bytes, sizeof name->bytes, SQLITE_STATIC);
    if (code == SQLITE_OK) code = sqlite3_bind_int64(statement, 2, (int64_t)total);
    if (code == SQLITE_OK) code = sqlite3_bind_blob(statement, 3, bytes, (int)total, SQLITE_STATIC);
    if (code == SQLITE_OK) code = sqlite3_step(statement);
    status = ws_sql_error(f->db, code, err);
  }
  (void)sqlite3_finalize(statement);
  mem_free(bytes);
  return status;
}

static cay_status folder_put(ws_store *s, const digest *name, uint64_t len, ws_source_fn *source, void *ctx,
                             cay_error *err) {
  ws_folder *f = (ws_folder *)s;
  int64_t id;
  S_TRY(ws_sql_number(f, &id, 0, err, "SELECT id FROM contents WHERE digest = ?", "d", name));
  bool large = len > WS_INLINE_MAX;
  if (id != 0 && (!large || ws_file_is_there(f, name, len))) return CAY_OK;
  if (!large) return content_put_inline(f, name, len, source, ctx, err);
  S_TRY(ws_file_put(f, name, len, source, ctx, err));
  if (id != 0) return CAY_OK; /* its file was missing */
  return ws_sql(f, NULL, NULL, err, "INSERT INTO contents (digest, len) VALUES (?, ?)", "di", name,
                (int64_t)len);
}

/* A copy of an inline content. NULL in *data: it has a file. */
static cay_status content_find(ws_folder *f, const digest *name, uint8_t **data, size_t *len,
                               cay_error *err) {
  sqlite3_stmt *statement = NULL;
  bool row = false;
  char hex[DIGEST_HEX];
  digest_hex(name, hex);
  *data = NULL;
  S_TRY(ws_sql(f, &statement, &row, err, "SELECT data FROM contents WHERE digest = ?", "d", name));
  if (!row) return err_set(err, CAY_CORRUPT, "the content %s is missing", hex);
  cay_status status = CAY_OK;
  if (sqlite3_column_type(statement, 0) != SQLITE_NULL) {
    const void *bytes = sqlite3_column_blob(statement, 0);
    *len = (size_t)sqlite3_column_bytes(statement, 0);
    *data = mem_dup(bytes != NULL ? bytes : "", *len);
    if (*data == NULL) status = err_no_memory(err);
  }
  (void)sqlite3_finalize(statement);
  return status;
}

cay_status ws_folder_get(ws_store *s, const digest *name, ws_sink_fn *sink, void *ctx, cay_error *err) {
  ws_folder *f = (ws_folder *)s;
  uint8_t *data = NULL;
  size_t len = 0;
  S_TRY(content_find(f, name, &data, &len, err));
  if (data == NULL) return ws_file_get(f, name, sink, ctx, err);
  digest have = digest_of(data, len);
  char hex[DIGEST_HEX];
  digest_hex(name, hex);
  cay_status status = digest_equal(&have, name) ? sink(ctx, (cay_slice){ data, len }, err)
                                                : err_set(err, CAY_CORRUPT, "the content %s is damaged", hex);
  mem_free(data);
  return status;
}

static cay_status folder_get(ws_store *s, const digest *name, ws_sink_fn *sink, void *ctx, cay_error *err) {
  ws_folder *f = (ws_folder *)s;
  pthread_mutex_lock(&f->mu);
  cay_status status = ws_folder_get(s, name, sink, ctx, err);
  pthread_mutex_unlock(&f->mu);
  return status;
}

/* ---- records ---- */

static cay_status tree_put(ws_folder *f, const digest *tree, const digest *contents, size_t count,
                           int64_t *id, cay_error *err) {
  S_TRY(ws_sql_number(f, id, 0, err, "SELECT id FROM trees WHERE digest = ?", "d", tree));
  if (*id != 0) return CAY_OK;
  S_TRY(ws_sql(f, NULL, NULL, err, "INSERT INTO trees (digest) VALUES (?)", "d", tree));
  *id = sqlite3_last_insert_rowid(f->db);
  for (size_t i = 0; i < count; i++)
    S_TRY(ws_sql(f, NULL, NULL, err,
                 "INSERT OR IGNORE INTO refs (tree, content) SELECT ?, id FROM contents WHERE digest = ?",
                 "id", *id, &contents[i]));
  return CAY_OK;
}

static cay_status record_insert(ws_folder *f, ws_table table, const ws_record *r, int64_t tree,
                                cay_error *err) {
  char sql[200];
  (void)snprintf(
      sql, sizeof sql,
      "INSERT INTO %s (id, handle, tree, files, len, created, config) VALUES (?, ?, ?, ?, ?, ?, ?)",
      tables[table]);
  return ws_sql(f, NULL, NULL, err, sql, "ttiiiit", r->id, r->handle, tree, (int64_t)r->files,
                (int64_t)r->len, r->created_ns, r->config);
}

static cay_status folder_commit(ws_store *s, ws_table table, const ws_record *record, const digest *contents,
                                size_t count, cay_error *err) {
  ws_folder *f = (ws_folder *)s;
  int64_t tree;
  bool replaced = false;
  S_TRY(tree_put(f, &record->tree, contents, count, &tree, err));
  /* The new record first, so that contents of both records are not removed in between. */
  if (table == WS_SESSIONS) {
    S_TRY(ws_sql(f, NULL, NULL, err, "UPDATE sessions SET id = '' WHERE id = ?", "t", record->id));
    S_TRY(record_insert(f, table, record, tree, err));
    S_TRY(ws_folder_drop(f, table, "", &replaced, err));
  } else {
    S_TRY(record_insert(f, table, record, tree, err));
  }
  S_TRY(ws_sql_run(f, "COMMIT", err));
  if (replaced) ws_folder_sweep(f);
  pthread_mutex_unlock(&f->mu);
  return CAY_OK;
}

static char *column_text(sqlite3_stmt *row, int column) {
  const char *text = (const char *)sqlite3_column_text(row, column);
  return mem_strdup(text != NULL ? text : "");
}

static cay_status record_read(sqlite3_stmt *row, ws_record *out, cay_error *err) {
  ws_record r = { .files = (uint64_t)sqlite3_column_int64(row, 3),
                  .len = (uint64_t)sqlite3_column_int64(row, 4),
                  .created_ns = sqlite3_column_int64(row, 5) };
  (void)snprintf(r.id, sizeof r.id, "%s", (const char *)sqlite3_column_text(row, 0));
  (void)snprintf(r.handle, sizeof r.handle, "%s", (const char *)sqlite3_column_text(row, 1));
  if (sqlite3_column_bytes(row, 2) != sizeof r.tree.bytes)
    return err_set(err, CAY_CORRUPT, "a record without a tree");
  memcpy(r.tree.bytes, sqlite3_column_blob(row, 2), sizeof r.tree.bytes);
  if ((r.config = column_text(row, 6)) == NULL) return err_no_memory(err);
  *out = r;
  return CAY_OK;
}

#define RECORD_COLUMNS "r.id, r.handle, t.digest, r.files, r.len, r.created, r.config"

static cay_status folder_find(ws_store *s, ws_table table, const char *id, ws_record *out, cay_error *err) {
  ws_folder *f = (ws_folder *)s;
  sqlite3_stmt *row = NULL;
  bool found = false;
  char sql[200];
  (void)snprintf(sql, sizeof sql,
                 "SELECT " RECORD_COLUMNS " FROM %s r JOIN trees t ON t.id = r.tree WHERE r.id = ?",
                 tables[table]);
  pthread_mutex_lock(&f->mu);
  cay_status status = ws_sql(f, &row, &found, err, sql, "t", id);
  if (status == CAY_OK)
    status = found ? record_read(row, out, err)
                   : err_set(err, CAY_NOT_FOUND, "%s is not in the store", TEXT_NAME(id));
  if (found) (void)sqlite3_finalize(row);
  pthread_mutex_unlock(&f->mu);
  return status;
}

static cay_status folder_each(ws_store *s, ws_table table, ws_record_fn *each, void *ctx, cay_error *err) {
  ws_folder *f = (ws_folder *)s;
  sqlite3_stmt *row = NULL;
  char sql[200];
  (void)snprintf(sql, sizeof sql,
                 "SELECT " RECORD_COLUMNS
                 " FROM %s r JOIN trees t ON t.id = r.tree ORDER BY r.created, r.seq",
                 tables[table]);
  pthread_mutex_lock(&f->mu);
  int code = sqlite3_prepare_v2(f->db, sql, -1, &row, NULL);
  cay_status status = CAY_OK;
  while (code == SQLITE_OK && status == CAY_OK && sqlite3_step(row) == SQLITE_ROW) {
    OWNED(ws_record_free) ws_record record = { 0 };
    status = record_read(row, &record, err);
    if (status == CAY_OK && !each(ctx, &record)) break;
  }
  if (status == CAY_OK) status = ws_sql_error(f->db, code, err);
  (void)sqlite3_finalize(row);
  pthread_mutex_unlock(&f->mu);
  return status;
}

/* ---- removing ---- */

static cay_status tree_drop(ws_folder *f, int64_t tree, cay_error *err) {
  int64_t users;
  S_TRY(ws_sql_number(
      f, &users, 0, err,
      "SELECT (SELECT count(*) FROM snapshots WHERE tree = ?1) + (SELECT count(*) FROM sessions WHERE tree = ?1)",
      "i", tree));
  if (users > 0) return CAY_OK;
#define ONLY_HERE                                                                                            \
  "id IN (SELECT content FROM refs WHERE tree = ?1) AND NOT EXISTS"                                          \
  " (SELECT 1 FROM refs r WHERE r.content = contents.id AND r.tree <> ?1)"
  S_TRY(ws_sql(f, NULL, NULL, err,
               "INSERT OR IGNORE INTO dead SELECT digest FROM contents WHERE data IS NULL AND " ONLY_HERE,
               "i", tree));
  S_TRY(ws_sql(f, NULL, NULL, err, "DELETE FROM contents WHERE " ONLY_HERE, "i", tree));
#undef ONLY_HERE
  S_TRY(ws_sql(f, NULL, NULL, err, "DELETE FROM refs WHERE tree = ?", "i", tree));
  return ws_sql(f, NULL, NULL, err, "DELETE FROM trees WHERE id = ?", "i", tree);
}

cay_status ws_folder_drop(ws_folder *f, ws_table table, const char *id, bool *found, cay_error *err) {
  char sql[100];
  int64_t tree;
  (void)snprintf(sql, sizeof sql, "SELECT tree FROM %s WHERE id = ?", tables[table]);
  S_TRY(ws_sql_number(f, &tree, 0, err, sql, "t", id));
  *found = tree != 0;
  if (tree == 0) return CAY_OK;
  (void)snprintf(sql, sizeof sql, "DELETE FROM %s WHERE id = ?", tables[table]);
  S_TRY(ws_sql(f, NULL, NULL, err, sql, "t", id));
  return tree_drop(f, tree, err);
}

static cay_status sweep_one(ws_folder *f, bool *more) {
  sqlite3_stmt *row = NULL;
  digest name;
  int64_t used = 0;
  S_TRY(ws_sql(f, &row, more, NULL, "SELECT digest FROM dead LIMIT 1", ""));
  if (!*more) return CAY_OK;
  bool whole = sqlite3_column_bytes(row, 0) == sizeof name.bytes;
  if (whole) memcpy(name.bytes, sqlite3_column_blob(row, 0), sizeof name.bytes);
  (void)sqlite3_finalize(row);
  if (!whole) return CAY_CORRUPT;
  S_TRY(ws_sql_number(f, &used, 0, NULL, "SELECT count(*) FROM contents WHERE digest = ?", "d", &name));
  if (used == 0) ws_file_remove(f, &name);
  return ws_sql(f, NULL, NULL, NULL, "DELETE FROM dead WHERE digest = ?", "d", &name);
}

void ws_folder_sweep(ws_folder *f) {
  bool more = true;
  if (ws_sql_run(f, "BEGIN IMMEDIATE", NULL) != CAY_OK) return;
  cay_status status = CAY_OK;
  while (status == CAY_OK && more) status = sweep_one(f, &more);
  IGNORED(folder_end(f, status, NULL)); /* the rows stay, and the next removal tries again */
}

static cay_status folder_remove(ws_store *s, ws_table table, const char *id, cay_error *err) {
  ws_folder *f = (ws_folder *)s;
  bool found = false;
  S_TRY(folder_begin(s, err));
  cay_status status = ws_folder_drop(f, table, id, &found, err);
  if (status == CAY_OK && !found)
    status = err_set(err, CAY_NOT_FOUND, "%s is not in the store", TEXT_NAME(id));
  status = folder_end(f, status, err);
  if (status == CAY_OK) ws_folder_sweep(f);
  pthread_mutex_unlock(&f->mu);
  return status;
}

/* ---- claims ---- */

static bool handle_is_plain(const char *handle) {
  size_t len = strlen(handle);
  return len > 0 && len < CAY_WS_ID_MAX && strspn(handle, "abcdefghijklmnopqrstuvwxyz0123456789-") == len;
}

/* Locks the file of a handle. -1: see errno, EWOULDBLOCK if another holder has it. The last holder may remove the file between
 * openat and flock: a lock on a removed file excludes no other holder, and is taken again on the new one. */
static int claim_open(ws_folder *f, const char *path) {
  for (;;) {
    struct stat st;
    int fd = openat(f->dir, path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return -1;
    int failed = flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
    if (failed == 0 && (fstat(fd, &st) != 0 || st.st_nlink != 0)) return fd;
    (void)close(fd);
    errno = failed;
    if (failed != 0) return -1;
  }
}

static void folder_release(ws_store *s, ws_claim *claim, bool gone) {
  ws_folder *f = (ws_folder *)s;
  char path[CAY_WS_ID_MAX + 8];
  (void)snprintf(path, sizeof path, "locks/%s", claim->handle);
  if (gone) (void)unlinkat(f->dir, path, 0);
  (void)close(claim->fd);
  mem_free(claim);
}

static cay_status folder_claim(ws_store *s, const char *handle, bool fresh, ws_claim **out, cay_error *err) {
  ws_folder *f = (ws_folder *)s;
  OWNED(ws_record_free) ws_record record = { 0 };
  char path[CAY_WS_ID_MAX + 8];
  if (!handle_is_plain(handle)) return err_set(err, CAY_NOT_FOUND, "no session %s", TEXT_NAME(handle));
  if (!fresh) S_TRY(folder_find(s, WS_SESSIONS, handle, &record, err));
  ws_claim *claim = mem_zalloc(sizeof *claim);
  if (claim == NULL) return err_no_memory(err);
  (void)snprintf(path, sizeof path, "locks/%s", handle);
  (void)snprintf(claim->handle, sizeof claim->handle, "%s", handle);
  claim->fd = claim_open(f, path);
  if (claim->fd < 0) {
    cay_status status =
        errno == EWOULDBLOCK
            ? err_set(err, CAY_BUSY, "the session %s is running in another process or client", handle)
            : err_errno(err, errno, "cannot lock %s", path);
    mem_free(claim);
    return status;
  }
  ws_record_free(&record);
  cay_status status =
      fresh ? CAY_OK : folder_find(s, WS_SESSIONS, handle, &record, err); /* it may have been stopped */
  if (status == CAY_OK)
    *out = claim;
  else
    folder_release(s, claim, status == CAY_NOT_FOUND);
  return status;
}

/* ---- opening ---- */

static cay_status folder_fsck(ws_store *s, bool repair, cay_ws_fsck_fn *each, void *ctx, size_t *problems,
                              cay_error *err) {
  ws_folder *f = (ws_folder *)s;
  S_TRY(folder_begin(s, err));
  cay_status status = ws_folder_fsck(s, repair, each, ctx, problems, err);
  status = folder_end(f, status, err);
  if (status == CAY_OK) ws_folder_sweep(f);
  pthread_mutex_unlock(&f->mu);
  return status;
}

static void folder_free(ws_store *s) {
  ws_folder *f = (ws_folder *)s;
  (void)sqlite3_close(f->db);
  if (f->dir >= 0) (void)close(f->dir);
  pthread_mutex_destroy(&f->mu);
  mem_free(f);
}

static const ws_store_ops folder_ops = {
  .begin = folder_begin,
  .put = folder_put,
  .commit = folder_commit,
  .rollback = folder_rollback,
  .find = folder_find,
  .remove = folder_remove,
  .each = folder_each,
  .get = folder_get,
  .claim = folder_claim,
  .release = folder_release,
  .fsck = folder_fsck,
  .free = folder_free,
};

static cay_status folder_set_up(ws_folder *f, const char *path, cay_error *err) {
  size_t len = strlen(path) + sizeof "/cay.db";
  S_TRY(ws_file_dirs(f, path, err));
  char *name = mem_alloc(len);
  if (name == NULL) return err_no_memory(err);
  (void)snprintf(name, len, "%s/cay.db", path);
  cay_status status = ws_sql_open(f, name, err);
  mem_free(name);
  if (status != CAY_OK) return status;
  return fsync(f->dir) == 0 ? CAY_OK : err_errno(err, errno, "cannot sync the folder");
}

cay_status ws_folder_open(const char *path, ws_store **out, cay_error *err) {
  ws_folder *f = mem_zalloc(sizeof *f);
  if (f == NULL) return err_no_memory(err);
  f->base.ops = &folder_ops;
  f->dir = -1;
  pthread_mutex_init(&f->mu, NULL);
  cay_status status = folder_set_up(f, path, err);
  if (status == CAY_OK)
    *out = &f->base;
  else
    folder_free(&f->base);
  return status;
}
