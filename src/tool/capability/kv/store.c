/* store.c - the SQLite file of a store: its allocator, identity, migrations and opening (store.h). */
#include "tool/capability/kv/store.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/sqlite_file.h"
#include "tool/capability/kv/sql.h"

#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

enum { APPLICATION_ID = 0x6361796b, CHECKED_WHOLE = 16 << 20, TEXT_MAX = 1 << 20 }; /* "cayk" */

/* ---- SQLite itself: this library's own copy, whose memory comes from base/alloc.h ---- */

enum { HEAD = 16 }; /* before each block stands its length; 16 keeps its alignment */

static void *block(void *start, int len) {
  if (start == NULL) return NULL;
  *(int *)start = len;
  return (char *)start + HEAD;
}

static void *sqlite_alloc(int len) { return block(mem_alloc((size_t)len + HEAD), len); }
static void sqlite_release(void *at) { mem_free((char *)at - HEAD); }
static void *sqlite_grow(void *at, int len) {
  return block(mem_realloc((char *)at - HEAD, (size_t)len + HEAD), len);
}
static int sqlite_len(void *at) { return at != NULL ? *(int *)(void *)((char *)at - HEAD) : 0; }
static int sqlite_round(int len) { return (len + 7) & ~7; }
static int sqlite_start(void *ctx) { return (void)ctx, SQLITE_OK; }
static void sqlite_stop(void *ctx) { (void)ctx; }

static int started;

static void start_once(void) {
  static const sqlite3_mem_methods memory = { sqlite_alloc, sqlite_release, sqlite_grow, sqlite_len,
                                              sqlite_round, sqlite_start,   sqlite_stop, NULL };
  (void)sqlite3_config(SQLITE_CONFIG_MALLOC, &memory);
  (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); /* a lock for every allocation of the process */
  (void)sqlite3_config(SQLITE_CONFIG_URI, 0);
  started = sqlite3_initialize();
}

cay_status sql_start(cay_error *err) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)pthread_once(&once, start_once);
  return sql_error(NULL, started, err);
}

/* ---- what the file looks like, version by version; a version that was released never changes ---- */

static const char *const migrations[] = {
  "CREATE TABLE todos (id INTEGER PRIMARY KEY AUTOINCREMENT, user_id TEXT NOT NULL, title TEXT NOT NULL,"
  " notes TEXT, position INTEGER NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,"
  " completed_at INTEGER) STRICT;"
  "CREATE INDEX todos_by_user ON todos (user_id, position);"
  "CREATE TABLE jobs (id INTEGER PRIMARY KEY AUTOINCREMENT, kind INTEGER NOT NULL CHECK (kind IN (1, 2)), user_id TEXT NOT NULL,"
  " name TEXT NOT NULL, prompt TEXT NOT NULL, run_at INTEGER NOT NULL CHECK (run_at >= 0),"
  " interval_minutes INTEGER CHECK (interval_minutes > 0),"
  " enabled INTEGER NOT NULL DEFAULT 1, next_run_at INTEGER, last_run_at INTEGER,"
  " held_until INTEGER NOT NULL DEFAULT 0, claim INTEGER NOT NULL DEFAULT 0,"
  " created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL) STRICT;"
  "CREATE INDEX jobs_by_user ON jobs (kind, user_id);"
  "CREATE INDEX jobs_due ON jobs (next_run_at) WHERE enabled = 1;"
  "CREATE INDEX jobs_held ON jobs (held_until) WHERE held_until > 0;"
  "CREATE TABLE reminders (id INTEGER PRIMARY KEY AUTOINCREMENT, user_id TEXT NOT NULL, title TEXT NOT NULL,"
  " due_at INTEGER NOT NULL, completed_at INTEGER, delivered_at INTEGER,"
  " held_until INTEGER NOT NULL DEFAULT 0, claim INTEGER NOT NULL DEFAULT 0,"
  " created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL) STRICT;"
  "CREATE INDEX reminders_by_user ON reminders (user_id, due_at);"
  "CREATE INDEX reminders_due ON reminders (due_at) WHERE completed_at IS NULL AND delivered_at IS NULL;"
  "CREATE INDEX reminders_held ON reminders (held_until) WHERE held_until > 0;"
  "CREATE TABLE plans (id INTEGER PRIMARY KEY AUTOINCREMENT, user_id TEXT NOT NULL, title TEXT NOT NULL,"
  " goal TEXT NOT NULL, steps TEXT NOT NULL, status TEXT NOT NULL,"
  " created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL) STRICT;"
  "CREATE INDEX plans_by_user ON plans (user_id);"
  "PRAGMA application_id = 0x6361796b;"
  "PRAGMA user_version = 1;",
};

