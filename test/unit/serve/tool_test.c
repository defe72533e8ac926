/* tool_test.c - tools.*: the protocol, over tools that echo (src/serve/method_tool.c). */
#include "talk.h"

#include <stdio.h>
#include <string.h>

static bool has(const char *line, const char *part) { return strstr(line, part) != NULL; }

TEST(tools_need_no_sandbox_and_are_opened_once) {
  talk t;
  talk_open(&t);
  EXPECT(has(ask(&t, 1, "tools.call", "{\"name\":\"t\"}"), "ENXIO: there are no tools yet"));
  EXPECT(has(ask(&t, 2, "tools.open", "{\"config\":{}}"), "\"ok\":true"));
  EXPECT(has(ask(&t, 3, "tools.open", "{}"), "EEXIST"));
  EXPECT(has(ask(&t, 4, "tools.close", "{}"), "\"ok\":true"));
  EXPECT(has(ask(&t, 5, "tools.close", "{}"), "ENXIO"));
  EXPECT(has(ask(&t, 6, "tools.open", "{}"), "\"ok\":true"));
  talk_close(&t);
}

TEST(a_call_of_a_tool_is_answered_with_its_result) {
  talk t;
  talk_open(&t);
  (void)ask(&t, 1, "tools.open", "{}");
  const char *line =
      ask(&t, 2, "tools.call", "{\"name\":\"t\",\"input\":{\"a\":[1,\"x\\n\"]},\"user\":\"me\"}");
  EXPECT(
      has(line, "\"id\":2,\"result\":{\"code\":\"ok\",\"result\":{\"a\":[1,\"x\\n\"]},\"capabilities\":0,"));
  EXPECT(has(ask(&t, 3, "tools.call", "{\"name\":\"t\"}"), "\"result\":{}"));
  for (int id = 10; id < 20; id++) say(&t, id, "tools.call", "{\"name\":\"t\"}");
  for (int id = 10; id < 20; id++) EXPECT(has(hear(&t), "\"code\":\"ok\""));
  talk_close(&t);
}

TEST(a_call_of_a_tool_is_cancelled_by_its_id) {
  talk t;
  talk_open(&t);
  (void)ask(&t, 1, "tools.open", "{}");
  EXPECT(has(ask(&t, 2, "tools.cancel", "{\"id\":7}"), "\"cancelled\":false"));
  EXPECT(has(ask(&t, 3, "tools.cancel", "{}"), "-32602"));
  say(&t, 7, "tools.call", "{\"name\":\"waits\"}");
  say(&t, 8, "tools.cancel", "{\"id\":7}");
  const char *first = hear(&t);
  bool answered = has(first, "\"id\":8,");
  EXPECT(has(first, answered ? "\"cancelled\":true" : "\"code\":\"cancelled\""));
  EXPECT(has(hear(&t), answered ? "\"code\":\"cancelled\"" : "\"cancelled\":true"));
  EXPECT(has(ask(&t, 9, "tools.cancel", "{\"id\":7}"), "\"cancelled\":false"));
  talk_close(&t);
}

TEST(calls_that_are_under_way_at_the_end_are_cancelled) {
  talk t;
  talk_open(&t);
  (void)ask(&t, 1, "tools.open", "{}");
  for (int id = 2; id < 6; id++) say(&t, id, "tools.call", "{\"name\":\"waits\"}");
  talk_close(&t);
}

TEST(tools_and_due_entries_are_lists) {
  talk t;
  talk_open(&t);
  (void)ask(&t, 1, "tools.open", "{}");
  EXPECT(has(ask(&t, 2, "tools.list", "{}"),
             "\"tools\":[{\"name\":\"t\",\"module\":\"m\",\"entrypoint\":\"e\","));
  EXPECT(has(ask(&t, 3, "tools.due", "{}"), "\"events\":[{\"kind\":\"task\",\"id\":1,\"userId\":\"u\","));
  EXPECT(has(ask(&t, 4, "tools.check", "{\"data\":\"AGFzbQEAAAA=\"}"), "\"code\":\"ok\""));
  EXPECT(has(ask(&t, 5, "tools.check", "{\"data\":\"AGFz\"}"), "\"code\":\"module_not_wasm\""));
  talk_close(&t);
}

TEST(parameters_of_tools_that_make_no_sense_are_refused) {
  static const char *const cases[][2] = {
    { "tools.call", "{}" },
    { "tools.call", "{\"name\":\"t\",\"input\":[]}" },
    { "tools.call", "{\"name\":\"t\",\"timeoutMs\":0}" },
    { "tools.check", "{\"data\":\"=\"}" },
    { "tools.check", "{}" },
  };
  talk t;
  talk_open(&t);
  EXPECT(has(ask(&t, 1, "tools.open", "{\"config\":[]}"), "-32602"));
  EXPECT(has(ask(&t, 1, "tools.open", "{\"rounds\":65}"), "-32602"));
  EXPECT(has(ask(&t, 1, "tools.open", "{\"config\":{\"bad\":1}}"), "tools.settings: bad"));
  (void)ask(&t, 1, "tools.open", "{}");
  for (size_t i = 0; i < COUNT_OF(cases); i++) EXPECT(has(ask(&t, 2, cases[i][0], cases[i][1]), "-32602"));
  talk_close(&t);
}
