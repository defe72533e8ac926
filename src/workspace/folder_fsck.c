/* folder_fsck.c - compares all that a store has with its digests. Runs as the writer, so nothing changes meanwhile. */
#include "base/alloc.h"
#include "base/error.h"
#include "workspace/folder.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct checker {
  ws_folder *f;
  bool repair;
  cay_ws_fsck_fn *each;
  void *ctx;
  size_t problems;
} checker;

static void checker_report(checker *c, const char *format, ...) PRINTF(2, 3);
static void checker_report(checker *c, const char *format, ...) {
  char line[400];
  va_list args;
  va_start(args, format);
  (void)vsnprintf(line, sizeof line, format, args);
  va_end(args);
  c->problems++;
  if (c->each != NULL) c->each(c->ctx, line);
}

static cay_status sink_nothing(void *ctx, cay_slice bytes, cay_error *err) {
  return (void)ctx, (void)bytes, (void)err, CAY_OK;
}

/* ---- contents ---- */

/* Contents that cannot be read are listed in a table of this connection. */
static cay_status check_contents(checker *c, cay_error *err) {
  sqlite3_stmt *row = NULL;
  S_TRY(ws_sql_run(
      c->f, "CREATE TEMP TABLE IF NOT EXISTS damaged (content INTEGER PRIMARY KEY); DELETE FROM damaged",
      err));
  int code = sqlite3_prepare_v2(c->f->db, "SELECT id, digest FROM contents", -1, &row, NULL);
  cay_status status = ws_sql_error(c->f->db, code, err);
  while (status == CAY_OK && sqlite3_step(row) == SQLITE_ROW) {
    digest name = { 0 };
    cay_error why;
    int64_t id = sqlite3_column_int64(row, 0);
    bool named = sqlite3_column_bytes(row, 1) == sizeof name.bytes;
    if (named) memcpy(name.bytes, sqlite3_column_blob(row, 1), sizeof name.bytes);
    cay_status one = named ? ws_folder_get(&c->f->base, &name, sink_nothing, NULL, &why)
                           : err_set(&why, CAY_CORRUPT, "a content without a digest");
    if (one == CAY_OK) continue;
    checker_report(c, "%s", why.message);
    status = ws_sql(c->f, NULL, NULL, err, "INSERT OR IGNORE INTO temp.damaged VALUES (?)", "i", id);
  }
  (void)sqlite3_finalize(row);
  return status;
}

/* ---- records ---- */

static cay_status check_records(checker *c, ws_table table, const char *name, cay_error *err) {
  char sql[400];
  (void)snprintf(
      sql, sizeof sql,
      "SELECT r.id FROM %s r LEFT JOIN trees t ON t.id = r.tree LEFT JOIN contents c ON c.digest = t.digest"
      " WHERE c.id IS NULL OR EXISTS (SELECT 1 FROM refs f LEFT JOIN contents d ON d.id = f.content"
      " LEFT JOIN temp.damaged x ON x.content = f.content"
      " WHERE f.tree = r.tree AND (d.id IS NULL OR x.content IS NOT NULL))",
      name);
  for (;;) {
    sqlite3_stmt *row = NULL;
    bool found = false;
    char id[CAY_WS_ID_MAX];
    if (!c->repair) break;
    S_TRY(ws_sql(c->f, &row, &found, err, sql, ""));
    if (!found) return CAY_OK;
    (void)snprintf(id, sizeof id, "%s", (const char *)sqlite3_column_text(row, 0));
    (void)sqlite3_finalize(row);
    checker_report(c, "%s %s has lost files; it is removed", table == WS_SNAPSHOTS ? "snapshot" : "session",
                   id);
    S_TRY(ws_folder_drop(c->f, table, id, &found, err));
  }
  sqlite3_stmt *row = NULL;
  cay_status status = ws_sql_error(c->f->db, sqlite3_prepare_v2(c->f->db, sql, -1, &row, NULL), err);
  while (status == CAY_OK && sqlite3_step(row) == SQLITE_ROW)
    checker_report(c, "%s %s has lost files", table == WS_SNAPSHOTS ? "snapshot" : "session",
                   (const char *)sqlite3_column_text(row, 0));
  (void)sqlite3_finalize(row);
  return status;
}

/* ---- files ---- */

static void check_file(void *ctx, const char *path, const digest *name) {
  checker *c = ctx;
  int64_t rows = 0;
  if (name != NULL &&
      ws_sql_number(c->f, &rows, 0, NULL,
                    "SELECT (SELECT count(*) FROM contents WHERE digest = ?1 AND data IS NULL) +"
                    " (SELECT count(*) FROM dead WHERE digest = ?1)",
                    "d", name) != CAY_OK)
    return;
  if (rows > 0) return;
  checker_report(c, "%s belongs to nothing%s", path, c->repair ? "; it is removed" : "");
  if (c->repair) (void)unlinkat(c->f->dir, path, 0);
}

static cay_status check_database(checker *c, cay_error *err) {
  sqlite3_stmt *row = NULL;
  bool found = false;
  S_TRY(ws_sql(c->f, &row, &found, err, "PRAGMA quick_check(1)", ""));
  const char *text = found ? (const char *)sqlite3_column_text(row, 0) : NULL;
  if (text == NULL || strcmp(text, "ok") != 0)
    checker_report(c, "cay.db: %.200s", text != NULL ? text : "no answer");
  if (found) (void)sqlite3_finalize(row);
  return CAY_OK;
}

cay_status ws_folder_fsck(ws_store *s, bool repair, cay_ws_fsck_fn *each, void *ctx, size_t *problems,
                          cay_error *err) {
  checker c = { (ws_folder *)s, repair, each, ctx, 0 };
  S_TRY(check_database(&c, err));
  S_TRY(check_contents(&c, err));
  S_TRY(check_records(&c, WS_SNAPSHOTS, "snapshots", err));
  S_TRY(check_records(&c, WS_SESSIONS, "sessions", err));
  S_TRY(ws_file_each(c.f, check_file, &c, err));
  *problems = c.problems;
  return CAY_OK;
}
