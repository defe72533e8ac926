/* kv.c - the common part of kv.sqlite.*: arguments, statements, limits on rows, rows as JSON (kv.h). */
#include "tool/capability/kv/kv.h"

#include "base/utf8.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void kv_invalid(kv_call *call, const char *format, ...) {
  if (!kv_fine(call)) return;
  call->end->code = TOOL_INVALID_ARGS;
  va_list args;
  va_start(args, format);
  (void)vsnprintf(call->end->why, sizeof call->end->why, format, args);
  va_end(args);
}

void kv_check_memory(kv_call *call, bool fine) {
  if (!fine && kv_fine(call)) tool_end_set(call->end, TOOL_INTERNAL, "out of memory");
}

static bool worked(kv_call *call, cay_status status, const cay_error *err) {
  if (status != CAY_OK) tool_end_set(call->end, TOOL_INTERNAL, "%.180s", err->message);
  return status == CAY_OK;
}

/* ---- arguments ---- */

static yyjson_val *argument(kv_call *call, yyjson_val *object, const char *name, enum kv_need need) {
  yyjson_val *value = yyjson_obj_get(object, name);
  if (value != NULL && !yyjson_is_null(value)) return value;
  if (need == KV_REQUIRED) kv_invalid(call, "%s is missing", name);
  return NULL;
}

static bool kv_is_blank(const char *text) { return text[strspn(text, " \t\r\n\v\f")] == '\0'; }

const char *kv_as_text(kv_call *call, yyjson_val *value, const char *name, size_t max) {
  if (!kv_fine(call)) return NULL;
  const char *text = yyjson_get_str(value);
  size_t len = yyjson_get_len(value);
  if (text != NULL && len <= max && strlen(text) == len && !kv_is_blank(text)) return text;
  kv_invalid(call, "%s must be a text of 1 to %zu bytes that is not blank and without NUL", name, max);
  return NULL;
}

const char *kv_text(kv_call *call, yyjson_val *object, const char *name, size_t max, enum kv_need need) {
  if (!kv_fine(call)) return NULL;
  yyjson_val *value = argument(call, object != NULL ? object : call->args, name, need);
  return value != NULL ? kv_as_text(call, value, name, max) : NULL;
}

bool kv_int(kv_call *call, const char *name, int64_t min, int64_t max, enum kv_need need, int64_t *out) {
  if (!kv_fine(call)) return false;
  yyjson_val *value = argument(call, call->args, name, need);
  if (value == NULL) return false;
  /* Above INT64_MAX the signed value would be another number. */
  bool fits = yyjson_is_sint(value) || (yyjson_is_uint(value) && yyjson_get_uint(value) <= INT64_MAX);
  int64_t number = fits ? yyjson_get_sint(value) : 0;
  if (!fits || number < min || number > max) {
    kv_invalid(call, "%s must be a whole number from %" PRId64 " to %" PRId64, name, min, max);
    return false;
  }
  *out = number;
  return true;
}

int64_t kv_id(kv_call *call) {
  int64_t id = 0;
  (void)kv_int(call, "id", 1, INT64_MAX, KV_REQUIRED, &id);
  return id;
}

int kv_choice(kv_call *call, const char *name, const char *const *choices, int by_default) {
  if (!kv_fine(call)) return by_default;
  yyjson_val *value = argument(call, call->args, name, KV_OPTIONAL);
  if (value == NULL) return by_default;
  char known[100] = "";
  for (int i = 0; choices[i] != NULL; i++) {
    if (yyjson_equals_str(value, choices[i])) return i;
    size_t len = strlen(known);
    (void)snprintf(known + len, sizeof known - len, "%s%s", i != 0 ? ", " : "", choices[i]);
  }
  kv_invalid(call, "%s must be one of %s", name, known);
  return by_default;
}

int64_t kv_limit(kv_call *call, int64_t by_default) {
  int64_t limit = by_default;
  (void)kv_int(call, "limit", 1, INT64_MAX, KV_OPTIONAL, &limit);
  return limit < KV_LIST_MAX ? limit : KV_LIST_MAX;
}

/* "12:345", as kv_add_rows writes it. */
kv_cursor kv_after(kv_call *call, kv_cursor start) {
  const char *text = kv_text(call, NULL, "cursor", 41, KV_OPTIONAL);
  kv_cursor cursor;
  int used = 0;
  if (text == NULL) return start;
  if (strspn(text, "0123456789:") == strlen(text) &&
      sscanf(text, "%18" SCNd64 ":%18" SCNd64 "%n", &cursor.key, &cursor.id, &used) == 2 &&
      (size_t)used == strlen(text))
    return cursor;
  kv_invalid(call, "cursor must be the next_cursor of an answer");
  return start;
}

/* ---- the store ---- */

static bool kv_enter(kv_call *call) {
  if (call->busy) return true;
  cay_error err = { 0 };
  sql_lock(call->store);
  call->busy = true;
  return call->mode == KV_READ || worked(call, sql_begin(call->store, &err), &err);
}

