/* sql.h - the inside of a store: its connection, its statements, its one transaction.
 *
 * sql_lock first, sql_unlock last; between them one transaction at most. A statement is prepared when it is
 * first used and kept. */
#pragma once

#include "tool/capability/kv/store.h"

#include <pthread.h>
#include <sqlite3.h>

enum sql_name {
#define SQL(name, text) SQL_##name,
#include "tool/capability/kv/statements.def"
#undef SQL
  SQL_COUNT
};

/* What counts against the limit of rows. */
enum sql_family {
  SQL_FAMILY_TODO,
  SQL_FAMILY_TASK,
  SQL_FAMILY_WAKEUP,
  SQL_FAMILY_REMINDER,
  SQL_FAMILY_PLAN,
  SQL_FAMILY_COUNT
};

/* The user of the last insertion, with an upper bound of his rows while no other process wrote. */
typedef struct sql_room {
  char user[136]; /* "": none */
  int64_t at_most, version;
} sql_room;

struct tool_store {
  pthread_mutex_t mu;
  sqlite3 *db;
  uint32_t rows_max;
  sql_room rooms[SQL_FAMILY_COUNT];
  uint64_t used; /* the statements of this sql_lock, as bits */
  sqlite3_stmt *statements[SQL_COUNT];
};
_Static_assert(SQL_COUNT <= 64, "tool_store.used has a bit for each");

typedef struct sql_value {
  bool is_text;
  int64_t number;
  const char *text; /* NULL: SQL's NULL; borrowed until sql_unlock */
} sql_value;

static inline sql_value sql_text(const char *text) { return (sql_value){ .is_text = true, .text = text }; }
static inline sql_value sql_int(int64_t number) { return (sql_value){ .number = number }; }

/* What SQLite says as a status, with its sentence. */
cay_status sql_error(sqlite3 *db, int code, cay_error *err);

/* SQLite itself, once: before anything is opened. */
cay_status sql_start(cay_error *err) CHECKED;

void sql_lock(tool_store *store);
void sql_unlock(tool_store *store); /* an open transaction is rolled back */

cay_status sql_begin(tool_store *store, cay_error *err) CHECKED; /* as the writer */
cay_status sql_commit(tool_store *store, cay_error *err) CHECKED;

/* The statement, ready to step, with ?1 and so on bound to the values: SQL_VALUES(sql_int(1), sql_text("a")). */
cay_status sql_use(tool_store *store, enum sql_name name, const sql_value *values, size_t count,
                   sqlite3_stmt **out, cay_error *err) CHECKED;
#define SQL_VALUES(...)                                                                                      \
  (const sql_value[]){ __VA_ARGS__ }, sizeof((const sql_value[]){ __VA_ARGS__ }) / sizeof(sql_value)

/* One row further: CAY_OK with *row, or the failure. After the last row the statement is at rest. */
cay_status sql_step(tool_store *store, sqlite3_stmt *statement, bool *row, cay_error *err) CHECKED;

/* Uses a statement without rows to its end; *changed (may be NULL): how many rows it touched. */
cay_status sql_run(tool_store *store, enum sql_name name, const sql_value *values, size_t count,
                   int64_t *changed, cay_error *err) CHECKED;
