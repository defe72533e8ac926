/* folder_sql.c - the database of a store: its tables, statements and errors. */
#include "base/error.h"
#include "workspace/folder.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/file.h>

enum { APPLICATION_ID = 0x63617977, VERSION = 1, BUSY_MS = 60000 }; /* "cayw" */

static const char schema[] =
    "CREATE TABLE contents (id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, len INTEGER NOT NULL, data BLOB) STRICT;"
    "CREATE TABLE trees (id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE) STRICT;"
    "CREATE TABLE refs (tree INTEGER NOT NULL, content INTEGER NOT NULL, PRIMARY KEY (tree, content)) STRICT, WITHOUT ROWID;"
    "CREATE INDEX refs_by_content ON refs (content);"
    "CREATE TABLE snapshots (seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, handle TEXT NOT NULL,"
    " tree INTEGER NOT NULL, files INTEGER NOT NULL, len INTEGER NOT NULL, created INTEGER NOT NULL, config TEXT NOT NULL) STRICT;"
    "CREATE INDEX snapshots_by_tree ON snapshots (tree);"
    "CREATE TABLE sessions (seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, handle TEXT NOT NULL,"
    " tree INTEGER NOT NULL, files INTEGER NOT NULL, len INTEGER NOT NULL, created INTEGER NOT NULL, config TEXT NOT NULL) STRICT;"
    "CREATE INDEX sessions_by_tree ON sessions (tree);"
    "CREATE TABLE dead (digest BLOB PRIMARY KEY) STRICT, WITHOUT ROWID;"
    "PRAGMA application_id = 0x63617977;"
    "PRAGMA user_version = 1;";

cay_status ws_sql_error(sqlite3 *db, int code, cay_error *err) {
  switch (code & 0xff) {
  case SQLITE_OK:
  case SQLITE_ROW:
  case SQLITE_DONE: return CAY_OK;
  case SQLITE_NOMEM: return err_no_memory(err);
  case SQLITE_BUSY: return err_set(err, CAY_BUSY, "the store is in use by another process");
  case SQLITE_FULL: return err_errno(err, ENOSPC, "the store");
  case SQLITE_CORRUPT:
  case SQLITE_NOTADB: return err_set(err, CAY_CORRUPT, "cay.db: damaged, or no SQLite file");
  default: return err_set(err, CAY_IO, "cay.db: %s", db != NULL ? sqlite3_errmsg(db) : sqlite3_errstr(code));
  }
}

cay_status ws_sql_run(ws_folder *f, const char *sql, cay_error *err) {
  return ws_sql_error(f->db, sqlite3_exec(f->db, sql, NULL, NULL, NULL), err);
}

static int sql_bind(sqlite3_stmt *statement, const char *types, va_list args) {
  int code = SQLITE_OK;
  for (int i = 0; types[i] != '\0' && code == SQLITE_OK; i++) {
    if (types[i] == 'i')
      code = sqlite3_bind_int64(statement, i + 1, va_arg(args, int64_t));
    else if (types[i] == 't')
      code = sqlite3_bind_text(statement, i + 1, va_arg(args, const char *), -1, SQLITE_TRANSIENT);
    else
      code = sqlite3_bind_blob(statement, i + 1, va_arg(args, const digest *)->bytes, SHA256_DIGEST_SIZE,
                               SQLITE_TRANSIENT);
  }
  return code;
}

static int sql_step(ws_folder *f, sqlite3_stmt **out, const char *sql, const char *types, va_list args) {
  int code = sqlite3_prepare_v2(f->db, sql, -1, out, NULL);
  if (code == SQLITE_OK) code = sql_bind(*out, types, args);
  return code == SQLITE_OK ? sqlite3_step(*out) : code;
}

cay_status ws_sql(ws_folder *f, sqlite3_stmt **out, bool *row, cay_error *err, const char *sql,
                  const char *types, ...) {
  sqlite3_stmt *statement = NULL;
  va_list args;
  va_start(args, types);
  int code = sql_step(f, &statement, sql, types, args);
  va_end(args);
  cay_status status = ws_sql_error(f->db, code, err);
  if (row != NULL) *row = code == SQLITE_ROW;
  if (out != NULL && code == SQLITE_ROW)
    *out = statement;
  else
    (void)sqlite3_finalize(statement);
  return status;
}

cay_status ws_sql_number(ws_folder *f, int64_t *out, int64_t otherwise, cay_error *err, const char *sql,
                         const char *types, ...) {
  sqlite3_stmt *statement = NULL;
  va_list args;
  va_start(args, types);
  int code = sql_step(f, &statement, sql, types, args);
  va_end(args);
  *out = code == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : otherwise;
  cay_status status = ws_sql_error(f->db, code, err);
  (void)sqlite3_finalize(statement);
  return status;
}

static cay_status sql_check_identity(ws_folder *f, bool *empty, cay_error *err) {
  int64_t id, version, tables;
  S_TRY(ws_sql_number(f, &id, 0, err, "PRAGMA application_id", ""));
  S_TRY(ws_sql_number(f, &version, 0, err, "PRAGMA user_version", ""));
  S_TRY(ws_sql_number(f, &tables, 0, err, "SELECT count(*) FROM sqlite_schema", ""));
  *empty = id == 0 && version == 0 && tables == 0;
  if (*empty) return CAY_OK;
  if (id != APPLICATION_ID) return err_set(err, CAY_INVALID, "cay.db: a SQLite file of another program");
  if (version == VERSION) return CAY_OK;
  return err_set(err, CAY_UNSUPPORTED, "cay.db: made by another version (its format is %lld, ours %d)",
                 (long long)version, VERSION);
}

/* Two processes may come here at once: whether the file is empty is looked at again as the writer. */
static cay_status sql_make_schema(ws_folder *f, cay_error *err) {
  bool empty = false;
  S_TRY(sql_check_identity(f, &empty, err));
  if (!empty) return CAY_OK;
  S_TRY(ws_sql_run(f, "BEGIN IMMEDIATE", err));
  cay_status status = sql_check_identity(f, &empty, err);
  if (status == CAY_OK && empty) status = ws_sql_run(f, schema, err);
  if (status == CAY_OK) status = ws_sql_run(f, "COMMIT", err);
  if (status != CAY_OK) IGNORED(ws_sql_run(f, "ROLLBACK", NULL)); /* the reason is told */
  return status;
}

static cay_status sql_prepare(ws_folder *f, cay_error *err) {
  S_TRY(ws_sql_run(f,
                   "PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON; PRAGMA journal_mode=WAL;"
                   " PRAGMA synchronous=FULL;",
                   err));
  return sql_make_schema(f, err);
}

/* One process at a time: SQLite does not wait for another that is making the file one with a WAL. */
cay_status ws_sql_open(ws_folder *f, const char *path, cay_error *err) {
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
  S_TRY(ws_sql_error(f->db, sqlite3_open_v2(path, &f->db, flags, NULL), err));
  (void)sqlite3_busy_timeout(f->db, BUSY_MS);
  while (flock(f->dir, LOCK_EX) != 0)
    if (errno != EINTR) return err_errno(err, errno, "cannot lock the folder");
  cay_status status = sql_prepare(f, err);
  (void)flock(f->dir, LOCK_UN);
  return status;
}
