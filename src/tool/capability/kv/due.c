/* due.c - delivery of due rows: each is claimed, delivered and moved to its next moment (store.h, due.h). */
#include "tool/capability/kv/due.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/random.h"
#include "tool/capability/kv/kv.h"

/* One thing that was claimed; the texts are its own, as the store is not locked while it is delivered. */
typedef struct claim {
  tool_event event;
  int64_t seconds; /* 0: once */
  int64_t token;   /* says that the claim is still ours */
  char *user, *name, *prompt;
} claim;

const char *tool_event_kind_name(enum tool_event_kind kind) {
  switch (kind) {
  case TOOL_EVENT_TASK: return "task";
  case TOOL_EVENT_WAKEUP: return "wakeup";
  case TOOL_EVENT_REMINDER: return "reminder";
  }
  return "?";
}

int64_t kv_moment(int64_t now, int64_t seconds) {
  int64_t moment;
  return __builtin_add_overflow(now, seconds, &moment) || moment > KV_NEVER ? KV_NEVER : moment;
}

int64_t kv_interval(int64_t minutes) {
  if (minutes <= 0) return 0;
  return (minutes < KV_INTERVAL_MAX ? minutes : KV_INTERVAL_MAX) * 60;
}

int64_t kv_next_moment(int64_t from, int64_t seconds, int64_t now, int64_t *passed) {
  if (from < 0) from = 0; /* somebody else wrote to the file */
  int64_t count = from > now ? 0 : (now - from) / seconds + 1;
  if (passed != NULL) *passed = count > 0 ? count - 1 : 0;
  return from > now ? from : kv_moment(from, count * seconds);
}

static void claim_drop(claim *c) {
  mem_free(c->user);
  mem_free(c->name);
  mem_free(c->prompt);
  *c = (claim){ 0 };
}

/* ---- with the store locked ---- */

static cay_status copy_column(sqlite3_stmt *row, int at, char **out, cay_error *err) {
  if (sqlite3_column_type(row, at) == SQLITE_NULL) return CAY_OK;
  const char *text = (const char *)sqlite3_column_text(row, at);
  *out = text != NULL ? mem_strdup(text) : NULL;
  return *out != NULL ? CAY_OK : err_no_memory(err);
}

static cay_status read_claim(sqlite3_stmt *row, int64_t now, claim *c, cay_error *err) {
  c->event.kind = (enum tool_event_kind)sqlite3_column_int(row, 0);
  c->event.id = sqlite3_column_int64(row, 1);
  c->event.due_at = sqlite3_column_int64(row, 5);
  c->seconds = kv_interval(sqlite3_column_int64(row, 6));
  S_TRY(copy_column(row, 2, &c->user, err));
  S_TRY(copy_column(row, 3, &c->name, err));
  S_TRY(copy_column(row, 4, &c->prompt, err));
  c->event.user = c->user;
  c->event.name = c->name;
  c->event.prompt = c->prompt;
  if (c->seconds > 0) (void)kv_next_moment(c->event.due_at, c->seconds, now, &c->event.missed);
  return CAY_OK;
}

static cay_status make_token(int64_t *out, cay_error *err) {
  uint64_t bits;
  S_TRY(random_bytes(&bits, sizeof bits, err));
  *out = (int64_t)(bits >> 1) | 1;
  return CAY_OK;
}

/* *found: *c is the earliest that is due, and claimed. */
static cay_status claim_first(tool_store *store, int64_t now, claim *c, bool *found, cay_error *err) {
  sqlite3_stmt *row;
  S_TRY(sql_use(store, SQL_DUE_FIRST, SQL_VALUES(sql_int(now), sql_int(now + TOOL_DUE_LEASE_S)), &row, err));
  S_TRY(sql_step(store, row, found, err));
  if (!*found) return CAY_OK;
  S_TRY(read_claim(row, now, c, err));
  (void)sqlite3_reset(row);
  S_TRY(make_token(&c->token, err));
  enum sql_name name = c->event.kind == TOOL_EVENT_REMINDER ? SQL_DUE_CLAIM_REMINDER : SQL_DUE_CLAIM_JOB;
  return sql_run(store, name,
                 SQL_VALUES(sql_int(c->event.id), sql_int(now + TOOL_DUE_LEASE_S), sql_int(c->token)), NULL,
                 err);
}

static cay_status hold(tool_store *store, const claim *c, int64_t now, cay_error *err) {
  enum sql_name name = c->event.kind == TOOL_EVENT_REMINDER ? SQL_DUE_HOLD_REMINDER : SQL_DUE_HOLD_JOB;
  return sql_run(store, name,
                 SQL_VALUES(sql_int(c->event.id), sql_int(c->token), sql_int(now + TOOL_DUE_RETRY_S)), NULL,
                 err);
}