/* ---- opening ---- */

static cay_status store_run(sqlite3 *db, const char *text, cay_error *err) {
  return sql_error(db, sqlite3_exec(db, text, NULL, NULL, NULL), err);
}

/* The first column of the first row as a number. */
static cay_status store_ask(sqlite3 *db, const char *text, int64_t *out, cay_error *err) {
  sqlite3_stmt *statement = NULL;
  int code = sqlite3_prepare_v2(db, text, -1, &statement, NULL);
  if (code == SQLITE_OK && (code = sqlite3_step(statement)) == SQLITE_ROW)
    *out = sqlite3_column_int64(statement, 0);
  cay_status status = sql_error(db, code, err);
  (void)sqlite3_finalize(statement);
  return status;
}

static cay_status kv_store_check_identity(sqlite3 *db, int64_t *version, cay_error *err) {
  int64_t id = 0, tables = 0;
  S_TRY(store_ask(db, "PRAGMA application_id", &id, err));
  S_TRY(store_ask(db, "PRAGMA user_version", version, err));
  S_TRY(store_ask(db, "SELECT count(*) FROM sqlite_schema", &tables, err));
  if (id == 0 && *version == 0 && tables == 0) return CAY_OK; /* empty */
  if (id != APPLICATION_ID) return err_set(err, CAY_INVALID, "a SQLite file of another program");
  if (*version < 1 || *version > (int64_t)COUNT_OF(migrations))
    return err_set(err, CAY_UNSUPPORTED, "made by another version (its format is %lld, ours %zu)",
                   (long long)*version, COUNT_OF(migrations));
  return CAY_OK;
}

static cay_status check_whole(sqlite3 *db, cay_error *err) {
  int64_t pages = 0, len = 0;
  S_TRY(store_ask(db, "PRAGMA page_count", &pages, err));
  S_TRY(store_ask(db, "PRAGMA page_size", &len, err));
  if (pages * len > CHECKED_WHOLE) return CAY_OK;
  sqlite3_stmt *statement = NULL;
  int code = sqlite3_prepare_v2(db, "PRAGMA quick_check(1)", -1, &statement, NULL);
  if (code == SQLITE_OK) code = sqlite3_step(statement);
  cay_status status = sql_error(db, code, err);
  const char *said = code == SQLITE_ROW ? (const char *)sqlite3_column_text(statement, 0) : NULL;
  if (status == CAY_OK && said == NULL) status = err_no_memory(err);
  if (status == CAY_OK && strcmp(said, "ok") != 0)
    status = err_set(err, CAY_CORRUPT, "damaged: %.150s", said);
  (void)sqlite3_finalize(statement);
  return status;
}

/* Two processes may come here at once: what there is to do is looked at again as the writer. */
static cay_status migrate(sqlite3 *db, cay_error *err) {
  int64_t version = 0;
  S_TRY(store_run(db, "BEGIN IMMEDIATE", err));
  cay_status status = kv_store_check_identity(db, &version, err);
  for (size_t i = (size_t)version; status == CAY_OK && i < COUNT_OF(migrations); i++)
    status = store_run(db, migrations[i], err);
  if (status == CAY_OK) status = store_run(db, "COMMIT", err);
  if (status != CAY_OK && sqlite3_get_autocommit(db) == 0)
    (void)sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL); /* closing would do the same */
  return status;
}

