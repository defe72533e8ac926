/* sql.h - the inside of a store. */
#pragma once

#include "grpc/service/store.h"

#include <sqlite3.h>

enum { STORE_STATEMENTS = 24 };

struct store {
  pthread_mutex_t mu;
  sqlite3 *db;
  store_options options;
  char suffix[8];
  sqlite3_stmt *statements[STORE_STATEMENTS];
  const char *texts[STORE_STATEMENTS];
};

cay_status sql_error(store *s, int code, cay_error *err);

/* The statement of this text, prepared once; `text` is static. At rest and without bindings. */
cay_status sql_use(store *s, const char *text, sqlite3_stmt **out, cay_error *err) CHECKED;
void sql_bind_text(sqlite3_stmt *of, int at,
                   const char *text); /* NULL: SQL's NULL; borrowed until it is at rest */
void sql_bind_bytes(sqlite3_stmt *of, int at, cay_slice bytes);
/* One row further; at the end the statement is at rest. */
cay_status sql_step(store *s, sqlite3_stmt *of, bool *row, cay_error *err) CHECKED;
cay_status sql_run(store *s, sqlite3_stmt *of, cay_error *err) CHECKED; /* to its end */
cay_status sql_exec(store *s, const char *text, cay_error *err) CHECKED;
cay_slice sql_bytes(sqlite3_stmt *of, int column); /* until the next step */