sqlite3_stmt *kv_use(kv_call *call, enum sql_name name, const sql_value *values, size_t count) {
  if (!kv_fine(call) || !kv_enter(call)) return NULL;
  cay_error err = { 0 };
  sqlite3_stmt *statement = NULL;
  (void)worked(call, sql_use(call->store, name, values, count, &statement, &err), &err);
  return statement;
}

bool kv_step(kv_call *call, sqlite3_stmt *statement) {
  if (!kv_fine(call) || statement == NULL) return false;
  cay_error err = { 0 };
  bool row = false;
  return worked(call, sql_step(call->store, statement, &row, &err), &err) && row;
}

int64_t kv_change(kv_call *call, enum sql_name name, const sql_value *values, size_t count) {
  if (!kv_fine(call) || !kv_enter(call)) return 0;
  cay_error err = { 0 };
  int64_t changed = 0;
  (void)worked(call, sql_run(call->store, name, values, count, &changed, &err), &err);
  return changed;
}

/* The first column of the one row. */
static int64_t kv_ask(kv_call *call, enum sql_name name, const sql_value *values, size_t count) {
  sqlite3_stmt *statement = kv_use(call, name, values, count);
  if (!kv_step(call, statement)) return 0;
  int64_t number = sqlite3_column_int64(statement, 0);
  (void)sqlite3_reset(statement);
  return number;
}

static int64_t count_rows(kv_call *call, enum sql_family family, int64_t most) {
  sql_value user = sql_text(call->user), limit = sql_int(most);
  switch (family) {
  case SQL_FAMILY_TASK: return kv_ask(call, SQL_JOB_COUNT, SQL_VALUES(user, limit, sql_int(TOOL_EVENT_TASK)));
  case SQL_FAMILY_WAKEUP:
    return kv_ask(call, SQL_JOB_COUNT, SQL_VALUES(user, limit, sql_int(TOOL_EVENT_WAKEUP)));
  case SQL_FAMILY_REMINDER: return kv_ask(call, SQL_REMINDER_COUNT, SQL_VALUES(user, limit));
  case SQL_FAMILY_PLAN: return kv_ask(call, SQL_PLAN_COUNT, SQL_VALUES(user, limit));
  default: return kv_ask(call, SQL_TODO_COUNT, SQL_VALUES(user, limit));
  }
}

/* Counting takes longer the more there are. So it is done once, and then only added to: deleted rows and
 * calls that failed make the true number smaller, and other processes change the version. */
void kv_check_room(kv_call *call, enum sql_family family, int64_t more) {
  int64_t most = call->store->rows_max;
  sql_room *room = &call->store->rooms[family];
  int64_t version = kv_ask(call, SQL_VERSION, NULL, 0);
  if (!kv_fine(call)) return;
  if (version != room->version || room->at_most + more > most || strcmp(room->user, call->user) != 0) {
    int64_t there = count_rows(call, family, most);
    if (kv_fine(call) && there + more > most)
      kv_invalid(call, "a user may have %" PRId64 " of these, and has %" PRId64, most, there);
    if (!kv_fine(call)) return;
    *room = (sql_room){ .at_most = there, .version = version };
    (void)snprintf(room->user, sizeof room->user, "%s", call->user);
  }
  room->at_most += more;
}

/* ---- rows ---- */

static bool add_json(kv_call *call, yyjson_mut_val *key, yyjson_mut_val *row, const char *text, size_t len) {
  yyjson_doc *doc =
      yyjson_read_opts((char *)(uintptr_t)text, len, YYJSON_READ_BIGNUM_AS_RAW, &JSON_ALLOC, NULL);
  yyjson_mut_val *value = doc != NULL ? yyjson_val_mut_copy(call->doc, yyjson_doc_get_root(doc)) : NULL;
  yyjson_doc_free(doc);
  return value != NULL && yyjson_mut_obj_add(row, key, value);
}

static bool kv_add_text(kv_call *call, yyjson_mut_val *key, yyjson_mut_val *row, sqlite3_stmt *statement,
                        int at, enum kv_kind kind) {
  const char *text = (const char *)sqlite3_column_text(statement, at);
  size_t len = (size_t)sqlite3_column_bytes(statement, at);
  if (text == NULL) return false;
  if (kind == KV_JSON) return add_json(call, key, row, text, len);
  if (!utf8_is_valid(text, len)) { /* somebody else wrote to the file */
    tool_end_set(call->end, TOOL_INTERNAL, "the store is damaged: a text is not UTF-8");
    return true;
  }
  if (len == call->user_len && memcmp(text, call->user, len) == 0) /* most are in every row */
    return yyjson_mut_obj_add(row, key, yyjson_mut_strn(call->doc, call->user, len));
  return yyjson_mut_obj_add(row, key, yyjson_mut_strncpy(call->doc, text, len));
}

