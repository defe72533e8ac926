/* kv.h - what the capabilities kv.sqlite.* share: reading arguments, talking to the store, writing rows.
 *
 * A capability is a function on a kv_call. Every function here does nothing once call->end has a code, so
 * that a capability reads as what happens when all is well. What a KV_WRITE changed is committed when the
 * capability returns without a code, and undone otherwise.
 *
 * An unknown member is ignored, null is as good as absent, times are seconds since 1970. */
#pragma once

#include "tool/capability/capability.h"
#include "tool/capability/kv/sql.h"

enum {
  KV_USER_MAX = 128,
  KV_TITLE_MAX = 512,
  KV_NAME_MAX = 256,
  KV_NOTES_MAX = 8192,
  KV_GOAL_MAX = 8192,
  KV_PROMPT_MAX = 16384,
  KV_STEPS_MAX = 65536, /* bytes of JSON */
  KV_STEPS_COUNT = 256,
  KV_MANY_MAX = 100,
  KV_LIST_MAX = 1000,
  KV_INTERVAL_MAX = 5256000, /* minutes: ten years */
};
#define KV_NEVER INT64_C(253402300800) /* the year 10000: no moment is later; stored where there is none */

enum kv_mode { KV_READ, KV_WRITE };

typedef struct kv_call {
  tool_store *store;
  yyjson_val *args;
  yyjson_mut_doc *doc;
  yyjson_mut_val *result;
  tool_end *end;
  const char *user; /* lives as long as `args` or the world, and so until `doc` is written */
  size_t user_len;
  int64_t now;
  enum kv_mode mode;
  bool busy; /* the store is locked, and a KV_WRITE has begun */
} kv_call;

typedef void kv_body(kv_call *call);
void kv_run(const tool_world *world, yyjson_val *args, yyjson_mut_doc *doc, yyjson_mut_val *result,
            tool_end *end, enum kv_mode mode, kv_body *body);

/* The handler `name` of capabilities.def. */
#define KV_HANDLER(name, mode, body)                                                                         \
  void name(const tool_world *world, yyjson_val *args, yyjson_mut_doc *doc, yyjson_mut_val *result,          \
            tool_end *end) {                                                                                 \
    kv_run(world, args, doc, result, end, mode, body);                                                       \
  }

static inline bool kv_fine(const kv_call *call) { return call->end->code == TOOL_OK; }
void kv_invalid(kv_call *call, const char *format, ...) PRINTF(2, 3);

/* ---- arguments ---- */

enum kv_need { KV_OPTIONAL, KV_REQUIRED };

/* A text of 1 to `max` bytes that is not only blanks, borrowed; NULL: absent. `object` NULL: the arguments. */
const char *kv_text(kv_call *call, yyjson_val *object, const char *name, size_t max, enum kv_need need);
const char *kv_as_text(kv_call *call, yyjson_val *value, const char *name, size_t max); /* this one */
/* True: *out has it. */
bool kv_int(kv_call *call, const char *name, int64_t min, int64_t max, enum kv_need need, int64_t *out);
int64_t kv_id(kv_call *call);
/* The place of the text in `choices` (NULL ended); absent: the place of `by_default`. */
int kv_choice(kv_call *call, const char *name, const char *const *choices, int by_default);
int64_t kv_limit(kv_call *call, int64_t by_default);

typedef struct kv_cursor {
  int64_t key, id; /* the last row of the page before */
} kv_cursor;
kv_cursor kv_after(kv_call *call, kv_cursor start);

/* ---- the store ---- */

/* A statement ready to step, or NULL. The first one locks the store. */
sqlite3_stmt *kv_use(kv_call *call, enum sql_name name, const sql_value *values, size_t count);
bool kv_step(kv_call *call, sqlite3_stmt *statement); /* NULL is fine; true: there is a row */
int64_t kv_change(kv_call *call, enum sql_name name, const sql_value *values,
                  size_t count); /* rows changed */
/* TOOL_INVALID_ARGS when `more` rows would be too many for the user. */
void kv_check_room(kv_call *call, enum sql_family family, int64_t more);

/* ---- rows ---- */

enum kv_kind { KV_INT, KV_TEXT, KV_BOOL, KV_TIME, KV_JSON }; /* a time may be KV_NEVER, which is null */

typedef struct kv_column {
  const char *name;
  size_t len;
  enum kv_kind kind;
} kv_column;

#define KV_COLUMN(name, kind) { name, sizeof(name) - 1, kind }

typedef struct kv_shape {
  const kv_column *columns; /* in the order of the statement */
  size_t count;
  size_t key; /* the column that a list is sorted by, before the id in column 0 */
} kv_shape;

yyjson_mut_val *kv_row(kv_call *call, sqlite3_stmt *statement, const kv_shape *shape);

/* The one row that the statement gives, as the member `name`; without a row *found is false. */
void kv_add_row(kv_call *call, sqlite3_stmt *statement, const kv_shape *shape, const char *name, bool *found);

/* Up to `limit` rows as the array `name`, and `next_cursor`: the statement was asked for limit + 1. */
void kv_add_rows(kv_call *call, sqlite3_stmt *statement, const kv_shape *shape, const char *name,
                 int64_t limit);

void kv_add_int(kv_call *call, const char *name, int64_t value);
void kv_add_bool(kv_call *call, const char *name, bool value);
void kv_check_memory(kv_call *call, bool fine);
