/* reminders.c - kv.sqlite.reminders.*: a title and the moment to be told of it. */
#include "tool/capability/kv/due.h"
#include "tool/capability/kv/kv.h"

static const kv_column columns[] = {
  KV_COLUMN("id", KV_INT),          KV_COLUMN("user_id", KV_TEXT),      KV_COLUMN("title", KV_TEXT),
  KV_COLUMN("due_at", KV_TIME),     KV_COLUMN("completed_at", KV_TIME), KV_COLUMN("delivered_at", KV_TIME),
  KV_COLUMN("created_at", KV_TIME), KV_COLUMN("updated_at", KV_TIME),
};
static const kv_shape shape = { columns, COUNT_OF(columns), 3 };
static const char *const statuses[] = { "all", "open", "completed", NULL };

/* delay_seconds, its other name in_seconds, or due_at: the first that is there. */
static bool read_moment(kv_call *call, int64_t *out) {
  int64_t seconds = 0;
  if (kv_int(call, "delay_seconds", 0, KV_NEVER - 1, KV_OPTIONAL, &seconds) ||
      kv_int(call, "in_seconds", 0, KV_NEVER - 1, KV_OPTIONAL, &seconds)) {
    *out = kv_moment(call->now, seconds);
    return true;
  }
  return kv_int(call, "due_at", 0, KV_NEVER - 1, KV_OPTIONAL, out);
}

static void reminders_create(kv_call *call) {
  int64_t due_at = KV_NEVER;
  const char *title = kv_text(call, NULL, "title", KV_TITLE_MAX, KV_REQUIRED);
  (void)read_moment(call, &due_at);
  bool found;
  kv_check_room(call, SQL_FAMILY_REMINDER, 1);
  kv_add_row(call,
             kv_use(call, SQL_REMINDER_CREATE,
                    SQL_VALUES(sql_text(call->user), sql_text(title), sql_int(due_at), sql_int(call->now))),
             &shape, "reminder", &found);
}
KV_HANDLER(kv_reminders_create, KV_WRITE, reminders_create)

static void reminders_list(kv_call *call) {
  int status = kv_choice(call, "status", statuses, 1);
  int64_t limit = kv_limit(call, 20);
  kv_cursor after = kv_after(call, (kv_cursor){ .key = -1 });
  kv_add_rows(call,
              kv_use(call, SQL_REMINDER_LIST,
                     SQL_VALUES(sql_text(call->user), sql_int(status), sql_int(after.key), sql_int(after.id),
                                sql_int(limit + 1))),
              &shape, "reminders", limit);
}
KV_HANDLER(kv_reminders_list, KV_READ, reminders_list)

static void reminders_complete(kv_call *call) {
  int64_t id = kv_id(call);
  kv_add_bool(call, "completed",
              kv_change(call, SQL_REMINDER_COMPLETE,
                        SQL_VALUES(sql_text(call->user), sql_int(id), sql_int(call->now))) != 0);
}
KV_HANDLER(kv_reminders_complete, KV_WRITE, reminders_complete)

static void snooze(kv_call *call) {
  int64_t id = kv_id(call), due_at = 0;
  if (!read_moment(call, &due_at)) kv_invalid(call, "due_at or delay_seconds is missing");
  kv_add_bool(call, "snoozed",
              kv_change(call, SQL_REMINDER_SNOOZE,
                        SQL_VALUES(sql_text(call->user), sql_int(id), sql_int(call->now), sql_int(due_at))) !=
                  0);
}
KV_HANDLER(kv_reminders_snooze, KV_WRITE, snooze)

static void reminders_delete(kv_call *call) {
  int64_t id = kv_id(call);
  kv_add_bool(call, "deleted",
              kv_change(call, SQL_REMINDER_DELETE, SQL_VALUES(sql_text(call->user), sql_int(id))) != 0);
}
KV_HANDLER(kv_reminders_delete, KV_WRITE, reminders_delete)

static void delete_by(kv_call *call, int status) {
  kv_add_int(call, "deleted",
             kv_change(call, SQL_REMINDER_CLEAR, SQL_VALUES(sql_text(call->user), sql_int(status))));
}

static void delete_all(kv_call *call) { delete_by(call, 0); }
KV_HANDLER(kv_reminders_delete_all, KV_WRITE, delete_all)

static void reminders_clear(kv_call *call) { delete_by(call, kv_choice(call, "status", statuses, 1)); }
KV_HANDLER(kv_reminders_clear, KV_WRITE, reminders_clear)
