/* todo.c - kv.sqlite.todo.*: an ordered list for each user. */
#include "tool/capability/kv/kv.h"

static const kv_column columns[] = {
  KV_COLUMN("id", KV_INT),          KV_COLUMN("user_id", KV_TEXT),      KV_COLUMN("title", KV_TEXT),
  KV_COLUMN("notes", KV_TEXT),      KV_COLUMN("position", KV_INT),      KV_COLUMN("created_at", KV_TIME),
  KV_COLUMN("updated_at", KV_TIME), KV_COLUMN("completed_at", KV_TIME),
};
static const kv_shape shape = { columns, COUNT_OF(columns), 4 };
static const char *const statuses[] = { "all", "open", "completed", NULL };

typedef struct entry {
  const char *title, *notes;
} entry;

static entry read_entry(kv_call *call, yyjson_val *object) {
  return (entry){ .title = kv_text(call, object, "title", KV_TITLE_MAX, KV_REQUIRED),
                  .notes = kv_text(call, object, "notes", KV_NOTES_MAX, KV_OPTIONAL) };
}

static sqlite3_stmt *todo_insert(kv_call *call, const entry *e) {
  return kv_use(call, SQL_TODO_CREATE,
                SQL_VALUES(sql_text(call->user), sql_text(e->title), sql_text(e->notes), sql_int(call->now)));
}

static void todo_create(kv_call *call) {
  entry e = read_entry(call, NULL);
  bool found;
  kv_check_room(call, SQL_FAMILY_TODO, 1);
  kv_add_row(call, todo_insert(call, &e), &shape, "item", &found);
}
KV_HANDLER(kv_todo_create, KV_WRITE, todo_create)

/* An item is a title, or an object with title and notes. */
static entry read_item(kv_call *call, yyjson_val *item) {
  if (yyjson_is_obj(item)) return read_entry(call, item);
  if (yyjson_is_str(item)) return (entry){ .title = kv_as_text(call, item, "title", KV_TITLE_MAX) };
  kv_invalid(call, "an item must be a title or an object");
  return (entry){ 0 };
}

static void create_many(kv_call *call) {
  yyjson_val *items = yyjson_obj_get(call->args, "items");
  size_t count = yyjson_arr_size(items);
  if (count == 0 || count > KV_MANY_MAX) kv_invalid(call, "items must be an array of 1 to %d", KV_MANY_MAX);
  yyjson_mut_val *made = yyjson_mut_arr(call->doc);
  kv_check_memory(call, yyjson_mut_obj_add_val(call->doc, call->result, "items", made));
  entry entries[KV_MANY_MAX];
  for (size_t i = 0; kv_fine(call) && i < count; i++) entries[i] = read_item(call, yyjson_arr_get(items, i));
  kv_check_room(call, SQL_FAMILY_TODO, (int64_t)count);
  for (size_t i = 0; kv_fine(call) && i < count; i++) {
    sqlite3_stmt *statement = todo_insert(call, &entries[i]);
    if (kv_step(call, statement))
      kv_check_memory(call, yyjson_mut_arr_append(made, kv_row(call, statement, &shape)));
    (void)kv_step(call, statement);
  }
}
KV_HANDLER(kv_todo_create_many, KV_WRITE, create_many)

static void todo_list(kv_call *call) {
  int status = kv_choice(call, "status", statuses, 1);
  int64_t limit = kv_limit(call, 50);
  kv_cursor after = kv_after(call, (kv_cursor){ 0 });
  kv_add_rows(call,
              kv_use(call, SQL_TODO_LIST,
                     SQL_VALUES(sql_text(call->user), sql_int(status), sql_int(after.key), sql_int(after.id),
                                sql_int(limit + 1))),
              &shape, "items", limit);
}
KV_HANDLER(kv_todo_list, KV_READ, todo_list)

static void change(kv_call *call, enum sql_name name) {
  int64_t id = kv_id(call);
  bool found = false;
  kv_add_row(call, kv_use(call, name, SQL_VALUES(sql_text(call->user), sql_int(id), sql_int(call->now))),
             &shape, "item", &found);
  if (!found) kv_invalid(call, "there is no todo %lld", (long long)id);
}

static void todo_complete(kv_call *call) { change(call, SQL_TODO_COMPLETE); }
KV_HANDLER(kv_todo_complete, KV_WRITE, todo_complete)

static void reopen(kv_call *call) { change(call, SQL_TODO_REOPEN); }
KV_HANDLER(kv_todo_reopen, KV_WRITE, reopen)

static void todo_delete(kv_call *call) {
  int64_t id = kv_id(call);
  kv_add_bool(call, "deleted",
              kv_change(call, SQL_TODO_DELETE, SQL_VALUES(sql_text(call->user), sql_int(id))) != 0);
}
KV_HANDLER(kv_todo_delete, KV_WRITE, todo_delete)

static void todo_clear(kv_call *call) {
  int status = kv_choice(call, "status", statuses, 1);
  kv_add_int(call, "deleted",
             kv_change(call, SQL_TODO_CLEAR, SQL_VALUES(sql_text(call->user), sql_int(status))));
}
KV_HANDLER(kv_todo_clear, KV_WRITE, todo_clear)

static void todo_place(kv_call *call, yyjson_val *value, int64_t position) {
  int64_t id = yyjson_is_uint(value) && yyjson_get_uint(value) <= INT64_MAX ? yyjson_get_sint(value) : 0;
  if (id < 1) kv_invalid(call, "ordered_ids must have whole numbers from 1");
  if (kv_change(call, SQL_TODO_PLACE,
                SQL_VALUES(sql_text(call->user), sql_int(id), sql_int(position), sql_int(call->now))) == 0)
    kv_invalid(call, "ordered_ids: there is no todo %lld, or it stands twice", (long long)id);
}

static void reorder(kv_call *call) {
  yyjson_val *ids = yyjson_obj_get(call->args, "ordered_ids");
  size_t count = yyjson_arr_size(ids);
  if (count == 0 || count > call->store->rows_max)
    kv_invalid(call, "ordered_ids must be an array of 1 to %u", call->store->rows_max);
  yyjson_arr_iter it = yyjson_arr_iter_with(ids);
  int64_t position = -(int64_t)count;
  for (yyjson_val *id; kv_fine(call) && (id = yyjson_arr_iter_next(&it)) != NULL;)
    todo_place(call, id, position++);
  (void)kv_change(call, SQL_TODO_NUMBER, SQL_VALUES(sql_text(call->user)));
  kv_add_int(call, "reordered", (int64_t)count);
}
KV_HANDLER(kv_todo_reorder, KV_WRITE, reorder)
