/* kv_reminders_test.c - kv.sqlite.reminders.*. */
#include "kv.h"

TEST(a_reminder_has_these_members_in_this_order) {
  shelf *s = shelf_new();
  EXPECT_TEXT(
      ask(s, "reminders.create", "{\"title\":\"tea\",\"due_at\":1500}"),
      "{\"status\":\"ok\",\"reminder\":{\"id\":1,\"user_id\":\"me\",\"title\":\"tea\",\"due_at\":1500,"
      "\"completed_at\":null,\"delivered_at\":null,\"created_at\":1000,\"updated_at\":1000}}");
  EXPECT_EQ(number_in(ask(s, "reminders.create", "{\"title\":\"a\",\"delay_seconds\":60}"), "due_at"), 1060);
  EXPECT_EQ(number_in(ask(s, "reminders.create", "{\"title\":\"b\",\"in_seconds\":0}"), "due_at"), 1000);
  EXPECT(has(ask(s, "reminders.create", "{\"title\":\"whenever\"}"), "\"due_at\":null"));
  const char *all = ask(s, "reminders.list", "{}");
  EXPECT_EQ(number_in(all, "id"), 3); /* by the moment */
  EXPECT(strstr(all, "whenever") > strstr(all, "tea"));
  shelf_free(s);
}

TEST(pages_go_by_the_moment) {
  shelf *s = shelf_new();
  (void)ask(s, "reminders.create", "{\"title\":\"a\",\"due_at\":300}");
  (void)ask(s, "reminders.create", "{\"title\":\"b\",\"due_at\":100}");
  (void)ask(s, "reminders.create", "{\"title\":\"c\",\"due_at\":0}");
  (void)ask(s, "reminders.create", "{\"title\":\"d\"}");
  EXPECT(has(ask(s, "reminders.list", "{\"limit\":2}"), "\"next_cursor\":\"100:2\""));
  const char *rest = ask(s, "reminders.list", "{\"limit\":2,\"cursor\":\"100:2\"}");
  EXPECT_EQ(number_in(rest, "id"), 1);
  EXPECT(has(rest, "\"title\":\"d\""));
  EXPECT(has(rest, "\"next_cursor\":null"));
  shelf_free(s);
}

TEST(a_reminder_is_completed_snoozed_and_deleted) {
  shelf *s = shelf_new();
  (void)ask(s, "reminders.create", "{\"title\":\"tea\",\"due_at\":1500}");
  EXPECT_TEXT(ask(s, "reminders.snooze", "{\"id\":1,\"delay_seconds\":5}"),
              "{\"status\":\"ok\",\"snoozed\":true}");
  EXPECT_EQ(number_in(ask(s, "reminders.list", "{}"), "due_at"), 1005);
  EXPECT(has(ask(s, "reminders.snooze", "{\"id\":1}"), "invalid_args: due_at or delay_seconds is missing"));
  EXPECT_TEXT(ask(s, "reminders.snooze", "{\"id\":9,\"due_at\":5}"), "{\"status\":\"ok\",\"snoozed\":false}");
  EXPECT_TEXT(ask(s, "reminders.complete", "{\"id\":1}"), "{\"status\":\"ok\",\"completed\":true}");
  EXPECT_TEXT(ask(s, "reminders.complete", "{\"id\":2}"), "{\"status\":\"ok\",\"completed\":false}");
  EXPECT_TEXT(ask(s, "reminders.snooze", "{\"id\":1,\"due_at\":5}"), "{\"status\":\"ok\",\"snoozed\":false}");
  EXPECT(has(ask(s, "reminders.list", "{}"), "\"reminders\":[]"));
  EXPECT_EQ(number_in(ask(s, "reminders.list", "{\"status\":\"completed\"}"), "completed_at"), 1000);
  EXPECT_TEXT(ask(s, "reminders.delete", "{\"id\":1}"), "{\"status\":\"ok\",\"deleted\":true}");
  EXPECT_TEXT(ask(s, "reminders.delete", "{\"id\":1}"), "{\"status\":\"ok\",\"deleted\":false}");
  shelf_free(s);
}

TEST(clear_takes_the_open_ones_and_delete_all_takes_all) {
  shelf *s = shelf_new();
  for (int i = 0; i < 4; i++) (void)ask(s, "reminders.create", "{\"title\":\"a\"}");
  (void)ask(s, "reminders.create", "{\"title\":\"a\",\"user_id\":\"you\"}");
  (void)ask(s, "reminders.complete", "{\"id\":1}");
  (void)ask(s, "reminders.complete", "{\"id\":2}");
  EXPECT_TEXT(ask(s, "reminders.clear", "{}"), "{\"status\":\"ok\",\"deleted\":2}");
  EXPECT_TEXT(ask(s, "reminders.delete_all", "{}"), "{\"status\":\"ok\",\"deleted\":2}");
  EXPECT_TEXT(ask(s, "reminders.clear", "{\"user_id\":\"you\",\"status\":\"all\"}"),
              "{\"status\":\"ok\",\"deleted\":1}");
  shelf_free(s);
}

TEST(moments_are_whole_seconds_since_1970) {
  static const char *const bad[] = {
    "-1", "253402300800", "1.5", "\"tomorrow\"", "9223372036854775807", "[]"
  };
  static const char *const names[] = { "due_at", "delay_seconds", "in_seconds" };
  shelf *s = shelf_new();
  for (size_t i = 0; i < COUNT_OF(bad); i++)
    for (size_t j = 0; j < COUNT_OF(names); j++) {
      char args[100], want[100];
      (void)snprintf(args, sizeof args, "{\"title\":\"a\",\"%s\":%s}", names[j], bad[i]);
      (void)snprintf(want, sizeof want, "invalid_args: %s must be a whole number from 0 to 253402300799",
                     names[j]);
      EXPECT_TEXT(ask(s, "reminders.create", args), want);
    }
  EXPECT(
      has(ask(s, "reminders.create", "{\"title\":\"a\",\"delay_seconds\":253402300799}"), "\"due_at\":null"));
  shelf_free(s);
}
