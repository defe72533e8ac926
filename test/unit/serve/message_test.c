/* message_test.c - what a line asks for, as src/serve/message.h promises. */
#include "serve/message.h"
#include "test.h"

static rpc_message parsed(const char *line) {
  rpc_message m;
  rpc_parse(line, strlen(line), &m);
  return m;
}

static void expect_bad(const char *line, int code, const char *id) {
  rpc_message m = parsed(line);
  EXPECT_EQ(m.kind, RPC_BAD);
  EXPECT_EQ(m.code, code);
  EXPECT_TEXT(m.id.text, id);
  EXPECT(m.why[0] != '\0');
  rpc_message_free(&m);
}

static void expect_id(const char *id) {
  char line[600];
  (void)snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"m\"}", id);
  rpc_message m = parsed(line);
  EXPECT_EQ(m.kind, RPC_REQUEST);
  EXPECT_TEXT(m.id.text, id);
  rpc_message_free(&m);
}

TEST(ids_of_every_type_come_back_as_they_were) {
  expect_id("1");
  expect_id("0");
  expect_id("-7");
  expect_id("1.5");
  expect_id("null");
  expect_id("\"\"");
  expect_id("\"a\\\"b\\n\"");
  expect_id("18446744073709551615");
  expect_id("123456789012345678901234567890");
}

TEST(malformed_id_is_an_invalid_request) {
  expect_bad("{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"m\"}", RPC_INVALID_REQUEST, "null");
  expect_bad("{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"m\"}", RPC_INVALID_REQUEST, "null");
  expect_bad("{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"m\"}", RPC_INVALID_REQUEST, "null");
}

TEST(an_id_that_is_too_long_is_refused) {
  char line[800], id[300];
  memset(id, 'x', sizeof id);
  (void)snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":\"%.299s\",\"method\":\"m\"}", id);
  expect_bad(line, RPC_INVALID_REQUEST, "null");
  memset(id, '9', sizeof id);
  (void)snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":%.299s,\"method\":\"m\"}", id);
  expect_bad(line, RPC_INVALID_REQUEST, "null");
}

TEST(malformed_json_is_a_parse_error) {
  static const char *const wrong[] = {
    "{",          "nonsense",    "{\"jsonrpc\":\"2.0\"", "{'a':1}", "{\"a\":1,}",     "{\"a\":\"\xff\"}",
    "{\"a\":01}", "\"\\ud800\"", "\xef\xbb\xbf{}",       "{} {}",   "{\"a\":\"\t\"}", "[[[[",
  };
  for (size_t i = 0; i < COUNT_OF(wrong); i++) expect_bad(wrong[i], RPC_PARSE_ERROR, "null");
}

TEST(text_that_is_no_unicode_is_answered_under_the_id) {
  static const char *const wrong[] = {
    "{\"id\":\"a\",\"method\":\"\\ud800\"}",
    "{\"params\":{\"code\":\"\\uDC00\"},\"id\":\"a\"}",
    "{\"params\":{\"code\":\"\\\\ud800 \\ud83d\\ud83d\"},\"id\":\"a\"}",
    "{\"params\":{\"code\":\"\xff\"},\"id\":\"a\"}",
  };
  for (size_t i = 0; i < COUNT_OF(wrong); i++) expect_bad(wrong[i], RPC_PARSE_ERROR, "\"a\"");
  expect_bad("{\"id\":\"\\ud800\",\"method\":\"m\"}", RPC_PARSE_ERROR, "null");
  expect_bad("{\"id\":\"\xf6\",\"method\":\"m\"}", RPC_PARSE_ERROR, "null");
  expect_bad("{\"id\":1,\"method\":\"\\ud800", RPC_PARSE_ERROR, "null");
  expect_bad("\\ud8", RPC_PARSE_ERROR, "null");
}

