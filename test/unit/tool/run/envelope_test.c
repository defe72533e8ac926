/* envelope_test.c - from what a tool gave to what its caller gets. */
#include "tool/run/envelope.h"

#include "test.h"

#include <stdlib.h>

static char logged[200];

static void on_log(void *ctx, enum tool_level level, const char *tool, const char *line) {
  (void)ctx;
  (void)snprintf(logged, sizeof logged, "%d %s %s", (int)level, tool, line);
}

static const char *const listed[] = { "clock.now_unix", "log.emit", "secrets.get.mine", "http.*" };
static const tool_allow list = { listed, 4 };
static const tool_provider providers[] = { { .kind = TOOL_FROM_ENVIRONMENT, .where = "CAY_TEST_ENVELOPE_" } };
static const tool_world world = { .tool = "t", .secrets = { .list = providers, .count = 1 }, .log = on_log };

static enum tool_code answer(const char *output, char *text, size_t cap) {
  buf out = BUF_INIT(1 << 16);
  tool_end end;
  EXPECT_EQ(tool_answer(&world, &list, false, (cay_slice){ output, strlen(output) }, &out, &end, NULL),
            CAY_OK);
  (void)snprintf(text, cap, "%s", buf_text(&out));
  buf_free(&out);
  return end.code;
}

#define CALL(name, args)                                                                                     \
  "{\"status\":\"capability_call\",\"abi_version\":1,\"capability_call\":{\"name\":\"" name                  \
  "\",\"args\":" args "}}"
#define FAILS(code, why) "{\"status\":\"error\",\"code\":\"" code "\",\"error\":\"" why "\"}"

TEST(plain_output_is_the_result) {
  static const char *const outputs[] = {
    "{\"status\":\"ok\", \"n\": 1}",
    "[{\"status\":\"capability_call\"}]",
    "\"capability_call\"",
    "{\"data\":{\"status\":\"capability_call\",\"capability_call\":{\"name\":\"log.emit\"}}}",
    "{\"status\":\"capability_call\\u0000\"}",
    "{\"a\":[{\"stub\":true}]}",
    "12345678901234567890123456789",
    "null",
  };
  char text[300];
  for (size_t i = 0; i < COUNT_OF(outputs); i++) {
    EXPECT_EQ(answer(outputs[i], text, sizeof text), TOOL_OK);
    EXPECT_TEXT(text, outputs[i]);
  }
}

TEST(malformed_json_is_reported_with_its_position) {
  char text[300];
  EXPECT_EQ(answer("", text, sizeof text), TOOL_NOT_JSON);
  EXPECT_EQ(answer("{} {}", text, sizeof text), TOOL_NOT_JSON);
  EXPECT_EQ(answer("{\"a\":\"\xed\xa0\x80\"}", text, sizeof text), TOOL_NOT_UTF8);
  EXPECT_EQ(answer("\xff", text, sizeof text), TOOL_NOT_UTF8);
  EXPECT_EQ(answer("{\"stub\": true}", text, sizeof text), TOOL_PLACEHOLDER);
  EXPECT_TEXT(text, "");
}

