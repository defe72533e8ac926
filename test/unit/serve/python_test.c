/* python_test.c - python.* and callbacks.*: the protocol, over sessions that echo
 * (src/serve/method_python.c). */
#include "talk.h"

#include <stdio.h>
#include <string.h>

static bool has(const char *line, const char *part) { return strstr(line, part) != NULL; }

TEST(an_evaluation_is_answered_with_its_value) {
  talk t;
  talk_open_with_sandbox(&t);
  const char *line = ask(&t, 1, "python.eval", "{\"code\":\"[1, {\\\"a\\\":2}]\"}");
  EXPECT(has(line, "\"id\":1,\"result\":{\"outcome\":\"value\",\"stdout\":\"\",\"stderr\":\"\""));
  EXPECT(has(line, "\"value\":[1,{\"a\":2}]"));
  talk_close(&t);
}

TEST(almost_json_is_no_value) {
  talk t;
  talk_open_with_sandbox(&t);
  const char *line = ask(&t, 1, "python.eval", "{\"code\":\"{1,2}\"}");
  EXPECT(has(line, "\"repr\":\"{1,2}\"") && !has(line, "\"value\":"));
  talk_close(&t);
}

TEST(streamed_output_comes_before_the_answer) {
  talk t;
  talk_open_with_sandbox(&t);
  EXPECT_TEXT(
      ask(&t, 1, "python.eval", "{\"code\":\"print\",\"stream\":true}"),
      "{\"jsonrpc\":\"2.0\",\"method\":\"python.output\",\"params\":{\"id\":1,\"stream\":\"stdout\",\"data\":\"out\"}}");
  EXPECT(has(hear(&t), "\"id\":1,\"result\""));
  talk_close(&t);
}

TEST(an_evaluation_can_be_cancelled_while_others_are_answered) {
  talk t;
  talk_open_with_sandbox(&t);
  say(&t, 1, "python.eval", "{\"code\":\"wait\"}");
  EXPECT(has(ask(&t, 2, "python.eval", "{\"session\":\"b\",\"code\":\"1\"}"), "\"id\":2,\"result\""));
  bool answered = false, cancelled = false; /* it may not have begun when it is cancelled: then once more */
  while (!answered) {
    const char *line = cancelled ? hear(&t) : ask(&t, 3, "python.cancel", "{}");
    cancelled = cancelled || has(line, "\"cancelled\":true");
    if (!has(line, "\"id\":1")) continue;
    answered = true;
    EXPECT(has(line, "\"outcome\":\"stopped\"") && has(line, "\"end\":\"cancelled\""));
  }
  talk_close(&t);
}

TEST(evaluation_in_a_session_that_has_not_settled_runs_on_a_thread) {
  talk t;
  talk_open_with_sandbox(&t);
  EXPECT(has(ask(&t, 1, "python.eval", "{\"code\":\"pool\"}"), "\"repr\":\"pool\""));
  EXPECT(has(ask(&t, 2, "python.eval", "{\"code\":\"1\"}"), "\"repr\":\"1\""));
  talk_close(&t);
}

TEST(requests_in_line_follow_an_evaluation) {
  talk t;
  talk_open_with_sandbox(&t);
  say(&t, 1, "python.eval", "{\"code\":\"1\"}");
  say(&t, 2, "python.eval", "{\"code\":\"2\"}");
  say(&t, 3, "python.saveState", "{}");
  EXPECT(has(hear(&t), "\"id\":1,"));
  EXPECT(has(hear(&t), "\"id\":2,"));
  EXPECT(has(hear(&t), "\"id\":3,"));
  talk_close(&t);
}

TEST(the_end_of_the_server_ends_what_runs_in_sessions) {
  talk t;
  talk_open_with_sandbox(&t);
  say(&t, 1, "python.eval", "{\"code\":\"wait\"}");
  talk_close(&t);
}

TEST(parameters_that_make_no_sense_are_refused) {
  static const char *const bad[] = { "{}",
                                     "{\"code\":7}",
                                     "{\"code\":\"1\",\"trace\":\"line\"}",
                                     "{\"code\":\"1\",\"trace\":[\"lines\"]}",
                                     "{\"code\":\"1\",\"traceMax\":0}",
                                     "{\"code\":\"1\",\"timeoutMs\":0}",
                                     "{\"code\":\"1\",\"session\":1}" };
  talk t;
  talk_open_with_sandbox(&t);
  for (size_t i = 0; i < COUNT_OF(bad); i++)
    EXPECT(has(ask(&t, (int)i, "python.eval", bad[i]), "\"code\":-32602"));
  EXPECT(has(ask(&t, 9, "python.loadState", "{\"data\":\"***\"}"), "data: is not base64"));
  talk_close(&t);
}

TEST(failures_of_the_session_are_errors) {
  talk t;
  talk_open_with_sandbox(&t);
  EXPECT(has(ask(&t, 1, "python.eval", "{\"code\":\"busy\"}"), "\"code\":1,\"message\":\"EBUSY: "));
  EXPECT(has(ask(&t, 2, "python.loadState", "{\"data\":\"AAAA\"}"),
             "\"code\":1,\"message\":\"EINVAL: not a saved state"));
  EXPECT(has(ask(&t, 3, "python.close", "{\"session\":\"none\"}"), "ENOENT"));
  talk_close(&t);
}

