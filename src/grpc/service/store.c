/* store.c - the SQLite file of the server: schema, opening, prepared statements, and executions that a
 * crash left unfinished (store.h). */
#include "grpc/service/store.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/sqlite_file.h"
#include "grpc/service/sql.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { APPLICATION_ID = 0x63617967, VERSION = 1, BUSY_MS = 1000 }; /* "cayg" */

static const char schema[] =
    "CREATE TABLE cache (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, description TEXT NOT NULL,"
    " hash TEXT NOT NULL UNIQUE, code BLOB NOT NULL, created_at INTEGER NOT NULL) STRICT;"
    "CREATE TABLE runs (id TEXT PRIMARY KEY, state INTEGER NOT NULL, created_at INTEGER NOT NULL,"
    " started_at INTEGER NOT NULL, finished_at INTEGER NOT NULL, took_ms INTEGER NOT NULL, preview BLOB NOT NULL,"
    " cached_name TEXT, out BLOB NOT NULL, err BLOB NOT NULL, error BLOB NOT NULL, entry BLOB NOT NULL)"
    " STRICT, WITHOUT ROWID;"
    "CREATE INDEX runs_ended ON runs (finished_at, created_at) WHERE finished_at > 0;"
    "PRAGMA application_id = 0x63617967;"
    "PRAGMA user_version = 1;";

/* ---- statements ---- */

cay_status sql_error(store *s, int code, cay_error *err) {
  switch (code & 0xff) {
  case SQLITE_OK:
  case SQLITE_ROW:
  case SQLITE_DONE: return CAY_OK;
  case SQLITE_NOMEM: return err_no_memory(err);
  case SQLITE_BUSY:
  case SQLITE_LOCKED: return err_set(err, CAY_BUSY, "another server is using it");
  case SQLITE_FULL: return err_set(err, CAY_LIMIT, "the disk is full");
  case SQLITE_CORRUPT:
  case SQLITE_NOTADB: return err_set(err, CAY_CORRUPT, "not a SQLite file, or damaged");
  case SQLITE_IOERR:
  case SQLITE_CANTOPEN:
  case SQLITE_READONLY:
  case SQLITE_PERM: return err_set(err, CAY_IO, "%s", sqlite3_errstr(code));
  default: return err_set(err, CAY_INTERNAL, "%.160s", sqlite3_errmsg(s->db));
  }
}

cay_status sql_use(store *s, const char *text, sqlite3_stmt **out, cay_error *err) {
  size_t at = 0;
  while (at < STORE_STATEMENTS && s->texts[at] != NULL && s->texts[at] != text) at++;
  assert(at < STORE_STATEMENTS);
  if (s->texts[at] == NULL) {
    int code = sqlite3_prepare_v3(s->db, text, -1, SQLITE_PREPARE_PERSISTENT, &s->statements[at], NULL);
    if (code != SQLITE_OK) return sql_error(s, code, err);
    s->texts[at] = text;
  }
  *out = s->statements[at];
  (void)sqlite3_reset(*out);
  (void)sqlite3_clear_bindings(*out);
  return CAY_OK;
}

/* A failed binding is a NULL, which the columns refuse. */
void sql_bind_text(sqlite3_stmt *of, int at, const char *text) {
  (void)sqlite3_bind_text(of, at, text, -1, SQLITE_STATIC);
}

void sql_bind_bytes(sqlite3_stmt *of, int at, cay_slice bytes) {
  (void)sqlite3_bind_blob64(of, at, bytes.len != 0 ? bytes.data : "", bytes.len, SQLITE_STATIC);
}

cay_status sql_step(store *s, sqlite3_stmt *of, bool *row, cay_error *err) {
  int code = sqlite3_step(of);
  *row = code == SQLITE_ROW;
  if (*row) return CAY_OK;
  cay_status status = sql_error(s, code, err);
  (void)sqlite3_reset(of);
  return status;
}

cay_status sql_run(store *s, sqlite3_stmt *of, cay_error *err) {
  for (bool row = true; row;) S_TRY(sql_step(s, of, &row, err));
  return CAY_OK;
}

