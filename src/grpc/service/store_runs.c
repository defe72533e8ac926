/* store_runs.c - executions in the store. */
#include "grpc/service/store.h"

#include "base/error.h"
#include "grpc/service/sql.h"

#include <stdio.h>
#include <string.h>

static cay_slice bytes_of(const buf *b) { return (cay_slice){ b->data, b->len }; }

/* ---- saving ---- */

static const char save_text[] =
    "INSERT INTO runs (id, state, created_at, started_at, finished_at, took_ms, preview, cached_name, out, err, error, entry)"
    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"
    " ON CONFLICT (id) DO UPDATE SET state = ?2, started_at = ?4, finished_at = ?5, took_ms = ?6, out = ?9, err = ?10,"
    " error = ?11, entry = ?12";

/* e->mu */
static void bind_run(sqlite3_stmt *of, const execution *e) {
  sql_bind_text(of, 1, e->id);
  (void)sqlite3_bind_int(of, 2, (int)e->state);
  (void)sqlite3_bind_int64(of, 3, e->created_ms);
  (void)sqlite3_bind_int64(of, 4, e->started_ms);
  (void)sqlite3_bind_int64(of, 5, e->finished_ms);
  (void)sqlite3_bind_int64(of, 6, e->took_ms);
  sql_bind_bytes(of, 7, bytes_of(&e->preview));
  sql_bind_text(of, 8, e->cached_name);
  sql_bind_bytes(of, 9, bytes_of(&e->out));
  sql_bind_bytes(of, 10, bytes_of(&e->err));
  sql_bind_bytes(of, 11, bytes_of(&e->error));
  sql_bind_bytes(of, 12, bytes_of(&e->entry));
}

/* By age, and the oldest beyond the number. */
static cay_status drop_old(store *s, cay_error *err) {
  static const char by_age[] = "DELETE FROM runs WHERE finished_at > 0 AND finished_at < ?1";
  static const char by_count[] =
      "DELETE FROM runs WHERE id IN (SELECT id FROM runs WHERE finished_at > 0 ORDER BY finished_at DESC, created_at DESC"
      " LIMIT -1 OFFSET ?1)";
  sqlite3_stmt *of;
  S_TRY(sql_use(s, by_age, &of, err));
  (void)sqlite3_bind_int64(of, 1, wall_ms() - s->options.runs_age_ms);
  S_TRY(sql_run(s, of, err));
  S_TRY(sql_use(s, by_count, &of, err));
  (void)sqlite3_bind_int64(of, 1, (int64_t)s->options.runs_max);
  return sql_run(s, of, err);
}

static cay_status run_save(store *s, execution *e, cay_error *err) {
  sqlite3_stmt *of;
  S_TRY(sql_use(s, save_text, &of, err));
  (void)pthread_mutex_lock(&e->mu);
  bind_run(of, e);
  bool final = execution_is_final(e->state);
  cay_status status = sql_run(s, of, err);
  (void)pthread_mutex_unlock(&e->mu);
  return status == CAY_OK && final ? drop_old(s, err) : status;
}

cay_status store_run_save(store *s, execution *e, cay_error *err) {
  (void)pthread_mutex_lock(&s->mu);
  cay_status status = run_save(s, e, err);
  (void)pthread_mutex_unlock(&s->mu);
  return status;
}

/* When this fails too, it is FAILED after the next start. */
void store_run_forget(store *s, execution *e) {
  sqlite3_stmt *of;
  (void)pthread_mutex_lock(&s->mu);
  if (sql_use(s, "DELETE FROM runs WHERE id = ?1", &of, NULL) == CAY_OK) {
    sql_bind_text(of, 1, e->id);
    IGNORED(sql_run(s, of, NULL));
  }
  (void)pthread_mutex_unlock(&s->mu);
}

/* ---- loading ---- */