TEST(state_comes_and_goes_as_base64) {
  talk t;
  talk_open_with_sandbox(&t);
  EXPECT(has(ask(&t, 1, "python.saveState", "{}"), "\"result\":{\"data\":\"c3RhdGU=\"}"));
  EXPECT(has(ask(&t, 2, "python.loadState", "{\"data\":\"c3RhdGU=\"}"), "\"ok\":true"));
  EXPECT(has(ask(&t, 3, "python.clearState", "{}"), "\"ok\":true"));
  talk_close(&t);
}

TEST(a_state_may_come_in_pieces) {
  talk t;
  talk_open_with_sandbox(&t);
  EXPECT(has(ask(&t, 1, "python.loadState", "{\"data\":\"c3Q=\",\"more\":true}"), "\"ok\":true"));
  EXPECT(has(ask(&t, 2, "python.loadState", "{\"data\":\"YXRl\",\"offset\":3}"),
             "\"code\":-32602,\"message\":\"offset: 2 bytes of the state have come"));
  EXPECT(has(ask(&t, 3, "python.loadState", "{\"data\":\"YXRl\",\"offset\":2}"), "\"ok\":true"));
  EXPECT(has(ask(&t, 4, "python.loadState", "{\"data\":\"YXRl\",\"offset\":2}"),
             "offset: 0 bytes of the state"));
  EXPECT(has(ask(&t, 5, "python.loadState", "{\"data\":\"YXRlYXRl\",\"more\":true}"), "\"ok\":true"));
  EXPECT(has(ask(&t, 6, "python.loadState", "{\"data\":\"c3RhdGU=\"}"), "\"ok\":true"));
  talk_close(&t);
}

TEST(a_fork_has_a_name_of_its_own) {
  talk t;
  talk_open_with_sandbox(&t);
  EXPECT(has(ask(&t, 1, "python.fork", "{\"to\":\"b\"}"), "\"ok\":true"));
  EXPECT(has(ask(&t, 2, "python.fork", "{\"to\":\"b\"}"), "EEXIST"));
  EXPECT(has(ask(&t, 3, "python.close", "{\"session\":\"b\"}"), "\"ok\":true"));
  talk_close(&t);
}

TEST(a_callback_is_a_request_to_the_client) {
  talk t;
  talk_open_with_sandbox(&t);
  EXPECT(has(
      ask(&t, 1, "callbacks.set", "{\"callbacks\":[{\"name\":\"f\",\"parameters\":{\"type\":\"object\"}}]}"),
      "\"ok\":true"));
  EXPECT_TEXT(
      ask(&t, 2, "python.eval", "{\"code\":\"ask\"}"),
      "{\"jsonrpc\":\"2.0\",\"id\":\"cay-1\",\"method\":\"callback\",\"params\":{\"name\":\"f\",\"arguments\":{\"a\":1}}}");
  say_line(&t, "{\"jsonrpc\":\"2.0\",\"id\":\"cay-1\",\"result\":{\"b\":[2]}}");
  EXPECT(has(hear(&t), "\"repr\":\"{\\\"b\\\":[2]}\""));
  (void)ask(&t, 3, "python.eval", "{\"code\":\"ask\"}");
  say_line(&t, "{\"jsonrpc\":\"2.0\",\"id\":\"cay-2\",\"error\":{\"code\":1,\"message\":\"not today\"}}");
  EXPECT(has(hear(&t), "\"repr\":\"refused: not today\""));
  EXPECT(has(ask(&t, 4, "callbacks.remove", "{\"name\":\"f\"}"), "\"ok\":true"));
  EXPECT(has(ask(&t, 5, "callbacks.remove", "{\"name\":\"f\"}"), "ENOENT"));
  EXPECT(has(ask(&t, 6, "callbacks.set", "{\"callbacks\":[{\"name\":\"bad name\"}]}"), "\"code\":-32602"));
  EXPECT(has(ask(&t, 7, "callbacks.set", "{\"callbacks\":{}}"), "\"code\":-32602"));
  talk_close(&t);
}

TEST(a_client_that_goes_answers_what_its_guests_asked) {
  talk t;
  talk_open_with_sandbox(&t);
  (void)ask(&t, 1, "callbacks.set", "{\"callbacks\":[{\"name\":\"f\"}]}");
  (void)ask(&t, 2, "python.eval", "{\"code\":\"ask\"}");
  talk_close(&t);
}

TEST(sessions_begin_as_an_image) {
  talk t;
  talk_open(&t);
  EXPECT(has(ask(&t, 1, "create", "{\"image\":\"/nothing\"}"), "\"message\":\"ENOENT: /nothing"));
  EXPECT(has(ask(&t, 2, "create", "{\"image\":\"/image\"}"), "\"ok\":true"));
  EXPECT(has(ask(&t, 3, "python.eval", "{\"code\":\"1\"}"), "\"outcome\":\"value\""));
  EXPECT(has(ask(&t, 4, "python.open", "{\"session\":\"a\",\"image\":\"/nothing\"}"), "ENOENT: /nothing"));
  EXPECT(has(ask(&t, 5, "python.open", "{\"session\":\"a\",\"image\":\"/image\"}"), "\"ok\":true"));
  EXPECT(has(ask(&t, 6, "python.open", "{\"session\":\"a\",\"image\":\"/image\"}"), "EEXIST: "));
  EXPECT(has(ask(&t, 7, "python.open", "{\"session\":\"b\"}"), "-32602"));
  talk_close(&t);
}