cay_status sql_exec(store *s, const char *text, cay_error *err) {
  return sql_error(s, sqlite3_exec(s->db, text, NULL, NULL, NULL), err);
}

cay_slice sql_bytes(sqlite3_stmt *of, int column) {
  const void *data = sqlite3_column_blob(of, column);
  return (cay_slice){ data, data != NULL ? (size_t)sqlite3_column_bytes(of, column) : 0 };
}

/* ---- opening ---- */

static cay_status service_store_ask(store *s, const char *text, int64_t *out, cay_error *err) {
  sqlite3_stmt *of = NULL;
  int code = sqlite3_prepare_v2(s->db, text, -1, &of, NULL);
  if (code == SQLITE_OK && (code = sqlite3_step(of)) == SQLITE_ROW) *out = sqlite3_column_int64(of, 0);
  cay_status status = sql_error(s, code, err);
  (void)sqlite3_finalize(of);
  return status;
}

static cay_status service_store_check_identity(store *s, bool *empty, cay_error *err) {
  int64_t id = 0, version = 0, tables = 0;
  S_TRY(service_store_ask(s, "PRAGMA application_id", &id, err));
  S_TRY(service_store_ask(s, "PRAGMA user_version", &version, err));
  S_TRY(service_store_ask(s, "SELECT count(*) FROM sqlite_schema", &tables, err));
  *empty = id == 0 && version == 0 && tables == 0;
  if (*empty) return CAY_OK;
  if (id != APPLICATION_ID) return err_set(err, CAY_INVALID, "a SQLite file of another program");
  if (version != VERSION)
    return err_set(err, CAY_UNSUPPORTED, "made by another version (its format is %lld, ours %d)",
                   (long long)version, VERSION);
  return CAY_OK;
}

static cay_status service_store_connect(store *s, cay_error *err) {
  char path[PATH_MAX] = ":memory:";
  if (s->options.path != NULL) S_TRY(sqlite_file_prepare(s->options.path, path, err));
  int code = sqlite3_open_v2(path, &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
  if (code != SQLITE_OK) return sql_error(s, code, err);
  (void)sqlite3_busy_timeout(s->db, BUSY_MS);
  sqlite_file_harden(s->db);
  /* Exclusive: a second server would take the executions of the first for those of one that has ended. */
  S_TRY(sql_exec(s, "PRAGMA locking_mode = EXCLUSIVE", err));
  bool empty = true;
  S_TRY(service_store_check_identity(s, &empty, err));
  S_TRY(sql_exec(s, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE", err));
  if (empty) S_TRY(sql_exec(s, schema, err));
  return sql_exec(s, "COMMIT", err);
}

static cay_status fail_unfinished(store *s, cay_error *err) {
  static const char text[] =
      "UPDATE runs SET state = 4, finished_at = ?1,"
      " error = CAST('the server ended before this execution did' AS BLOB) WHERE state < 3";
  sqlite3_stmt *of;
  S_TRY(sql_use(s, text, &of, err));
  (void)sqlite3_bind_int64(of, 1, wall_ms());
  return sql_run(s, of, err);
}

cay_status store_open(const store_options *options, store **out, cay_error *err) {
  store *s = mem_zalloc(sizeof *s);
  if (s == NULL) return err_no_memory(err);
  (void)pthread_mutex_init(&s->mu, NULL);
  s->options = *options;
  (void)snprintf(s->suffix, sizeof s->suffix, "%s", options->suffix);
  cay_status status = service_store_connect(s, err);
  if (status == CAY_OK) status = fail_unfinished(s, err);
  s->options.path = NULL;
  if (status != CAY_OK) {
    store_free(s);
    return err_prefix(err, status, "store %.100s", options->path != NULL ? options->path : "in memory");
  }
  *out = s;
  return CAY_OK;
}

void store_free(store *s) {
  if (s == NULL) return;
  for (size_t i = 0; i < STORE_STATEMENTS; i++) (void)sqlite3_finalize(s->statements[i]);
  (void)sqlite3_close(s->db);
  (void)pthread_mutex_destroy(&s->mu);
  mem_free(s);
}
