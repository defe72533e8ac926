/* kv_todo_test.c - kv.sqlite.todo.*, and what every family shares: users, texts, limits, SQL in strings. */
#include "kv.h"

TEST(a_todo_has_these_members_in_this_order) {
  shelf *s = shelf_new();
  EXPECT_TEXT(
      ask(s, "todo.create", "{\"user_id\":\"cli_user\",\"title\":\"buy milk\"}"),
      "{\"status\":\"ok\",\"item\":{\"id\":1,\"user_id\":\"cli_user\",\"title\":\"buy milk\",\"notes\":null,"
      "\"position\":1,\"created_at\":1000,\"updated_at\":1000,\"completed_at\":null}}");
  s->now = 1005;
  EXPECT_TEXT(
      ask(s, "todo.complete", "{\"user_id\":\"cli_user\",\"id\":1}"),
      "{\"status\":\"ok\",\"item\":{\"id\":1,\"user_id\":\"cli_user\",\"title\":\"buy milk\",\"notes\":null,"
      "\"position\":1,\"created_at\":1000,\"updated_at\":1005,\"completed_at\":1005}}");
  EXPECT_TEXT(ask(s, "todo.list", "{\"user_id\":\"cli_user\"}"),
              "{\"status\":\"ok\",\"items\":[],\"next_cursor\":null}");
  EXPECT_EQ(number_in(ask(s, "todo.list", "{\"user_id\":\"cli_user\",\"status\":\"completed\"}"), "id"), 1);
  EXPECT(has(ask(s, "todo.reopen", "{\"user_id\":\"cli_user\",\"id\":1}"), "\"completed_at\":null"));
  EXPECT_TEXT(ask(s, "todo.delete", "{\"user_id\":\"cli_user\",\"id\":1}"),
              "{\"status\":\"ok\",\"deleted\":true}");
  EXPECT_TEXT(ask(s, "todo.delete", "{\"user_id\":\"cli_user\",\"id\":1}"),
              "{\"status\":\"ok\",\"deleted\":false}");
  shelf_free(s);
}

TEST(completing_twice_keeps_the_first_moment) {
  shelf *s = shelf_new();
  (void)ask(s, "todo.create", "{\"title\":\"a\"}");
  (void)ask(s, "todo.complete", "{\"id\":1}");
  s->now = 2000;
  EXPECT_EQ(number_in(ask(s, "todo.complete", "{\"id\":1}"), "completed_at"), 1000);
  shelf_free(s);
}

TEST(many_are_made_all_or_none) {
  shelf *s = shelf_new();
  const char *made =
      ask(s, "todo.create_many", "{\"items\":[\"a\",{\"title\":\"b\",\"notes\":\"n\"},\"c\"]}");
  EXPECT_EQ(count_of(made, "\"id\":"), 3);
  EXPECT(has(made, "\"title\":\"b\",\"notes\":\"n\",\"position\":2"));
  EXPECT(has(ask(s, "todo.create_many", "{\"items\":[\"d\",{\"notes\":\"x\"}]}"),
             "invalid_args: title is missing"));
  EXPECT(has(ask(s, "todo.create_many", "{\"items\":[\"d\",7]}"), "invalid_args: an item must be"));
  EXPECT(
      has(ask(s, "todo.create_many", "{\"items\":[]}"), "invalid_args: items must be an array of 1 to 100"));
  EXPECT(has(ask(s, "todo.create_many", "{}"), "invalid_args: items must be"));
  EXPECT_EQ(count_of(ask(s, "todo.list", "{}"), "\"id\":"), 3);
  shelf_free(s);
}

static const char *titles(shelf *s) {
  static char out[200];
  out[0] = '\0';
  const char *text = ask(s, "todo.list", "{\"status\":\"all\"}");
  for (const char *at = text; (at = strstr(at, "\"title\":\"")) != NULL;) {
    at += strlen("\"title\":\"");
    (void)snprintf(out + strlen(out), sizeof out - strlen(out), "%.1s", at);
  }
  return out;
}

