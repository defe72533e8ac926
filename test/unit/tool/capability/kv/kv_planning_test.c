/* kv_planning_test.c - kv.sqlite.planning.*. */
#include "kv.h"

TEST(a_plan_has_these_members_in_this_order) {
  shelf *s = shelf_new();
  EXPECT_TEXT(
      ask(s, "planning.create",
          "{\"title\":\"move\",\"goal\":\"a new flat\",\"steps\":[\"look\",{\"text\":\"pack\",\"n\":1.5}]}"),
      "{\"status\":\"ok\",\"plan\":{\"id\":1,\"user_id\":\"me\",\"title\":\"move\",\"goal\":\"a new flat\","
      "\"steps\":[\"look\",{\"text\":\"pack\",\"n\":1.5}],\"status\":\"draft\",\"created_at\":1000,"
      "\"updated_at\":1000}}");
  s->now = 1001;
  EXPECT_TEXT(
      ask(s, "planning.update", "{\"id\":1,\"status\":\"active\",\"steps\":[]}"),
      "{\"status\":\"ok\",\"plan\":{\"id\":1,\"user_id\":\"me\",\"title\":\"move\",\"goal\":\"a new flat\","
      "\"steps\":[],\"status\":\"active\",\"created_at\":1000,\"updated_at\":1001}}");
  EXPECT(has(ask(s, "planning.get", "{\"id\":1}"), "\"plan\":{\"id\":1,"));
  EXPECT(has(ask(s, "planning.get", "{\"id\":1,\"user_id\":\"you\"}"), "invalid_args: there is no plan 1"));
  EXPECT(
      has(ask(s, "planning.update", "{\"id\":1,\"user_id\":\"you\",\"title\":\"x\"}"), "there is no plan 1"));
  EXPECT_TEXT(ask(s, "planning.delete", "{\"id\":1,\"user_id\":\"you\"}"),
              "{\"status\":\"ok\",\"deleted\":false}");
  EXPECT_TEXT(ask(s, "planning.delete", "{\"id\":1}"), "{\"status\":\"ok\",\"deleted\":true}");
  EXPECT(has(ask(s, "planning.get", "{\"id\":1}"), "invalid_args: there is no plan 1"));
  shelf_free(s);
}

TEST(plans_are_listed_newest_first) {
  shelf *s = shelf_new();
  for (int i = 0; i < 3; i++) (void)ask(s, "planning.create", "{\"title\":\"t\",\"goal\":\"g\"}");
  const char *first = ask(s, "planning.list", "{\"limit\":2}");
  EXPECT_EQ(number_in(first, "id"), 3);
  EXPECT(has(first, "\"next_cursor\":\"2:2\""));
  EXPECT_EQ(number_in(ask(s, "planning.list", "{\"cursor\":\"2:2\"}"), "id"), 1);
  EXPECT_TEXT(ask(s, "planning.clear", "{}"), "{\"status\":\"ok\",\"deleted\":3}");
  shelf_free(s);
}

TEST(steps_are_an_array_within_limits) {
  shelf *s = shelf_new();
  EXPECT(has(ask(s, "planning.create", "{\"title\":\"t\"}"), "invalid_args: goal is missing"));
  EXPECT(has(ask(s, "planning.create", "{\"title\":\"t\",\"goal\":\"g\",\"steps\":{}}"),
             "invalid_args: steps must"));
  EXPECT(has(ask(s, "planning.create", "{\"title\":\"t\",\"goal\":\"g\",\"steps\":null}"), "\"steps\":[]"));
  char *args = malloc(80000);
  EXPECT(args != NULL);
  int at = snprintf(args, 80000, "{\"title\":\"t\",\"goal\":\"g\",\"steps\":[\"");
  memset(args + at, 'x', 70000);
  memcpy(args + at + 70000, "\"]}", 4);
  EXPECT_TEXT(ask(s, "planning.create", args), "invalid_args: steps may have 65536 bytes");
  memset(args + at, 'x', 60000);
  memcpy(args + at + 60000, "\"]}", 4);
  EXPECT(has(ask(s, "planning.create", args), "\"plan\""));
  at = snprintf(args, 80000, "{\"id\":2,\"steps\":[0");
  for (int i = 0; i < 256; i++) at += snprintf(args + at, 80000 - (size_t)at, ",%d", i);
  (void)snprintf(args + at, 80000 - (size_t)at, "]}");
  EXPECT(has(ask(s, "planning.update", args), "invalid_args: steps must be an array of at most 256"));
  free(args);
  shelf_free(s);
}

TEST(numbers_in_steps_stay_what_they_were) {
  shelf *s = shelf_new();
  (void)ask(s, "planning.create",
            "{\"title\":\"t\",\"goal\":\"g\",\"steps\":[123456789012345678901234567890,1e5,-0]}");
  EXPECT(has(ask(s, "planning.get", "{\"id\":1}"), "[123456789012345678901234567890,100000.0,"));
  shelf_free(s);
}
