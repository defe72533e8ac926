/* schedule.c - kv.sqlite.tasks.* and kv.sqlite.wakeup.*: prompts with a moment, once or again and again.
 *
 * Both are rows of one table. A task begins at run_at and may have an interval; a wake-up always has one and
 * begins an interval from now. */
#include "tool/capability/kv/due.h"
#include "tool/capability/kv/kv.h"

static const kv_column columns[] = {
  KV_COLUMN("id", KV_INT),          KV_COLUMN("user_id", KV_TEXT),     KV_COLUMN("name", KV_TEXT),
  KV_COLUMN("prompt", KV_TEXT),     KV_COLUMN("run_at", KV_TIME),      KV_COLUMN("interval_minutes", KV_INT),
  KV_COLUMN("enabled", KV_BOOL),    KV_COLUMN("next_run_at", KV_TIME), KV_COLUMN("last_run_at", KV_TIME),
  KV_COLUMN("created_at", KV_TIME), KV_COLUMN("updated_at", KV_TIME),
};
static const kv_shape shape = { columns, COUNT_OF(columns), 0 };
static const char *const statuses[] = { "all", "enabled", "disabled", NULL };

static void schedule_insert(kv_call *call, enum tool_event_kind kind, int64_t run_at, int64_t minutes) {
  const char *name = kv_text(call, NULL, "name", KV_NAME_MAX, KV_REQUIRED);
  const char *prompt = kv_text(call, NULL, "prompt", KV_PROMPT_MAX, KV_REQUIRED);
  bool found;
  kv_check_room(call, kind == TOOL_EVENT_TASK ? SQL_FAMILY_TASK : SQL_FAMILY_WAKEUP, 1);
  kv_add_row(call,
             kv_use(call, SQL_JOB_CREATE,
                    SQL_VALUES(sql_int(kind), sql_text(call->user), sql_text(name), sql_text(prompt),
                               sql_int(run_at), minutes != 0 ? sql_int(minutes) : sql_text(NULL),
                               sql_int(call->now))),
             &shape, "task", &found);
}

static void schedule(kv_call *call) {
  int64_t run_at = 0, minutes = 0;
  (void)kv_int(call, "run_at", 0, KV_NEVER - 1, KV_REQUIRED, &run_at);
  (void)kv_int(call, "interval_minutes", 1, KV_INTERVAL_MAX, KV_OPTIONAL, &minutes);
  schedule_insert(call, TOOL_EVENT_TASK, run_at, minutes);
}
KV_HANDLER(kv_tasks_schedule, KV_WRITE, schedule)

static void schedule_create(kv_call *call) {
  int64_t minutes = 0;
  (void)kv_int(call, "interval_minutes", 1, KV_INTERVAL_MAX, KV_REQUIRED, &minutes);
  schedule_insert(call, TOOL_EVENT_WAKEUP, kv_moment(call->now, kv_interval(minutes)), minutes);
}
KV_HANDLER(kv_wakeup_create, KV_WRITE, schedule_create)

static void schedule_list(kv_call *call, enum tool_event_kind kind, int64_t by_default) {
  int status = kv_choice(call, "status", statuses, 0);
  int64_t limit = kv_limit(call, by_default);
  kv_cursor after = kv_after(call, (kv_cursor){ 0 });
  kv_add_rows(call,
              kv_use(call, SQL_JOB_LIST,
                     SQL_VALUES(sql_int(kind), sql_text(call->user), sql_int(status), sql_int(after.id),
                                sql_int(limit + 1))),
              &shape, "tasks", limit);
}

/* Moments that passed while it was disabled are not made up for, except that of a task that never ran. */
static int64_t moment_again(kv_call *call, sqlite3_stmt *row) {
  int64_t next = sqlite3_column_int64(row, 1), seconds = kv_interval(sqlite3_column_int64(row, 2));
  if (seconds > 0) return kv_next_moment(sqlite3_column_int64(row, 3), seconds, call->now, NULL);
  if (next >= KV_NEVER) kv_invalid(call, "the task has run; schedule a new one");
  return next;
}

/* The moment it has once it is switched. */
static int64_t moment_of(kv_call *call, enum tool_event_kind kind, int64_t id, bool on) {
  sqlite3_stmt *row =
      kv_use(call, SQL_JOB_MOMENTS, SQL_VALUES(sql_int(kind), sql_text(call->user), sql_int(id)));
  if (!kv_step(call, row)) {
    kv_invalid(call, "there is no such %s: %lld", tool_event_kind_name(kind), (long long)id);
    return 0;
  }
  bool enabled = sqlite3_column_int(row, 0) != 0;
  int64_t next = on && !enabled ? moment_again(call, row) : sqlite3_column_int64(row, 1);
  (void)sqlite3_reset(row);
  return next;
}

static void turn(kv_call *call, enum tool_event_kind kind, bool on) {
  int64_t id = kv_id(call), next = moment_of(call, kind, id, on);
  bool found;
  kv_add_row(call,
             kv_use(call, SQL_JOB_SWITCH,
                    SQL_VALUES(sql_int(kind), sql_text(call->user), sql_int(id), sql_int(on), sql_int(next),
                               sql_int(call->now))),
             &shape, "task", &found);
}

static void delete_job(kv_call *call, enum tool_event_kind kind) {
  int64_t id = kv_id(call);
  kv_add_bool(call, "deleted",
              kv_change(call, SQL_JOB_DELETE, SQL_VALUES(sql_int(kind), sql_text(call->user), sql_int(id))) !=
                  0);
}

static void schedule_clear(kv_call *call) {
  int status = kv_choice(call, "status", statuses, 0);
  kv_add_int(call, "deleted",
             kv_change(call, SQL_JOB_CLEAR,
                       SQL_VALUES(sql_int(TOOL_EVENT_TASK), sql_text(call->user), sql_int(status))));
}
KV_HANDLER(kv_tasks_clear, KV_WRITE, schedule_clear)

static void list_tasks(kv_call *call) { schedule_list(call, TOOL_EVENT_TASK, 50); }
static void enable_task(kv_call *call) { turn(call, TOOL_EVENT_TASK, true); }
static void disable_task(kv_call *call) { turn(call, TOOL_EVENT_TASK, false); }
static void delete_task(kv_call *call) { delete_job(call, TOOL_EVENT_TASK); }
KV_HANDLER(kv_tasks_list, KV_READ, list_tasks)
KV_HANDLER(kv_tasks_enable, KV_WRITE, enable_task)
KV_HANDLER(kv_tasks_disable, KV_WRITE, disable_task)
KV_HANDLER(kv_tasks_delete, KV_WRITE, delete_task)

static void list_wakeups(kv_call *call) { schedule_list(call, TOOL_EVENT_WAKEUP, 20); }
static void enable_wakeup(kv_call *call) { turn(call, TOOL_EVENT_WAKEUP, true); }
static void disable_wakeup(kv_call *call) { turn(call, TOOL_EVENT_WAKEUP, false); }
static void delete_wakeup(kv_call *call) { delete_job(call, TOOL_EVENT_WAKEUP); }
KV_HANDLER(kv_wakeup_list, KV_READ, list_wakeups)
KV_HANDLER(kv_wakeup_enable, KV_WRITE, enable_wakeup)
KV_HANDLER(kv_wakeup_disable, KV_WRITE, disable_wakeup)
KV_HANDLER(kv_wakeup_delete, KV_WRITE, delete_wakeup)