TEST(answers_have_the_shape_of_the_contract) {
  static const struct {
    const char *output, *want;
    enum tool_code code;
  } cases[] = {
    { CALL("log.emit", "{\"level\":\"warn\",\"event\":\"a\\nb\"}"),
      "{\"status\":\"ok\",\"abi_version\":1,\"capability_result\":{\"name\":\"log.emit\",\"result\":{\"logged\":"
      "true}}}",
      TOOL_OK },
    { CALL("secrets.get", "{\"name\":\"mine\"}"),
      "{\"status\":\"ok\",\"abi_version\":1,\"capability_result\":{\"name\":\"secrets.get\",\"result\":{\"name\":"
      "\"mine\",\"found\":true,\"value\":\"it is\"}}}",
      TOOL_OK },
    { CALL("secrets.get", "{\"name\":\"theirs\"}"),
      FAILS("forbidden", "capability secrets.get is not allowed for this tool"), TOOL_FORBIDDEN },
    { CALL("secrets.get", "{}"), FAILS("forbidden", "capability secrets.get is not allowed for this tool"),
      TOOL_FORBIDDEN },
    { CALL("mcp.call", "{}"), FAILS("forbidden", "capability mcp.call is not allowed for this tool"),
      TOOL_FORBIDDEN },
    { CALL("no.such", "{}"), FAILS("forbidden", "capability no.such is not allowed for this tool"),
      TOOL_FORBIDDEN },
    { CALL("http.other", "{}"), FAILS("internal", "capability http.other is not implemented"),
      TOOL_INTERNAL },
    { CALL("log.emit", "{\"event\":\"\"}"), FAILS("invalid_args", "event must be a text"),
      TOOL_INVALID_ARGS },
    { CALL("log.emit", "{\"event\":\"a\\u0000b\"}"), FAILS("invalid_args", "event must be a text"),
      TOOL_INVALID_ARGS },
    { CALL("log.emit", "{\"event\":\"x\",\"level\":3}"),
      FAILS("invalid_args", "level must be error, warn, info, debug or trace"), TOOL_INVALID_ARGS },
    { CALL("log.emit", "[]"), FAILS("invalid_args", "capability_call.args must be an object"),
      TOOL_INVALID_ARGS },
    { CALL("log.emit", "{\"event\":\"x\",\"event\":\"y\"}"),
      FAILS("invalid_args", "a member of capability_call.args stands twice, or it has too many"),
      TOOL_INVALID_ARGS },
    { "{\"status\":\"host_call\",\"host_call\":{}}",
      FAILS("host_call", "host_call is deprecated and refused"), TOOL_HOST_CALL },
    { "{\"status\":\"capability_call\",\"abi_version\":2,\"capability_call\":{\"name\":\"mcp.call\"}}",
      FAILS("invalid_args", "abi_version must be 1"), TOOL_INVALID_ARGS },
    { "{\"status\":\"capability_call\",\"abi_version\":\"1\",\"capability_call\":{\"name\":\"mcp.call\"}}",
      FAILS("invalid_args", "abi_version must be 1"), TOOL_INVALID_ARGS },
    { "{\"status\":\"capability_call\",\"abi_version\":1.0,\"capability_call\":{\"name\":\"mcp.call\"}}",
      FAILS("invalid_args", "abi_version must be 1"), TOOL_INVALID_ARGS },
    { "{\"status\":\"capability_call\",\"abi_version\":18446744073709551617}",
      FAILS("invalid_args", "abi_version must be 1"), TOOL_INVALID_ARGS },
    { "{\"status\":\"capability_call\"}", FAILS("invalid_args", "capability_call must be an object"),
      TOOL_INVALID_ARGS },
    { "{\"status\":\"capability_call\",\"capability_call\":{\"args\":{}}}",
      FAILS("invalid_args", "capability_call.name must be a text of at most 128 bytes"), TOOL_INVALID_ARGS },
    { "{\"status\":\"capability_call\",\"capability_call\":{\"name\":\"log.emit\\u0000\"}}",
      FAILS("invalid_args", "capability_call.name must be a text of at most 128 bytes"), TOOL_INVALID_ARGS },
    { "{\"status\":\"capability_call\",\"capability_call\":{\"name\":\"log.emit\",\"name\":\"x.y\"}}",
      FAILS("invalid_args", "a member of the envelope stands twice, or it has too many"), TOOL_INVALID_ARGS },
  };
  EXPECT_EQ(setenv("CAY_TEST_ENVELOPE_MINE", "it is", 1), 0);
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    char text[400];
    enum tool_code code = answer(cases[i].output, text, sizeof text);
    EXPECT_TEXT(text, cases[i].want);
    EXPECT_TEXT(tool_code_name(code), tool_code_name(cases[i].code));
  }
  EXPECT_TEXT(logged, "1 t a b");
}

TEST(the_clock_says_the_seconds_since_1970) {
  char text[300];
  static const char start[] =
      "{\"status\":\"ok\",\"abi_version\":1,\"capability_result\":{\"name\":\"clock.now_unix\",\"result\":{\"unix\":";
  EXPECT_EQ(answer("{\"status\":\"capability_call\",\"capability_call\":{\"name\":\"clock.now_unix\"}}", text,
                   sizeof text),
            TOOL_OK);
  EXPECT_EQ(strncmp(text, start, sizeof start - 1), 0);
  EXPECT(strtoll(text + sizeof start - 1, NULL, 10) > 1700000000);
}

TEST(an_event_has_a_greatest_length) {
  static char output[2 * TOOL_EVENT_MAX];
  char text[300];
  for (int extra = 0; extra < 2; extra++) {
    int n = snprintf(output, sizeof output, "%s",
                     "{\"status\":\"capability_call\",\"capability_call\":{\"name\":"
                     "\"log.emit\",\"args\":{\"event\":\"");
    memset(output + n, 'x', (size_t)(TOOL_EVENT_MAX + extra));
    memcpy(output + n + TOOL_EVENT_MAX + extra, "\"}}}", 5);
    EXPECT_EQ(answer(output, text, sizeof text), extra == 0 ? TOOL_OK : TOOL_INVALID_ARGS);
  }
}

TEST(deep_nesting_is_only_data) {
  static char output[200001];
  memset(output, '[', 100000);
  memset(output + 100000, ']', 100000);
  buf out = BUF_INIT(1 << 20);
  tool_end end;
  EXPECT_EQ(tool_answer(&world, &list, false, (cay_slice){ output, 200000 }, &out, &end, NULL), CAY_OK);
  EXPECT_EQ(end.code, TOOL_OK);
  EXPECT_EQ(out.len, 200000);
  buf_free(&out);
}

TEST(no_memory_is_said_or_answered_as_internal) {
  static const char call[] = CALL("secrets.get", "{\"name\":\"mine\"}");
  AT_EVERY_FAULT {
    buf out = BUF_INIT(1 << 16);
    tool_end end;
    cay_status status =
        tool_answer(&world, &list, false, (cay_slice){ call, sizeof call - 1 }, &out, &end, NULL);
    EXPECT(status == CAY_OK || status == CAY_NO_MEMORY);
    if (status == CAY_OK) EXPECT(end.code == TOOL_OK || end.code == TOOL_INTERNAL);
    if (status == CAY_OK) EXPECT(out.len > 0);
    buf_free(&out);
  }
}