TEST(malformed_request_is_invalid) {
  expect_bad("[]", RPC_INVALID_REQUEST, "null");
  expect_bad("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}]", RPC_INVALID_REQUEST, "null");
  expect_bad("1", RPC_INVALID_REQUEST, "null");
  expect_bad("null", RPC_INVALID_REQUEST, "null");
  expect_bad("{}", RPC_INVALID_REQUEST, "null");
  expect_bad("{\"id\":1,\"method\":\"m\"}", RPC_INVALID_REQUEST, "1");
  expect_bad("{\"jsonrpc\":2.0,\"id\":1,\"method\":\"m\"}", RPC_INVALID_REQUEST, "1");
  expect_bad("{\"jsonrpc\":\"2.0\",\"id\":1}", RPC_INVALID_REQUEST, "1");
  expect_bad("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":5}", RPC_INVALID_REQUEST, "1");
  expect_bad("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\\u0000b\"}", RPC_INVALID_REQUEST, "1");
}

TEST(a_member_that_stands_twice_is_refused) {
  expect_bad("{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"m\"}", RPC_INVALID_REQUEST, "null");
  expect_bad("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"a\":1,\"b\":2,\"a\":3}}",
             RPC_INVALID_PARAMS, "1");
}

TEST(parameters_go_by_name) {
  expect_bad("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":[1]}", RPC_INVALID_PARAMS, "1");
  expect_bad("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":\"x\"}", RPC_INVALID_PARAMS, "1");
  rpc_message m = parsed("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":null}");
  EXPECT_EQ(m.kind, RPC_REQUEST);
  EXPECT(m.params == NULL);
  rpc_message_free(&m);
}

TEST(a_request_without_an_id_is_a_notification) {
  rpc_message m = parsed("{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":{}}");
  EXPECT_EQ(m.kind, RPC_NOTIFICATION);
  rpc_message_free(&m);
}

TEST(an_answer_of_the_client_is_told_apart) {
  rpc_message m = parsed("{\"jsonrpc\":\"2.0\",\"id\":\"s1\",\"result\":{}}");
  EXPECT_EQ(m.kind, RPC_RESPONSE);
  EXPECT_TEXT(m.id.text, "\"s1\"");
  rpc_message_free(&m);
  m = parsed("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":\"\"}}");
  EXPECT_EQ(m.kind, RPC_RESPONSE);
  rpc_message_free(&m);
}

TEST(nesting_of_any_depth_is_harmless) {
  enum { DEPTH = 200000 };
  char *line = mem_alloc(2 * DEPTH + 100);
  int at = sprintf(line, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"x\":");
  memset(line + at, '[', DEPTH);
  memset(line + at + DEPTH, ']', DEPTH);
  (void)sprintf(line + at + 2 * DEPTH, "}}");
  rpc_message m = parsed(line);
  EXPECT_EQ(m.kind, RPC_REQUEST);
  rpc_message_free(&m);
  mem_free(line);
}

TEST(too_many_members_are_refused) {
  char line[16000] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{";
  size_t at = strlen(line);
  for (int i = 0; i <= RPC_KEYS_MAX; i++) at += (size_t)sprintf(line + at, "\"k%d\":%d,", i, i);
  (void)sprintf(line + at - 1, "}}");
  expect_bad(line, RPC_INVALID_PARAMS, "1");
}

TEST(errors_are_written_as_text_whatever_they_name) {
  size_t len = 0;
  rpc_id id = { "7" };
  char *line = rpc_error_line(&id, 1, "ENOENT: \"\xff\": \x01", &len);
  EXPECT_TEXT(
      line, "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":1,\"message\":\"ENOENT: \\\"\xef\xbf\xbd\\\": "
            "\\u0001\"}}\n");
  EXPECT_EQ(len, strlen(line));
  mem_free(line);
}

TEST(no_memory_while_parsing_is_an_internal_error) {
  static const char line[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"a\":[1,2,3]}}";
  AT_EVERY_FAULT {
    rpc_message m;
    rpc_parse(line, sizeof line - 1, &m);
    EXPECT(m.kind == RPC_REQUEST || m.code == RPC_INTERNAL || m.code == RPC_INVALID_REQUEST);
    rpc_message_free(&m);
  }
}
