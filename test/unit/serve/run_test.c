/* run_test.c - commands: answers, streams, the client's pace, cancelling, and the end of a sandbox meanwhile.
 */
#include "talk.h"

#include <unistd.h>

static bool has(const char *line, const char *part) { return strstr(line, part) != NULL; }

TEST(a_result_has_exactly_the_members_of_the_contract) {
  talk t;
  talk_open_with_sandbox(&t);
  EXPECT_TEXT(ask(&t, 2, "run", "{\"command\":\"cat\",\"stdin\":\"6\\n\"}"),
              "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"exitCode\":0,\"stdout\":\"6\\n\",\"stderr\":\"\","
              "\"executionTimeMs\":1.234}}");
  EXPECT_TEXT(
      ask(&t, 3, "run", "{\"command\":\"what\"}"),
      "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"exitCode\":127,\"stdout\":\"\",\"stderr\":\"what\","
      "\"executionTimeMs\":1.234}}");
  talk_close(&t);
}

TEST(bytes_go_both_ways_in_base64) {
  talk t;
  talk_open_with_sandbox(&t);
  EXPECT(has(ask(&t, 1, "run", "{\"command\":\"cat\",\"stdin\":\"AP8=\",\"encoding\":\"base64\"}"),
             "\"stdout\":\"AP8=\""));
  EXPECT(has(ask(&t, 2, "run", "{\"command\":\"cat\",\"stdin\":\"A\",\"encoding\":\"base64\"}"), "-32602"));
  EXPECT(has(ask(&t, 3, "run", "{\"command\":\"cat\",\"encoding\":\"latin1\"}"), "-32602"));
  talk_close(&t);
}

TEST(the_deadline_is_exit_code_124) {
  talk t;
  talk_open_with_sandbox(&t);
  const char *line = ask(&t, 1, "run", "{\"command\":\"wait\",\"timeoutMs\":20}");
  EXPECT(has(line, "\"exitCode\":124"));
  EXPECT(has(line, "\"end\":\"time\""));
  talk_close(&t);
}

TEST(a_missing_directory_is_an_error_and_not_a_result) {
  talk t;
  talk_open_with_sandbox(&t);
  EXPECT(
      has(ask(&t, 1, "run", "{\"command\":\"cat\",\"cwd\":\"/x\"}"), "\"code\":1,\"message\":\"ENOENT: /x"));
  talk_close(&t);
}

TEST(a_cancelled_run_is_answered_like_every_other) {
  talk t;
  talk_open_with_sandbox(&t);
  say(&t, 1, "run", "{\"command\":\"wait\"}");
  say(&t, 2, "run.cancel", "{\"id\":1}");
  const char *first = hear(&t);
  bool run_first = has(first, "\"id\":1,");
  EXPECT(has(first, run_first ? "\"end\":\"cancelled\"" : "\"cancelled\":true"));
  EXPECT(has(hear(&t), run_first ? "\"cancelled\":true" : "\"end\":\"cancelled\""));
  EXPECT(has(ask(&t, 3, "run.cancel", "{\"id\":1}"), "\"cancelled\":false"));
  EXPECT(has(ask(&t, 4, "run.cancel", "{}"), "-32602"));
  talk_close(&t);
}

