/* server_test.c - a server as a whole: which calls are answered when, and how it ends. */
#include "talk.h"

TEST(before_create_everything_else_is_a_sandbox_error) {
  talk t;
  talk_open(&t);
  EXPECT_TEXT(
      ask(&t, 1, "run", "{\"command\":\"exit 0\"}"),
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":\"ENXIO: there is no sandbox yet: call "
      "create first\"}}");
  EXPECT(strstr(ask(&t, 2, "protocol", "{}"), "\"methods\":[\"protocol\",\"create\"") != NULL);
  talk_close(&t);
}

TEST(a_second_create_is_an_error_and_changes_nothing) {
  talk t;
  talk_open_with_sandbox(&t);
  EXPECT_TEXT(
      ask(&t, 1, "create", "{}"),
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":\"EEXIST: the sandbox was created "
      "already\"}}");
  EXPECT(strstr(ask(&t, 2, "run", "{\"command\":\"exit 3\"}"), "\"exitCode\":3") != NULL);
  talk_close(&t);
}

TEST(a_create_that_failed_can_be_tried_again) {
  talk t;
  talk_open(&t);
  EXPECT_TEXT(
      ask(&t, 1, "create", "{\"wasmDir\":\"/nowhere\"}"),
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":\"ENOENT: guests: /nowhere: no such "
      "file\"}}");
  EXPECT(strstr(ask(&t, 2, "create", "{\"wasmDir\":\"\"}"), "\"ok\":true") != NULL);
  talk_close(&t);
}

TEST(an_unknown_method_has_its_own_error) {
  talk t;
  talk_open(&t);
  EXPECT_TEXT(
      ask(&t, 1, "no.such", "{}"),
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,\"message\":\"method not found: no.such\"}}");
  talk_close(&t);
}

TEST(sandboxes_with_an_id_live_side_by_side) {
  talk t;
  talk_open(&t);
  EXPECT(strstr(ask(&t, 1, "create", "{\"id\":\"a\"}"), "\"ok\":true") != NULL);
  EXPECT(strstr(ask(&t, 2, "create", "{\"id\":\"b\"}"), "\"ok\":true") != NULL);
  EXPECT(strstr(ask(&t, 3, "create", "{\"id\":\"a\"}"), "EEXIST") != NULL);
  EXPECT(strstr(ask(&t, 4, "env.set", "{\"sandbox\":\"a\",\"name\":\"X\",\"value\":\"1\"}"), "\"ok\":true") !=
         NULL);
  EXPECT(strstr(ask(&t, 5, "env.get", "{\"sandbox\":\"a\",\"name\":\"X\"}"), "\"value\":\"1\"") != NULL);
  EXPECT(strstr(ask(&t, 6, "env.get", "{\"sandbox\":\"b\",\"name\":\"X\"}"), "\"value\":null") != NULL);
  EXPECT(strstr(ask(&t, 7, "env.get", "{\"name\":\"X\"}"), "ENXIO") != NULL);
  EXPECT(strstr(ask(&t, 8, "destroy", "{\"sandbox\":\"a\"}"), "\"ok\":true") != NULL);
  EXPECT(strstr(ask(&t, 9, "env.get", "{\"sandbox\":\"a\",\"name\":\"X\"}"), "ENXIO") != NULL);
  EXPECT(strstr(ask(&t, 10, "create", "{\"id\":\"a\"}"), "\"ok\":true") != NULL);
  talk_close(&t);
}