TEST(those_that_are_named_come_first_when_reordered) {
  shelf *s = shelf_new();
  (void)ask(s, "todo.create_many", "{\"items\":[\"a\",\"b\",\"c\",\"d\",\"e\"]}");
  EXPECT_TEXT(ask(s, "todo.reorder", "{\"ordered_ids\":[4,2]}"), "{\"status\":\"ok\",\"reordered\":2}");
  EXPECT_TEXT(titles(s), "dbace");
  EXPECT(has(ask(s, "todo.list", "{\"limit\":1}"), "\"position\":1,"));
  EXPECT(has(ask(s, "todo.create", "{\"title\":\"f\"}"), "\"position\":6,"));
  EXPECT_TEXT(titles(s), "dbacef");
  static const char *const bad[] = {
    "{\"ordered_ids\":[1,99]}", "{\"ordered_ids\":[1,1]}",     "{\"ordered_ids\":[1,\"2\"]}",
    "{\"ordered_ids\":[]}",     "{\"ordered_ids\":\"1\"}",     "{}",
    "{\"ordered_ids\":[1,-2]}", "{\"ordered_ids\":[1,2.5]}",   "{\"user_id\":\"you\",\"ordered_ids\":[1]}",
    "{\"ordered_ids\":null}",   "{\"ordered_ids\":[1,[2,3]]}", "{\"ordered_ids\":[1,18446744073709551615]}",
  };
  for (size_t i = 0; i < COUNT_OF(bad); i++) {
    EXPECT(has(ask(s, "todo.reorder", bad[i]), "invalid_args: ordered_ids"));
    EXPECT_TEXT(titles(s), "dbacef");
  }
  shelf_free(s);
}

TEST(clear_takes_the_open_ones_unless_it_is_told) {
  shelf *s = shelf_new();
  (void)ask(s, "todo.create_many", "{\"items\":[\"a\",\"b\",\"c\"]}");
  (void)ask(s, "todo.complete", "{\"id\":2}");
  EXPECT_TEXT(ask(s, "todo.clear", "{}"), "{\"status\":\"ok\",\"deleted\":2}");
  EXPECT_TEXT(ask(s, "todo.clear", "{\"status\":\"completed\"}"), "{\"status\":\"ok\",\"deleted\":1}");
  EXPECT_TEXT(ask(s, "todo.clear", "{\"status\":\"all\"}"), "{\"status\":\"ok\",\"deleted\":0}");
  shelf_free(s);
}

TEST(a_list_is_read_page_by_page) {
  shelf *s = shelf_new();
  (void)ask(s, "todo.create_many", "{\"items\":[\"a\",\"b\",\"c\",\"d\",\"e\"]}");
  EXPECT(has(ask(s, "todo.list", "{\"limit\":2}"), "\"next_cursor\":\"2:2\"}"));
  const char *second = ask(s, "todo.list", "{\"limit\":2,\"cursor\":\"2:2\"}");
  EXPECT_EQ(number_in(second, "id"), 3);
  EXPECT(has(second, "\"next_cursor\":\"4:4\"}"));
  const char *third = ask(s, "todo.list", "{\"limit\":2,\"cursor\":\"4:4\"}");
  EXPECT_EQ(count_of(third, "\"id\":"), 1);
  EXPECT(has(third, "\"next_cursor\":null}"));
  EXPECT(has(ask(s, "todo.list", "{\"limit\":5}"), "\"next_cursor\":null}"));
  EXPECT_EQ(count_of(ask(s, "todo.list", "{\"limit\":9000000000}"), "\"id\":"), 5);
  static const char *const bad[] = { "\"\"",      "\"2\"",    "\"2:\"",
                                     "\"2:2 \"",  "\"-1:2\"", "7",
                                     "\"2:2:2\"", "\" 2:2\"", "\"9999999999999999999999:1\"" };
  for (size_t i = 0; i < COUNT_OF(bad); i++) {
    char args[100];
    (void)snprintf(args, sizeof args, "{\"cursor\":%s}", bad[i]);
    EXPECT(has(ask(s, "todo.list", args), "invalid_args: cursor must be"));
  }
  shelf_free(s);
}