TEST(sizes_of_terminals_and_input_are_checked) {
  talk t;
  talk_open_with_sandbox(&t);
  EXPECT(has(ask(&t, 1, "run", "{\"command\":\"cat\",\"tty\":1}"), "-32602"));
  EXPECT(has(ask(&t, 2, "run", "{\"command\":\"cat\",\"tty\":{\"rows\":0}}"), "-32602"));
  EXPECT(has(ask(&t, 3, "run", "{\"command\":\"cat\",\"tty\":{\"cols\":65536}}"), "-32602"));
  EXPECT(has(ask(&t, 4, "run", "{\"command\":\"cat\",\"tty\":{\"cols\":\"9\"}}"), "-32602"));
  EXPECT(has(ask(&t, 5, "run", "{\"command\":\"cat\",\"tty\":{}}"), "\"exitCode\":0"));
  EXPECT(has(ask(&t, 6, "run.resize", "{\"id\":5,\"rows\":1}"), "-32602"));
  EXPECT(has(ask(&t, 7, "run.resize", "{\"id\":5,\"rows\":1,\"cols\":1}"), "\"running\":false"));
  EXPECT(has(ask(&t, 8, "run.input", "{\"id\":5,\"data\":7}"), "-32602"));
  EXPECT(has(ask(&t, 9, "run.input", "{\"data\":\"x\"}"), "-32602"));
  EXPECT(has(ask(&t, 10, "run.input", "{\"id\":5,\"data\":\"x\"}"),
             "\"taken\":0,\"ok\":true,\"running\":false"));
  say(&t, 11, "run", "{\"command\":\"wait\",\"encoding\":\"base64\"}");
  EXPECT(has(ask(&t, 12, "run.input", "{\"id\":11,\"data\":\"?\"}"), "-32602"));
  EXPECT(has(ask(&t, 13, "run.input", "{\"id\":11,\"data\":\"eA==\"}"), "-32602")); /* not left open */
  talk_close(&t);
}

TEST(other_calls_are_answered_while_a_command_runs) {
  talk t;
  talk_open_with_sandbox(&t);
  say(&t, 1, "run", "{\"command\":\"wait\"}");
  EXPECT(has(ask(&t, 2, "files.write", "{\"path\":\"/f\",\"data\":\"aGk=\"}"),
             "\"id\":2,\"result\":{\"ok\":true}"));
  EXPECT(has(ask(&t, 3, "run", "{\"command\":\"exit 5\"}"), "\"id\":3,\"result\":{\"exitCode\":5"));
  talk_close(&t);
}

TEST(streamed_output_comes_before_the_reply_in_whole_characters) {
  talk t;
  talk_open_with_sandbox(&t);
  say(&t, 1, "run", "{\"command\":\"split\",\"stream\":true}");
  EXPECT_TEXT(hear(&t),
              "{\"jsonrpc\":\"2.0\",\"method\":\"run.output\",\"params\":{\"id\":1,\"stream\":\"stdout\","
              "\"data\":\"a\"}}");
  EXPECT(has(hear(&t), "\"stream\":\"stdout\",\"data\":\"é\""));
  EXPECT(has(hear(&t), "\"stream\":\"stdout\",\"data\":\"\xef\xbf\xbd\""));
  EXPECT(has(hear(&t), "\"stream\":\"stdout\",\"data\":\"\xef\xbf\xbd\"")); /* the rest, at the end */
  EXPECT(has(hear(&t), "\"stream\":\"stderr\",\"data\":\"\xef\xbf\xbd\""));
  EXPECT(has(hear(&t), "\"exitCode\":0,\"stdout\":\"\",\"stderr\":\"\""));
  talk_close(&t);
}

TEST(streamed_base64_is_not_held_back) {
  talk t;
  talk_open_with_sandbox(&t);
  say(&t, 1, "run", "{\"command\":\"split\",\"stream\":true,\"encoding\":\"base64\"}");
  EXPECT(has(hear(&t), "\"data\":\"YcM=\""));
  for (int i = 0; i < 3; i++) EXPECT(has(hear(&t), "run.output"));
  EXPECT(has(hear(&t), "\"exitCode\":0"));
  talk_close(&t);
}

/* The next two dots, or the end; an answer to run.ack may come before, between or after them. */
static bool hear_two(talk *t) {
  for (int dots = 0; dots < 2;) {
    const char *line = hear(t);
    if (has(line, "\"exitCode\":0")) return false;
    if (has(line, "\"data\":\".\",\"bytes\":1")) dots++;
  }
  return true;
}

