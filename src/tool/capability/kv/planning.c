/* planning.c - kv.sqlite.planning.*: a goal and the steps to it. */
#include "tool/capability/kv/kv.h"

#include "base/alloc.h"

static const kv_column columns[] = {
  KV_COLUMN("id", KV_INT),          KV_COLUMN("user_id", KV_TEXT),    KV_COLUMN("title", KV_TEXT),
  KV_COLUMN("goal", KV_TEXT),       KV_COLUMN("steps", KV_JSON),      KV_COLUMN("status", KV_TEXT),
  KV_COLUMN("created_at", KV_TIME), KV_COLUMN("updated_at", KV_TIME),
};
static const kv_shape shape = { columns, COUNT_OF(columns), 0 };
enum { STATUS_MAX = 64 };

/* The array as text (mem_free); NULL: absent. Whatever stands in it is the tool's affair. */
static char *read_steps(kv_call *call) {
  yyjson_val *value = yyjson_obj_get(call->args, "steps");
  if (!kv_fine(call) || value == NULL || yyjson_is_null(value)) return NULL;
  if (!yyjson_is_arr(value) || yyjson_arr_size(value) > KV_STEPS_COUNT) {
    kv_invalid(call, "steps must be an array of at most %d", KV_STEPS_COUNT);
    return NULL;
  }
  size_t len = 0;
  char *text = yyjson_val_write_opts(value, 0, &JSON_ALLOC, &len, NULL);
  kv_check_memory(call, text != NULL);
  if (len > KV_STEPS_MAX) kv_invalid(call, "steps may have %d bytes", KV_STEPS_MAX);
  return text;
}

static void planning_create(kv_call *call) {
  const char *title = kv_text(call, NULL, "title", KV_TITLE_MAX, KV_REQUIRED);
  const char *goal = kv_text(call, NULL, "goal", KV_GOAL_MAX, KV_REQUIRED);
  const char *status = kv_text(call, NULL, "status", STATUS_MAX, KV_OPTIONAL);
  char *steps = read_steps(call);
  bool found;
  kv_check_room(call, SQL_FAMILY_PLAN, 1);
  kv_add_row(call,
             kv_use(call, SQL_PLAN_CREATE,
                    SQL_VALUES(sql_text(call->user), sql_text(title), sql_text(goal),
                               sql_text(steps != NULL ? steps : "[]"),
                               sql_text(status != NULL ? status : "draft"), sql_int(call->now))),
             &shape, "plan", &found);
  mem_free(steps);
}
KV_HANDLER(kv_planning_create, KV_WRITE, planning_create)

static void planning_list(kv_call *call) {
  int64_t limit = kv_limit(call, 20);
  kv_cursor after = kv_after(call, (kv_cursor){ .id = INT64_MAX });
  kv_add_rows(
      call,
      kv_use(call, SQL_PLAN_LIST, SQL_VALUES(sql_text(call->user), sql_int(after.id), sql_int(limit + 1))),
      &shape, "plans", limit);
}
KV_HANDLER(kv_planning_list, KV_READ, planning_list)

static void add_found(kv_call *call, sqlite3_stmt *statement, int64_t id) {
  bool found = false;
  kv_add_row(call, statement, &shape, "plan", &found);
  if (!found) kv_invalid(call, "there is no plan %lld", (long long)id);
}

static void planning_get(kv_call *call) {
  int64_t id = kv_id(call);
  add_found(call, kv_use(call, SQL_PLAN_GET, SQL_VALUES(sql_text(call->user), sql_int(id))), id);
}
KV_HANDLER(kv_planning_get, KV_READ, planning_get)

static void update(kv_call *call) {
  int64_t id = kv_id(call);
  const char *title = kv_text(call, NULL, "title", KV_TITLE_MAX, KV_OPTIONAL);
  const char *goal = kv_text(call, NULL, "goal", KV_GOAL_MAX, KV_OPTIONAL);
  const char *status = kv_text(call, NULL, "status", STATUS_MAX, KV_OPTIONAL);
  char *steps = read_steps(call);
  add_found(call,
            kv_use(call, SQL_PLAN_UPDATE,
                   SQL_VALUES(sql_text(call->user), sql_int(id), sql_text(title), sql_text(goal),
                              sql_text(steps), sql_text(status), sql_int(call->now))),
            id);
  mem_free(steps);
}
KV_HANDLER(kv_planning_update, KV_WRITE, update)

static void planning_delete(kv_call *call) {
  int64_t id = kv_id(call);
  kv_add_bool(call, "deleted",
              kv_change(call, SQL_PLAN_DELETE, SQL_VALUES(sql_text(call->user), sql_int(id))) != 0);
}
KV_HANDLER(kv_planning_delete, KV_WRITE, planning_delete)

static void planning_clear(kv_call *call) {
  kv_add_int(call, "deleted", kv_change(call, SQL_PLAN_CLEAR, SQL_VALUES(sql_text(call->user))));
}
KV_HANDLER(kv_planning_clear, KV_WRITE, planning_clear)