TEST(users_do_not_see_each_other) {
  shelf *s = shelf_new();
  (void)ask(s, "todo.create", "{\"user_id\":\"a\",\"title\":\"of a\"}");
  (void)ask(s, "todo.create", "{\"user_id\":\"b\",\"title\":\"of b\"}");
  EXPECT(!has(ask(s, "todo.list", "{\"user_id\":\"a\"}"), "of b"));
  EXPECT(has(ask(s, "todo.complete", "{\"user_id\":\"a\",\"id\":2}"), "invalid_args: there is no todo 2"));
  EXPECT(has(ask(s, "todo.reopen", "{\"user_id\":\"a\",\"id\":2}"), "invalid_args: there is no todo 2"));
  EXPECT(has(ask(s, "todo.delete", "{\"user_id\":\"a\",\"id\":2}"), "\"deleted\":false"));
  EXPECT(has(ask(s, "todo.clear", "{\"user_id\":\"a\",\"status\":\"all\"}"), "\"deleted\":1"));
  EXPECT(has(ask(s, "todo.list", "{\"user_id\":\"b\"}"), "of b"));
  shelf_free(s);
}

TEST(bad_arguments_are_named) {
  static const char *const cases[][3] = {
    { "todo.create", "{}", "title is missing" },
    { "todo.create", "null", "title is missing" },
    { "todo.create", "{\"title\":null}", "title is missing" },
    { "todo.create", "{\"title\":\"\"}", "title must be a text of 1 to 512 bytes" },
    { "todo.create", "{\"title\":\" \\t\\n\"}", "title must be" },
    { "todo.create", "{\"title\":7}", "title must be" },
    { "todo.create", "{\"title\":\"a\\u0000b\"}", "title must be" },
    { "todo.create", "{\"title\":\"a\",\"notes\":[]}", "notes must be" },
    { "todo.create", "{\"title\":\"a\",\"user_id\":7}", "user_id must be" },
    { "todo.create", "{\"title\":\"a\",\"user_id\":\"\"}", "user_id must be" },
    { "todo.create", "{\"title\":\"a\",\"user_id\":\"a\\nb\"}", "user_id has a control character" },
    { "todo.complete", "{}", "id is missing" },
    { "todo.complete", "{\"id\":\"1\"}", "id must be a whole number from 1" },
    { "todo.complete", "{\"id\":0}", "id must be" },
    { "todo.complete", "{\"id\":1.5}", "id must be" },
    { "todo.complete", "{\"id\":18446744073709551615}", "id must be" },
    { "todo.complete", "{\"id\":123456789012345678901234567890}", "id must be" },
    { "todo.complete", "{\"id\":5}", "there is no todo 5" },
    { "todo.list", "{\"status\":\"done\"}", "status must be one of all, open, completed" },
    { "todo.list", "{\"limit\":0}", "limit must be" },
    { "todo.list", "{\"limit\":\"5\"}", "limit must be" },
  };
  shelf *s = shelf_new();
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    char want[200];
    (void)snprintf(want, sizeof want, "invalid_args: %s", cases[i][2]);
    const char *got = ask(s, cases[i][0], cases[i][1]);
    if (strncmp(got, want, strlen(want)) != 0) EXPECT_TEXT(got, want);
  }
  EXPECT(has(ask(s, "todo.list", "{\"status\":\"all\"}"), "\"items\":[]"));
  shelf_free(s);
}

TEST(unknown_members_are_ignored) {
  shelf *s = shelf_new();
  EXPECT(
      has(ask(s, "todo.create", "{\"action\":\"create\",\"title\":\"a\",\"color\":{\"r\":1}}"), "\"id\":1,"));
  shelf_free(s);
}