static yyjson_mut_val *kv_number_of(kv_call *call, int64_t number, enum kv_kind kind) {
  if (kind == KV_BOOL) return yyjson_mut_bool(call->doc, number != 0);
  if (kind == KV_TIME && number >= KV_NEVER) return yyjson_mut_null(call->doc);
  return yyjson_mut_sint(call->doc, number);
}

static bool add_column(kv_call *call, sqlite3_stmt *statement, int at, const kv_column *column,
                       yyjson_mut_val *row) {
  yyjson_mut_val *key = yyjson_mut_strn(call->doc, column->name, column->len);
  if (sqlite3_column_type(statement, at) == SQLITE_NULL)
    return yyjson_mut_obj_add(row, key, yyjson_mut_null(call->doc));
  if (column->kind == KV_TEXT || column->kind == KV_JSON)
    return kv_add_text(call, key, row, statement, at, column->kind);
  return yyjson_mut_obj_add(row, key, kv_number_of(call, sqlite3_column_int64(statement, at), column->kind));
}

yyjson_mut_val *kv_row(kv_call *call, sqlite3_stmt *statement, const kv_shape *shape) {
  yyjson_mut_val *row = yyjson_mut_obj(call->doc);
  bool fine = row != NULL;
  for (size_t i = 0; fine && i < shape->count; i++)
    fine = add_column(call, statement, (int)i, &shape->columns[i], row);
  kv_check_memory(call, fine);
  return row;
}

void kv_add_row(kv_call *call, sqlite3_stmt *statement, const kv_shape *shape, const char *name,
                bool *found) {
  *found = kv_step(call, statement);
  if (!*found) return;
  kv_check_memory(call,
                  yyjson_mut_obj_add_val(call->doc, call->result, name, kv_row(call, statement, shape)));
  (void)kv_step(call, statement);
}

static void add_cursor(kv_call *call, bool more, kv_cursor last) {
  char text[48];
  (void)snprintf(text, sizeof text, "%" PRId64 ":%" PRId64, last.key, last.id);
  kv_check_memory(call, more ? yyjson_mut_obj_add_strcpy(call->doc, call->result, "next_cursor", text)
                             : yyjson_mut_obj_add_null(call->doc, call->result, "next_cursor"));
}

void kv_add_rows(kv_call *call, sqlite3_stmt *statement, const kv_shape *shape, const char *name,
                 int64_t limit) {
  yyjson_mut_val *rows = yyjson_mut_arr(call->doc);
  kv_check_memory(call, yyjson_mut_obj_add_val(call->doc, call->result, name, rows));
  kv_cursor last = { 0 };
  bool more = false;
  for (int64_t count = 0; kv_step(call, statement); count++) {
    if (count == limit) {
      more = true;
      (void)sqlite3_reset(statement);
      break;
    }
    kv_check_memory(call, yyjson_mut_arr_append(rows, kv_row(call, statement, shape)));
    last =
        (kv_cursor){ sqlite3_column_int64(statement, (int)shape->key), sqlite3_column_int64(statement, 0) };
  }
  add_cursor(call, more, last);
}

void kv_add_int(kv_call *call, const char *name, int64_t value) {
  if (kv_fine(call)) kv_check_memory(call, yyjson_mut_obj_add_sint(call->doc, call->result, name, value));
}

void kv_add_bool(kv_call *call, const char *name, bool value) {
  if (kv_fine(call)) kv_check_memory(call, yyjson_mut_obj_add_bool(call->doc, call->result, name, value));
}

/* ---- a call ---- */

static bool has_control(const char *text) {
  for (; *text != '\0'; text++)
    if ((unsigned char)*text < 0x20 || *text == 0x7f) return true;
  return false;
}

static void read_user(kv_call *call, const char *by_default) {
  call->user = kv_text(call, NULL, "user_id", KV_USER_MAX, by_default != NULL ? KV_OPTIONAL : KV_REQUIRED);
  if (call->user == NULL) call->user = by_default;
  if (call->user != NULL) call->user_len = strlen(call->user);
  if (call->user != NULL && has_control(call->user)) kv_invalid(call, "user_id has a control character");
}

static void kv_leave(kv_call *call) {
  if (!call->busy) return;
  cay_error err = { 0 };
  if (kv_fine(call) && call->mode == KV_WRITE) (void)worked(call, sql_commit(call->store, &err), &err);
  sql_unlock(call->store);
}

void kv_run(const tool_world *world, yyjson_val *args, yyjson_mut_doc *doc, yyjson_mut_val *result,
            tool_end *end, enum kv_mode mode, kv_body *body) {
  if (world->store == NULL) {
    tool_end_set(end, TOOL_INTERNAL, "there is no store");
    return;
  }
  kv_call call = {
    .store = world->store, .args = args, .doc = doc, .result = result, .end = end, .mode = mode
  };
  call.now = tool_world_now(world);
  read_user(&call, world->user);
  kv_check_memory(&call, yyjson_mut_obj_add_str(doc, result, "status", "ok"));
  if (kv_fine(&call)) body(&call);
  kv_leave(&call);
}
