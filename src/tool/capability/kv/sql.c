/* sql.c - the lock, the transaction and the prepared statements of a store (sql.h). */
#include "tool/capability/kv/sql.h"

#include "base/alloc.h"
#include "base/error.h"

cay_status sql_error(sqlite3 *db, int code, cay_error *err) {
  switch (code & 0xff) {
  case SQLITE_OK:
  case SQLITE_ROW:
  case SQLITE_DONE: return CAY_OK;
  case SQLITE_NOMEM: return err_no_memory(err);
  case SQLITE_BUSY:
  case SQLITE_LOCKED: return err_set(err, CAY_BUSY, "another process is writing to the store");
  case SQLITE_FULL: return err_set(err, CAY_LIMIT, "the store is full");
  case SQLITE_CORRUPT: return err_set(err, CAY_CORRUPT, "the store is damaged");
  case SQLITE_NOTADB: return err_set(err, CAY_CORRUPT, "not a SQLite file");
  case SQLITE_IOERR:
  case SQLITE_CANTOPEN:
  case SQLITE_READONLY:
  case SQLITE_PERM: {
    int why = db != NULL ? sqlite3_system_errno(db) : 0;
    if (why != 0) return err_errno(err, why, "%s", sqlite3_errstr(code));
    return err_set(err, CAY_IO, "%s", sqlite3_errstr(code));
  }
  default:
    return err_set(err, CAY_INTERNAL, "%.160s", db != NULL ? sqlite3_errmsg(db) : sqlite3_errstr(code));
  }
}

static const char *sql_text_of(enum sql_name name) {
  static const char *const texts[] = {
#define SQL(name, text) text,
#include "tool/capability/kv/statements.def"
#undef SQL
  };
  return texts[name];
}

/* ---- the lock and the transaction ---- */

void sql_lock(tool_store *store) {
  (void)pthread_mutex_lock(&store->mu);
  store->used = 0;
}

static void rest(tool_store *store) {
  for (; store->used != 0; store->used &= store->used - 1)
    (void)sqlite3_reset(
        store->statements[__builtin_ctzll(store->used)]); /* its failure was seen by sql_step */
}

void sql_unlock(tool_store *store) {
  rest(store);
  /* A statement that cannot be prepared for want of memory must not keep us from this. */
  if (sqlite3_get_autocommit(store->db) == 0) {
    sqlite3_stmt *back = store->statements[SQL_ROLLBACK];
    (void)sqlite3_step(back);
    (void)sqlite3_reset(back);
  }
  (void)pthread_mutex_unlock(&store->mu);
}

cay_status sql_begin(tool_store *store, cay_error *err) {
  sqlite3_stmt *back; /* the way back is made ready first */
  S_TRY(sql_use(store, SQL_ROLLBACK, NULL, 0, &back, err));
  return sql_run(store, SQL_BEGIN, NULL, 0, NULL, err);
}

cay_status sql_commit(tool_store *store, cay_error *err) {
  rest(store);
  if (mem_fault_here()) return err_set(err, CAY_IO, "the change could not be written");
  return sql_run(store, SQL_COMMIT, NULL, 0, NULL, err);
}

/* ---- statements ---- */

static int sql_bind(sqlite3_stmt *statement, int at, const sql_value *value) {
  if (!value->is_text) return sqlite3_bind_int64(statement, at, value->number);
  return sqlite3_bind_text(statement, at, value->text, -1, SQLITE_STATIC);
}

cay_status sql_use(tool_store *store, enum sql_name name, const sql_value *values, size_t count,
                   sqlite3_stmt **out, cay_error *err) {
  sqlite3_stmt **kept = &store->statements[name];
  int code = SQLITE_OK;
  if (*kept == NULL)
    code = sqlite3_prepare_v3(store->db, sql_text_of(name), -1, SQLITE_PREPARE_PERSISTENT, kept, NULL);
  store->used |= UINT64_C(1) << name;
  for (size_t i = 0; code == SQLITE_OK && i < count; i++) code = sql_bind(*kept, (int)i + 1, &values[i]);
  if (code == SQLITE_OK) *out = *kept;
  return sql_error(store->db, code, err);
}

cay_status sql_step(tool_store *store, sqlite3_stmt *statement, bool *row, cay_error *err) {
  int code = sqlite3_step(statement);
  *row = code == SQLITE_ROW;
  if (code == SQLITE_ROW) return CAY_OK;
  cay_status status = sql_error(store->db, code, err); /* before the reset, which may change the sentence */
  (void)sqlite3_reset(statement);
  return status;
}

cay_status sql_run(tool_store *store, enum sql_name name, const sql_value *values, size_t count,
                   int64_t *changed, cay_error *err) {
  sqlite3_stmt *statement;
  S_TRY(sql_use(store, name, values, count, &statement, err));
  for (bool row = true; row;) S_TRY(sql_step(store, statement, &row, err));
  if (changed != NULL) *changed = sqlite3_changes64(store->db);
  return CAY_OK;
}