TEST(texts_and_rows_have_limits) {
  shelf *s = shelf_new();
  char title[600], args[700];
  memset(title, 'x', sizeof title);
  title[512] = '\0';
  (void)snprintf(args, sizeof args, "{\"title\":\"%s\"}", title);
  EXPECT(has(ask(s, "todo.create", args), title));
  (void)snprintf(args, sizeof args, "{\"title\":\"%sx\"}", title);
  EXPECT(has(ask(s, "todo.create", args), "invalid_args: title must be"));
  for (int i = 1; i < 20; i++) EXPECT(has(ask(s, "todo.create", "{\"title\":\"a\"}"), "\"item\""));
  EXPECT_TEXT(ask(s, "todo.create", "{\"title\":\"a\"}"),
              "invalid_args: a user may have 20 of these, and has 20");
  EXPECT(has(ask(s, "todo.create_many", "{\"user_id\":\"you\",\"items\":[\"a\"]}"), "\"items\""));
  (void)ask(s, "todo.delete", "{\"id\":1}");
  EXPECT(has(ask(s, "todo.create_many", "{\"items\":[\"a\",\"b\"]}"), "invalid_args: a user may have 20"));
  EXPECT(has(ask(s, "todo.create", "{\"title\":\"a\"}"), "\"id\":22,")); /* 1 is not used again */
  shelf_free(s);
}

/* Every member of every capability that takes a text, with texts that are SQL. */
TEST(sql_in_every_string_is_only_text) {
  static const char *const texts[] = {
    "'); DROP TABLE todos; --",
    "' OR '1'='1",
    "\\\" OR 1=1 --",
    "?1",
    ":name",
    "'; ATTACH '/tmp/x' AS y; --",
    "%' UNION SELECT 1,2,3,4,5,6,7,8 --",
    "Robert'); DELETE FROM jobs;--",
  };
  static const char *const cases[][2] = {
    { "todo.create", "{\"user_id\":\"%1$s\",\"title\":\"%1$s\",\"notes\":\"%1$s\"}" },
    { "todo.create_many",
      "{\"user_id\":\"%1$s\",\"items\":[\"%1$s\",{\"title\":\"%1$s\",\"notes\":\"%1$s\"}]}" },
    { "todo.list", "{\"user_id\":\"%1$s\"}" },
    { "tasks.schedule", "{\"user_id\":\"%1$s\",\"name\":\"%1$s\",\"prompt\":\"%1$s\",\"run_at\":1}" },
    { "tasks.list", "{\"user_id\":\"%1$s\"}" },
    { "reminders.create", "{\"user_id\":\"%1$s\",\"title\":\"%1$s\"}" },
    { "reminders.list", "{\"user_id\":\"%1$s\"}" },
    { "planning.create",
      "{\"user_id\":\"%1$s\",\"title\":\"%1$s\",\"goal\":\"%1$s\",\"steps\":[\"%1$s\"],\"status\":\"%1$s\"}" },
    { "planning.list", "{\"user_id\":\"%1$s\"}" },
    { "wakeup.create",
      "{\"user_id\":\"%1$s\",\"name\":\"%1$s\",\"prompt\":\"%1$s\",\"interval_minutes\":5}" },
    { "wakeup.list", "{\"user_id\":\"%1$s\"}" },
  };
  static const char *const refused[][2] = {
    { "todo.list", "{\"status\":\"%s\"}" },
    { "todo.list", "{\"cursor\":\"%s\"}" },
    { "todo.list", "{\"limit\":\"%s\"}" },
    { "todo.complete", "{\"id\":\"%s\"}" },
    { "todo.reorder", "{\"ordered_ids\":[\"%s\"]}" },
    { "todo.clear", "{\"status\":\"%s\"}" },
    { "tasks.clear", "{\"status\":\"%s\"}" },
    { "tasks.enable", "{\"id\":\"%s\"}" },
    { "reminders.clear", "{\"status\":\"%s\"}" },
    { "reminders.snooze", "{\"id\":1,\"due_at\":\"%s\"}" },
    { "planning.get", "{\"id\":\"%s\"}" },
    { "planning.update", "{\"id\":1,\"steps\":\"%s\"}" },
  };
  shelf *s = shelf_new();
  (void)ask(s, "todo.create", "{\"title\":\"stays\"}");
  char args[1000];
  for (size_t t = 0; t < COUNT_OF(texts); t++) {
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
      (void)snprintf(args, sizeof args, cases[i][1], texts[t]);
      const char *got = ask(s, cases[i][0], args);
      EXPECT(has(got, "{\"status\":\"ok\""));
      EXPECT(has(got, texts[t]));
      EXPECT(!has(got, "stays"));
    }
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
      (void)snprintf(args, sizeof args, refused[i][1], texts[t]);
      EXPECT(has(ask(s, refused[i][0], args), "invalid_args: "));
    }
  }
  EXPECT_EQ(count_of(ask(s, "todo.list", "{\"status\":\"all\"}"), "\"id\":"), 1);
  shelf_free(s);
}