TEST(notifications_and_answers_get_no_reply) {
  talk t;
  talk_open_with_sandbox(&t);
  say_line(&t, "{\"jsonrpc\":\"2.0\",\"method\":\"env.set\",\"params\":{\"name\":\"X\",\"value\":\"1\"}}");
  say_line(&t, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
  say_line(&t, "   \t\r");
  EXPECT(is_silent(&t));
  EXPECT(strstr(ask(&t, 1, "env.get", "{\"name\":\"X\"}"), "\"value\":null") != NULL);
  talk_close(&t);
}

TEST(kill_is_answered_and_then_the_server_ends) {
  talk t;
  talk_open(&t);
  EXPECT_TEXT(ask(&t, 5, "kill", "{}"), "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"ok\":true}}");
  EXPECT(!t.goes_on);
  talk_close(&t);
}

TEST(kill_comes_after_the_answers_of_what_was_running) {
  talk t;
  talk_open_with_sandbox(&t);
  say(&t, 1, "run", "{\"command\":\"wait\"}");
  say(&t, 2, "kill", "{}");
  EXPECT(!t.goes_on);
  EXPECT(strstr(hear(&t), "\"id\":1,\"result\":{\"exitCode\":124") != NULL);
  EXPECT(strstr(hear(&t), "\"id\":2,\"result\":{\"ok\":true}") != NULL);
  talk_close(&t);
}

TEST(the_end_of_input_ends_what_is_running) {
  talk t;
  talk_open_with_sandbox(&t);
  say(&t, 1, "run", "{\"command\":\"wait\"}");
  say(&t, 2, "run", "{\"command\":\"dots 1000000\",\"stream\":true,\"window\":10}");
  talk_close(&t);
}

TEST(a_line_too_long_is_an_invalid_request) {
  talk t;
  talk_open(&t);
  server_line_too_long(&t.server);
  EXPECT(strstr(hear(&t),
                "\"id\":null,\"error\":{\"code\":-32600,\"message\":\"the line is longer than 1000") != NULL);
  talk_close(&t);
}

/* Each line that can be said, in an order that makes sense. */
static const char *const LINES[] = {
  "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"protocol\"}",
  "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"create\",\"params\":{\"id\":\"x\",\"env\":{\"A\":\"1\",\"B\":\"2\"}}}",
  "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"env.set\",\"params\":{\"name\":\"X\",\"value\":\"v\"}}",
  "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"env.get\",\"params\":{\"name\":\"X\"}}",
  "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"files.write\",\"params\":{\"path\":\"f\",\"data\":\"aGk=\"}}",
  "{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"files.write\",\"params\":{\"path\":\"g\",\"data\":\"aGk=\",\"append\":true}}",
  "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"files.read\",\"params\":{\"path\":\"f\"}}",
  "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"files.read\",\"params\":{\"path\":\"f\",\"offset\":1,\"length\":9}}",
  "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"files.list\",\"params\":{\"path\":\"/\",\"recursive\":true}}",
  "{\"jsonrpc\":\"2.0\",\"id\":10,\"method\":\"files.stat\",\"params\":{\"path\":\"f\"}}",
  "{\"jsonrpc\":\"2.0\",\"id\":11,\"method\":\"usage\"}",
  "{\"jsonrpc\":\"2.0\",\"id\":12,\"method\":\"run.cancel\",\"params\":{\"id\":99}}",
  "{\"jsonrpc\":\"2.0\",\"id\":13,\"method\":\"files.mkdir\",\"params\":{\"path\":\"f\"}}",
  "{\"jsonrpc\":\"2.0\",\"id\":14,\"method\":\"run\",\"params\":{\"command\":\"cat\",\"stdin\":\"aGk=\"}}",
  "{\"jsonrpc\":\"2.0\",\"id\":15,\"method\":\"run\",\"params\":{\"command\":\"split\",\"stream\":true,\"cwd\":\"/d\"}}",
  "{\"jsonrpc\":\"2.0\",\"id\":16,\"method\":\"destroy\",\"params\":{\"sandbox\":\"x\"}}",
};

TEST(every_failure_of_memory_is_an_answer_or_told_to_the_log) {
  talk t;
  for (size_t i = 0; i < COUNT_OF(LINES); i++) {
    AT_EVERY_FAULT {
      mem_fail_at(0);
      talk_open_with_sandbox(&t);
      for (size_t before = 1; before < i; before++) {
        if (strstr(LINES[before], "\"run\"") != NULL) continue;
        say_line(&t, LINES[before]);
        (void)hear(&t);
      }
      mem_fail_at(fault_);
      say_line(&t, LINES[i]);
      bool failed = mem_has_failed();
      if (t.lost == 0) EXPECT(strstr(hear(&t), "\"jsonrpc\":\"2.0\"") != NULL);
      mem_fail_at(0);
      talk_close(&t);
      if (!failed) break;
    }
  }
}