TEST(a_command_waits_for_a_client_that_said_how_much_it_takes) {
  talk t;
  talk_open_with_sandbox(&t);
  say(&t, 1, "run", "{\"command\":\"dots 6\",\"stream\":true,\"window\":2}");
  EXPECT(hear_two(&t));
  usleep(2000);
  EXPECT(is_silent(&t));
  int pairs = 1;
  do say(&t, 100 + pairs++, "run.ack", "{\"id\":1,\"bytes\":2}");
  while (hear_two(&t));
  EXPECT_EQ(pairs, 4);
  talk_close(&t);
}

TEST(background_process_lives_on_unless_the_run_was_stopped) {
  talk t;
  talk_open_with_sandbox(&t);
  EXPECT(has(ask(&t, 1, "run", "{\"command\":\"leave\"}"), "\"exitCode\":0"));
  EXPECT_EQ(fake_kills(), 0);
  EXPECT(has(ask(&t, 2, "run", "{\"command\":\"wait\",\"timeoutMs\":5}"), "\"end\":\"time\""));
  EXPECT(fake_kills() > 0);
  fake_late(); /* discarded, though its run was not streamed */
  EXPECT(has(ask(&t, 3, "run", "{\"command\":\"exit 0\"}"), "\"stdout\":\"\""));
  talk_close(&t);
}

TEST(output_is_kept_up_to_its_limit_and_marked) {
  talk t;
  talk_open(&t);
  EXPECT(has(ask(&t, 1, "create", "{\"outputLimitBytes\":3}"), "\"ok\":true"));
  const char *line = ask(&t, 2, "run", "{\"command\":\"dots 5\"}");
  EXPECT(has(line, "\"stdout\":\"...\",\"stderr\":\"\""));
  EXPECT(has(line, "\"stdoutTruncated\":true}"));
  EXPECT(!has(ask(&t, 3, "run", "{\"command\":\"dots 3\"}"), "Truncated"));
  talk_close(&t);
}

TEST(a_command_whose_client_takes_nothing_ends_at_its_deadline) {
  talk t;
  talk_open_with_sandbox(&t);
  say(&t, 1, "run", "{\"command\":\"dots 10\",\"stream\":true,\"window\":1,\"timeoutMs\":50}");
  EXPECT(has(hear(&t), "run.output"));
  EXPECT(has(hear(&t), "\"end\":\"time\""));
  talk_close(&t);
}

TEST(a_command_that_waits_for_its_client_can_be_cancelled) {
  talk t;
  talk_open_with_sandbox(&t);
  say(&t, 1, "run", "{\"command\":\"dots 10\",\"stream\":true,\"window\":1}");
  EXPECT(has(hear(&t), "run.output"));
  say(&t, 2, "run.cancel", "{\"id\":1}");
  (void)hear(&t);
  (void)hear(&t);
  talk_close(&t);
}

TEST(an_ack_needs_its_numbers) {
  talk t;
  talk_open_with_sandbox(&t);
  EXPECT(has(ask(&t, 1, "run.ack", "{\"id\":1}"), "-32602"));
  EXPECT(has(ask(&t, 2, "run.ack", "{\"bytes\":1}"), "-32602"));
  EXPECT(has(ask(&t, 3, "run.ack", "{\"id\":77,\"bytes\":1}"), "\"ok\":true"));
  talk_close(&t);
}

TEST(output_after_the_end_of_a_run_is_discarded) {
  talk t;
  talk_open_with_sandbox(&t);
  EXPECT(has(ask(&t, 1, "run", "{\"command\":\"leave\",\"stream\":true}"), "\"exitCode\":0"));
  fake_late();
  EXPECT(is_silent(&t));
  talk_close(&t);
}