/* Columns as save_text has them. */
static cay_status read_run(sqlite3_stmt *of, execution **out, cay_error *err) {
  execution_spec spec = { .client = "",
                          .cached_name = (const char *)sqlite3_column_text(of, 7),
                          .lasting = true,
                          .output_max = BUF_UNLIMITED };
  execution *e = NULL;
  S_TRY(execution_new(&spec, &e, err));
  (void)snprintf(e->id, sizeof e->id, "%s", (const char *)sqlite3_column_text(of, 0));
  e->state = (enum execution_state)sqlite3_column_int(of, 1);
  e->created_ms = sqlite3_column_int64(of, 2);
  e->started_ms = sqlite3_column_int64(of, 3);
  e->finished_ms = sqlite3_column_int64(of, 4);
  e->took_ms = sqlite3_column_int64(of, 5);
  buf *const bytes[] = { &e->preview, NULL, &e->out, &e->err, &e->error, &e->entry };
  cay_status status = CAY_OK;
  for (size_t i = 0; i < COUNT_OF(bytes) && status == CAY_OK; i++) {
    if (bytes[i] == NULL) continue;
    cay_slice column = sql_bytes(of, 6 + (int)i);
    status = buf_append(bytes[i], column.data, column.len);
  }
  if (status != CAY_OK) {
    execution_unref(e);
    return err_no_memory(err);
  }
  *out = e;
  return CAY_OK;
}

static cay_status run_load(store *s, cay_slice id, execution **out, cay_error *err) {
  static const char text[] =
      "SELECT id, state, created_at, started_at, finished_at, took_ms, preview, cached_name, out,"
      " err, error, entry FROM runs WHERE id = ?1 AND finished_at > 0";
  sqlite3_stmt *of;
  bool row = false;
  S_TRY(sql_use(s, text, &of, err));
  (void)sqlite3_bind_text64(of, 1, id.data, id.len, SQLITE_STATIC, SQLITE_UTF8);
  S_TRY(sql_step(s, of, &row, err));
  if (!row) return err_set(err, CAY_NOT_FOUND, "there is no such execution");
  cay_status status = read_run(of, out, err);
  (void)sqlite3_reset(of);
  return status;
}

cay_status store_run_load(store *s, cay_slice id, execution **out, cay_error *err) {
  (void)pthread_mutex_lock(&s->mu);
  cay_status status = run_load(s, id, out, err);
  (void)pthread_mutex_unlock(&s->mu);
  return status;
}

static cay_status run_each(store *s, int64_t since_ms, unsigned states, bool (*each)(void *ctx, execution *e),
                           void *ctx, cay_error *err) {
  static const char text[] =
      "SELECT id, state, created_at, started_at, finished_at, took_ms, preview, cached_name, x'',"
      " x'', x'', x'' FROM runs WHERE finished_at > 0 AND finished_at >= ?1"
      " ORDER BY created_at DESC";
  sqlite3_stmt *of;
  S_TRY(sql_use(s, text, &of, err));
  (void)sqlite3_bind_int64(of, 1, since_ms);
  cay_status status = CAY_OK;
  for (bool more = true; more && status == CAY_OK;) {
    bool row = false;
    S_TRY(sql_step(s, of, &row, err));
    if (!row) return CAY_OK;
    if ((states >> sqlite3_column_int(of, 1) & 1) == 0) continue;
    execution *e = NULL;
    status = read_run(of, &e, err);
    if (status == CAY_OK) more = each(ctx, e);
    execution_unref(e);
  }
  (void)sqlite3_reset(of);
  return status;
}

cay_status store_run_each(store *s, int64_t since_ms, unsigned states, bool (*each)(void *ctx, execution *e),
                          void *ctx, cay_error *err) {
  (void)pthread_mutex_lock(&s->mu);
  cay_status status = run_each(s, since_ms, states, each, ctx, err);
  (void)pthread_mutex_unlock(&s->mu);
  return status;
}
