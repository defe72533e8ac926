/* kv_schedule_test.c - kv.sqlite.tasks.* and kv.sqlite.wakeup.*. */
#include "kv.h"

TEST(a_task_has_these_members_in_this_order) {
  shelf *s = shelf_new();
  EXPECT_TEXT(
      ask(s, "tasks.schedule", "{\"name\":\"n\",\"prompt\":\"p\",\"run_at\":2000,\"interval_minutes\":5}"),
      "{\"status\":\"ok\",\"task\":{\"id\":1,\"user_id\":\"me\",\"name\":\"n\",\"prompt\":\"p\",\"run_at\":2000,"
      "\"interval_minutes\":5,\"enabled\":true,\"next_run_at\":2000,\"last_run_at\":null,"
      "\"created_at\":1000,\"updated_at\":1000}}");
  EXPECT(has(ask(s, "tasks.disable", "{\"id\":1}"), "\"enabled\":false,\"next_run_at\":null"));
  EXPECT(has(ask(s, "tasks.list", "{\"status\":\"enabled\"}"), "\"tasks\":[]"));
  EXPECT_EQ(number_in(ask(s, "tasks.list", "{\"status\":\"disabled\"}"), "id"), 1);
  EXPECT(has(ask(s, "tasks.enable", "{\"id\":1}"), "\"enabled\":true,\"next_run_at\":2000"));
  EXPECT(has(ask(s, "tasks.enable", "{\"id\":2}"), "invalid_args: there is no such task: 2"));
  EXPECT(has(ask(s, "tasks.disable", "{\"id\":1,\"user_id\":\"you\"}"),
             "invalid_args: there is no such task: 1"));
  EXPECT_TEXT(ask(s, "tasks.delete", "{\"id\":1,\"user_id\":\"you\"}"),
              "{\"status\":\"ok\",\"deleted\":false}");
  EXPECT_TEXT(ask(s, "tasks.delete", "{\"id\":1}"), "{\"status\":\"ok\",\"deleted\":true}");
  shelf_free(s);
}

TEST(a_wakeup_begins_an_interval_from_now) {
  shelf *s = shelf_new();
  EXPECT_TEXT(
      ask(s, "wakeup.create", "{\"name\":\"n\",\"prompt\":\"p\",\"interval_minutes\":1}"),
      "{\"status\":\"ok\",\"task\":{\"id\":1,\"user_id\":\"me\",\"name\":\"n\",\"prompt\":\"p\",\"run_at\":1060,"
      "\"interval_minutes\":1,\"enabled\":true,\"next_run_at\":1060,\"last_run_at\":null,"
      "\"created_at\":1000,\"updated_at\":1000}}");
  EXPECT(has(ask(s, "wakeup.list", "{}"), "\"tasks\":[{\"id\":1,"));
  EXPECT(has(ask(s, "wakeup.disable", "{\"id\":1}"), "\"enabled\":false"));
  EXPECT(has(ask(s, "wakeup.enable", "{\"id\":1}"), "\"enabled\":true"));
  EXPECT(has(ask(s, "wakeup.enable", "{\"id\":7}"), "invalid_args: there is no such wakeup: 7"));
  EXPECT(has(ask(s, "wakeup.delete", "{\"id\":1}"), "\"deleted\":true"));
  shelf_free(s);
}

TEST(tasks_and_wakeups_are_kept_apart) {
  shelf *s = shelf_new();
  (void)ask(s, "tasks.schedule", "{\"name\":\"n\",\"prompt\":\"p\",\"run_at\":2000}");
  (void)ask(s, "wakeup.create", "{\"name\":\"n\",\"prompt\":\"p\",\"interval_minutes\":1}");
  EXPECT_EQ(count_of(ask(s, "tasks.list", "{}"), "\"id\":"), 1);
  EXPECT(has(ask(s, "wakeup.delete", "{\"id\":1}"), "\"deleted\":false"));
  EXPECT(has(ask(s, "wakeup.enable", "{\"id\":1}"), "there is no such wakeup"));
  EXPECT_TEXT(ask(s, "tasks.clear", "{}"), "{\"status\":\"ok\",\"deleted\":1}");
  EXPECT_EQ(count_of(ask(s, "wakeup.list", "{}"), "\"id\":"), 1);
  shelf_free(s);
}

TEST(runs_missed_while_disabled_are_skipped) {
  shelf *s = shelf_new();
  (void)ask(s, "tasks.schedule", "{\"name\":\"n\",\"prompt\":\"p\",\"run_at\":1010,\"interval_minutes\":1}");
  (void)ask(s, "tasks.schedule", "{\"name\":\"once\",\"prompt\":\"p\",\"run_at\":1010}");
  (void)ask(s, "tasks.disable", "{\"id\":1}");
  (void)ask(s, "tasks.disable", "{\"id\":2}");
  s->now = 1200;
  EXPECT_EQ(number_in(ask(s, "tasks.enable", "{\"id\":1}"), "next_run_at"), 1250);
  EXPECT_EQ(number_in(ask(s, "tasks.enable", "{\"id\":2}"), "next_run_at"), 1010); /* it never ran */
  shelf_free(s);
}

TEST(bad_schedules_are_named) {
  static const char *const cases[][3] = {
    { "tasks.schedule", "{\"prompt\":\"p\",\"run_at\":1}", "name is missing" },
    { "tasks.schedule", "{\"name\":\"n\",\"run_at\":1}", "prompt is missing" },
    { "tasks.schedule", "{\"name\":\"n\",\"prompt\":\"p\"}", "run_at is missing" },
    { "tasks.schedule", "{\"name\":\"n\",\"prompt\":\"p\",\"run_at\":-1}", "run_at must be" },
    { "tasks.schedule", "{\"name\":\"n\",\"prompt\":\"p\",\"run_at\":1767225600000}", "run_at must be" },
    { "tasks.schedule", "{\"name\":\"n\",\"prompt\":\"p\",\"run_at\":1,\"interval_minutes\":0}",
      "interval_minutes must" },
    { "tasks.schedule", "{\"name\":\"n\",\"prompt\":\"p\",\"run_at\":1,\"interval_minutes\":5256001}",
      "interval_minutes" },
    { "wakeup.create", "{\"name\":\"n\",\"prompt\":\"p\"}", "interval_minutes is missing" },
    { "tasks.list", "{\"status\":\"open\"}", "status must be one of all, enabled, disabled" },
    { "tasks.enable", "{}", "id is missing" },
  };
  shelf *s = shelf_new();
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    const char *got = ask(s, cases[i][0], cases[i][1]);
    EXPECT_EQ(strncmp(got, "invalid_args: ", 14), 0);
    if (strncmp(got + 14, cases[i][2], strlen(cases[i][2])) != 0) EXPECT_TEXT(got, cases[i][2]);
  }
  shelf_free(s);
}

TEST(each_kind_has_its_own_limit_of_rows) {
  shelf *s = shelf_new();
  for (int i = 0; i < 20; i++)
    EXPECT(has(ask(s, "tasks.schedule", "{\"name\":\"n\",\"prompt\":\"p\",\"run_at\":1}"), "\"task\""));
  EXPECT(has(ask(s, "tasks.schedule", "{\"name\":\"n\",\"prompt\":\"p\",\"run_at\":1}"),
             "invalid_args: a user may have 20"));
  EXPECT(
      has(ask(s, "wakeup.create", "{\"name\":\"n\",\"prompt\":\"p\",\"interval_minutes\":1}"), "\"task\""));
  shelf_free(s);
}