TEST(a_sandbox_can_go_while_its_commands_run) {
  talk t;
  talk_open_with_sandbox(&t);
  say(&t, 1, "run", "{\"command\":\"wait\"}");
  say(&t, 2, "run", "{\"command\":\"dots 100\",\"stream\":true,\"window\":1}");
  EXPECT(has(hear(&t), "run.output"));
  say(&t, 3, "destroy", "{}");
  bool over = false;
  for (int i = 0; i < 3; i++) over = has(hear(&t), "\"id\":3,\"result\":{\"ok\":true}");
  EXPECT(over); /* the answers of the runs come first */
  EXPECT(has(ask(&t, 4, "run", "{\"command\":\"wait\"}"), "ENXIO"));
  talk_close(&t);
}

TEST(many_runs_at_once_all_find_their_answers) {
  enum { RUNS = 50 };
  talk t;
  bool answered[RUNS] = { false };
  talk_open_with_sandbox(&t);
  for (int i = 0; i < RUNS; i++) say(&t, i, "run", "{\"command\":\"exit 7\"}");
  for (int i = 0; i < RUNS; i++) {
    int id = -1, code = -1;
    EXPECT_EQ(sscanf(hear(&t), "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"exitCode\":%d", &id, &code), 2);
    EXPECT(id >= 0 && id < RUNS && code == 7 && !answered[id]);
    answered[id] = true;
  }
  talk_close(&t);
}

TEST(after_the_end_of_input_what_runs_is_finished_and_answered) {
  talk t;
  talk_open_with_sandbox(&t);
  say(&t, 1, "run", "{\"command\":\"split\"}");
  say(&t, 2, "run", "{\"command\":\"dots 100\",\"stream\":true,\"window\":1}");
  say(&t, 3, "run", "{\"command\":\"wait\",\"timeoutMs\":50}");
  server_finish(&t.server, -1);
  bool whole = false, late = false;
  for (int answers = 0; answers < 3;) {
    const char *line = hear(&t);
    if (has(line, "\"method\"")) continue;
    answers++;
    whole = whole || has(line, "\"exitCode\":0,\"stdout\":\"");
    late = late || has(line, "\"end\":\"time\"");
    EXPECT(!has(line, "cancelled"));
  }
  EXPECT(whole && late);
  talk_close(&t);
}

TEST(a_client_that_is_gone_after_the_end_of_input_ends_what_runs) {
  talk t;
  talk_open_with_sandbox(&t);
  say(&t, 1, "run", "{\"command\":\"wait\"}");
  close(t.replies);
  t.replies = -1;
  server_finish(&t.server, -1);
  talk_close(&t);
}

TEST(commands_that_run_are_announced_listed_and_signalled) {
  talk t;
  talk_open_with_sandbox(&t);
  EXPECT(has(ask(&t, 1, "run.list", "{}"), "\"runs\":[]"));
  say(&t, 2, "run", "{\"command\":\"wait\",\"announce\":true}");
  EXPECT_TEXT(hear(&t), "{\"jsonrpc\":\"2.0\",\"method\":\"run.started\",\"params\":{\"id\":2,\"pid\":7}}");
  EXPECT(has(ask(&t, 3, "run.list", "{}"), "\"runs\":[{\"id\":2,\"pid\":7,\"command\":\"wait\"}]"));
  EXPECT(has(ask(&t, 4, "run.signal", "{\"id\":2}"), "-32602"));
  EXPECT(has(ask(&t, 5, "run.signal", "{\"id\":2,\"signal\":65}"), "-32602"));
  EXPECT(has(ask(&t, 6, "run.signal", "{\"id\":2,\"signal\":15}"), "\"running\":true"));
  say(&t, 7, "run.signal", "{\"id\":2,\"signal\":9}");
  bool first = has(hear(&t), "\"running\":true"), second = has(hear(&t), "\"running\":true");
  EXPECT(first != second);
  EXPECT(has(ask(&t, 8, "run.list", "{}"), "\"runs\":[]"));
  EXPECT(has(ask(&t, 9, "run.signal", "{\"id\":2,\"signal\":9}"), "\"running\":false"));
  talk_close(&t);
}