/* A writer that changed the row meanwhile has dropped the claim, and then this changes nothing. */
static cay_status due_finish(tool_store *store, const claim *c, int64_t now, cay_error *err) {
  sql_value id = sql_int(c->event.id), token = sql_int(c->token), at = sql_int(now);
  if (c->event.kind == TOOL_EVENT_REMINDER)
    return sql_run(store, SQL_DUE_FINISH_REMINDER, SQL_VALUES(id, token, at), NULL, err);
  int64_t next = c->seconds > 0 ? kv_next_moment(c->event.due_at, c->seconds, now, NULL) : KV_NEVER;
  return sql_run(store, SQL_DUE_FINISH_JOB, SQL_VALUES(id, token, at, sql_int(next), sql_int(c->seconds > 0)),
                 NULL, err);
}

/* One transaction: `done` (kind 0: none) gets its mark, and *c (NULL: no more is wanted) is the next. */
static cay_status due_advance(tool_store *store, int64_t now, const claim *done, bool delivered, claim *c,
                              bool *found, cay_error *err) {
  *found = false;
  S_TRY(sql_begin(store, err));
  if (done->event.kind != 0)
    S_TRY(delivered ? due_finish(store, done, now, err) : hold(store, done, now, err));
  cay_status claimed = c != NULL ? claim_first(store, now, c, found, err) : CAY_OK;
  if (claimed == CAY_OK) return sql_commit(store, err);
  *found = false;
  IGNORED(sql_commit(store, NULL)); /* the mark, at least */
  return claimed;
}

static cay_status count_due(tool_store *store, int64_t now, int64_t *count, cay_error *err) {
  sqlite3_stmt *row;
  bool found;
  S_TRY(sql_use(store, SQL_DUE_COUNT, SQL_VALUES(sql_int(now), sql_int(now + TOOL_DUE_LEASE_S)), &row, err));
  S_TRY(sql_step(store, row, &found, err));
  *count = found ? sqlite3_column_int64(row, 0) : 0;
  return CAY_OK;
}

static cay_status smaller(tool_store *store, enum sql_name name, int64_t now, int64_t *moment,
                          cay_error *err) {
  sqlite3_stmt *statement;
  bool row;
  S_TRY(sql_use(store, name, SQL_VALUES(sql_int(now), sql_int(now + TOOL_DUE_LEASE_S)), &statement, err));
  S_TRY(sql_step(store, statement, &row, err));
  if (!row) return CAY_OK;
  int64_t found =
      sqlite3_column_type(statement, 0) != SQLITE_NULL ? sqlite3_column_int64(statement, 0) : KV_NEVER;
  (void)sqlite3_reset(statement);
  if (found < KV_NEVER && found < *moment) *moment = found;
  return CAY_OK;
}

static cay_status find_next(tool_store *store, int64_t now, int64_t *next, cay_error *err) {
  static const enum sql_name names[] = { SQL_DUE_NEXT_JOB, SQL_DUE_NEXT_REMINDER, SQL_DUE_HELD_JOB,
                                         SQL_DUE_HELD_REMINDER };
  int64_t moment = INT64_MAX;
  for (size_t i = 0; i < COUNT_OF(names); i++) S_TRY(smaller(store, names[i], now, &moment, err));
  *next = moment;
  return CAY_OK;
}

/* ---- for everybody ---- */

static cay_status check_now(int64_t now, cay_error *err) {
  if (now >= 0 && now < KV_NEVER) return CAY_OK;
  return err_set(err, CAY_INVALID, "the moment must be in seconds since 1970");
}

cay_status tool_store_next(tool_store *store, int64_t now, int64_t *next, cay_error *err) {
  S_TRY(check_now(now, err));
  sql_lock(store);
  cay_status status = find_next(store, now, next, err);
  sql_unlock(store);
  return status;
}

static cay_status count_locked(tool_store *store, int64_t now, int64_t *count, cay_error *err) {
  S_TRY(check_now(now, err));
  sql_lock(store);
  cay_status status = count_due(store, now, count, err);
  sql_unlock(store);
  return status;
}

/* No more than were due at first: a receiver may make new ones, for ever. When nothing is due, the call
 * waits for no writer. */
cay_status tool_store_due(tool_store *store, int64_t now, tool_due_fn *each, void *ctx, size_t *delivered,
                          cay_error *err) {
  claim done = { 0 }, next = { 0 };
  bool fine = false;
  int64_t left = 0;
  size_t count = 0;
  cay_status status = count_locked(store, now, &left, err);
  for (bool found = status == CAY_OK && left > 0; found;) {
    sql_lock(store);
    status = due_advance(store, now, &done, fine, left > 0 ? &next : NULL, &found, err);
    sql_unlock(store);
    claim_drop(&done);
    if (status != CAY_OK || !found) break;
    fine = each(ctx, &next.event);
    count += fine;
    left--;
    done = next;
    next = (claim){ 0 };
  }
  claim_drop(&next);
  if (delivered != NULL) *delivered = count;
  return status;
}