static cay_status store_set_up(sqlite3 *db, const tool_store_options *options, cay_error *err) {
  uint64_t len = options->size_max != 0 ? options->size_max : TOOL_STORE_SIZE_MAX;
  uint64_t pages = len / 4096 > INT32_MAX ? INT32_MAX : len / 4096;
  char text[200];
  (void)snprintf(text, sizeof text,
                 "PRAGMA journal_mode = WAL; PRAGMA synchronous = %s; PRAGMA max_page_count = %u;"
                 "PRAGMA journal_size_limit = 8388608;",
                 options->durability == TOOL_STORE_PROCESS ? "NORMAL" : "FULL", (unsigned)pages);
  return store_run(db, text, err);
}

/* One look at one moment: another process may be making the tables. */
static cay_status store_look(sqlite3 *db, int64_t *version, cay_error *err) {
  S_TRY(store_run(db, "BEGIN", err));
  cay_status status = kv_store_check_identity(db, version, err);
  (void)sqlite3_exec(db, "COMMIT", NULL, NULL, NULL); /* of a reader: nothing can be lost */
  return status;
}

static cay_status make_ready(sqlite3 *db, const tool_store_options *options, cay_error *err) {
  int64_t version = 0;
  S_TRY(store_look(db, &version, err)); /* before anything is written */
  if (version != 0) S_TRY(check_whole(db, err));
  S_TRY(store_set_up(db, options, err));
  return version == (int64_t)COUNT_OF(migrations) ? CAY_OK : migrate(db, err);
}

static cay_status kv_store_connect(const tool_store_options *options, sqlite3 **out, cay_error *err) {
  char path[PATH_MAX];
  S_TRY(sqlite_file_prepare(options->path, path, err));
  int code = sqlite3_open_v2(path, out, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
  if (code != SQLITE_OK) return sql_error(*out, code, err);
  uint32_t busy_ms = options->busy_ms != 0 ? options->busy_ms : TOOL_STORE_BUSY_MS;
  (void)sqlite3_extended_result_codes(*out, 1);
  (void)sqlite3_busy_timeout(*out, busy_ms < INT_MAX ? (int)busy_ms : INT_MAX);
  sqlite_file_harden(*out);
  (void)sqlite3_limit(*out, SQLITE_LIMIT_LENGTH, TEXT_MAX);
  /* SQLite does not wait by itself where two processes turn a file to WAL at once. */
  int64_t until = clock_mono_ns() + busy_ms * NS_PER_MS;
  for (;;) {
    cay_status status = make_ready(*out, options, err);
    if (status != CAY_BUSY || clock_mono_ns() >= until) return status;
    (void)poll(NULL, 0, 2);
  }
}

cay_status tool_store_open(const tool_store_options *options, tool_store **out, cay_error *err) {
  S_TRY(sql_start(err));
  if (options->path == NULL || options->path[0] == '\0') return err_set(err, CAY_INVALID, "store: no path");
  tool_store *store = mem_zalloc(sizeof *store);
  if (store == NULL) return err_no_memory(err);
  (void)pthread_mutex_init(&store->mu, NULL);
  store->rows_max = options->rows_max != 0 ? options->rows_max : TOOL_STORE_ROWS_MAX;
  cay_status status = kv_store_connect(options, &store->db, err);
  if (status != CAY_OK) {
    tool_store_free(store);
    return err_prefix(err, status, "store %.100s", options->path);
  }
  *out = store;
  return CAY_OK;
}

void tool_store_free(tool_store *store) {
  if (store == NULL) return;
  for (size_t i = 0; i < SQL_COUNT; i++) (void)sqlite3_finalize(store->statements[i]);
  (void)sqlite3_close(store->db);
  (void)pthread_mutex_destroy(&store->mu);
  mem_free(store);
}