TEST(without_a_user_or_a_store_it_says_so) {
  tool_world world = { .tool = "todo" };
  static const char call[] =
      "{\"status\":\"capability_call\",\"capability_call\":{\"name\":\"kv.sqlite.todo.list\",\"args\":{}}}";
  buf out = BUF_INIT(1000);
  tool_end end;
  EXPECT_EQ(
      tool_answer(&world, &(tool_allow){ 0 }, false, (cay_slice){ call, strlen(call) }, &out, &end, NULL),
      CAY_OK);
  EXPECT_EQ(end.code, TOOL_INTERNAL);
  EXPECT_TEXT(end.why, "there is no store");
  shelf *s = shelf_new();
  world.store = s->store;
  EXPECT_EQ(
      tool_answer(&world, &(tool_allow){ 0 }, false, (cay_slice){ call, strlen(call) }, &out, &end, NULL),
      CAY_OK);
  EXPECT_EQ(end.code, TOOL_INVALID_ARGS);
  EXPECT_TEXT(end.why, "user_id is missing");
  buf_free(&out);
  shelf_free(s);
}

/* Out of memory, or out of luck with the disk: it is said, and then nothing has happened. */
static void at_every_fault(shelf *s, const char *capability, const char *args, int64_t rows_of_one) {
  int64_t there = (int64_t)count_of(ask(s, "todo.list", "{\"status\":\"all\",\"limit\":1000}"), "\"id\":");
  bool done = false;
  AT_EVERY_FAULT {
    buf out = BUF_INIT(1 << 20);
    cay_status status;
    enum tool_code code = shelf_answer(s, capability, args, &out, &status);
    mem_fail_at(0);
    done = status == CAY_OK && code == TOOL_OK;
    EXPECT(done || status == CAY_NO_MEMORY || code == TOOL_INTERNAL);
    buf_free(&out);
    int64_t now = (int64_t)count_of(ask(s, "todo.list", "{\"status\":\"all\",\"limit\":1000}"), "\"id\":");
    /* The answer itself may not fit into memory after the change was made. */
    EXPECT(now == there || now == there + rows_of_one);
    if (done) EXPECT_EQ(now, there + rows_of_one);
    if (code == TOOL_INTERNAL) EXPECT_EQ(now, there);
    there = now;
  }
  EXPECT(done);
}

TEST(every_fault_is_said_and_undone) {
  shelf *s = shelf_new();
  at_every_fault(s, "todo.create", "{\"title\":\"a\"}", 1);
  at_every_fault(s, "todo.create_many", "{\"items\":[\"a\",\"b\"]}", 2);
  at_every_fault(s, "todo.complete", "{\"id\":1}", 0);
  at_every_fault(s, "todo.reorder", "{\"ordered_ids\":[2,1]}", 0);
  at_every_fault(s, "todo.list", "{\"status\":\"all\"}", 0);
  shelf_free(s);
}
