/* reach_config_test.c - what the configuration gives, and that keys are hidden. Requests: test/reach. */
#include "tool/capability/net/keys.h"
#include "tool/capability/net/reach.h"

#include "test.h"

#include <stdlib.h>

static const char whole[] =
    "{\"network\":{\"rules\":[{\"action\":\"allow\",\"host\":\"*.a.b\"}]},\"http\":{\"timeout_ms\":100,\"ca_file\":\"x\"},"
    "\"mcp\":{\"servers\":{\"a\":{\"command\":\"true\",\"args\":[\"x\"],\"env\":{\"K\":{\"secret\":\"k\"}}},"
    "\"b\":{\"url\":\"http://x/\",\"headers\":{\"X\":\"y\"},\"key\":{\"secret\":\"k\"}}}},\"github\":{\"url\":\"https://g/\"},"
    "\"search\":{\"provider\":\"brave\",\"url\":\"https://s/{query}\"},\"coding\":{\"url\":\"https://c/\",\"model\":\"m\"}}";

static cay_status make(const char *text, tool_reach **out, cay_error *err) {
  yyjson_doc *doc = text != NULL ? yyjson_read(text, strlen(text), 0) : NULL;
  tool_reach_options options = { .sandbox = yyjson_doc_get_root(doc) };
  cay_status status = tool_reach_new(&options, out, err);
  yyjson_doc_free(doc); /* it is copied */
  return status;
}

TEST(no_configuration_is_fine_and_reaches_nothing) {
  tool_reach *reach = NULL;
  EXPECT_EQ(make(NULL, &reach, NULL), CAY_OK);
  tool_reach_free(reach);
  tool_reach_free(NULL);
}

TEST(no_memory_leaves_nothing_behind) {
  AT_EVERY_FAULT {
    tool_reach *reach = NULL;
    cay_status status = make(whole, &reach, NULL);
    EXPECT(status == CAY_OK ? reach != NULL : status == CAY_NO_MEMORY && reach == NULL);
    tool_reach_free(reach);
  }
}

TEST(stars_stand_where_a_key_stood) {
  reach_keys keys = { .count = 2 };
  keys.list[0] = BUF_INIT(100);
  keys.list[1] = BUF_INIT(100);
  EXPECT_EQ(buf_append_text(&keys.list[0], "s3cr3t"), CAY_OK);
  EXPECT_EQ(buf_append_text(&keys.list[1], "abc"), CAY_OK); /* too short to hide */
  char text[] = "s3cr3ts3cr3t abc s3cr3";
  reach_hide(&keys, text, strlen(text));
  EXPECT_TEXT(text, "************ abc s3cr3");
  static const char json[] = "{\"s3cr3t\":[\"x\\u0073\\u0033cr3t\",{\"a\":\"s3cr3t\"}],\"n\":1}";
  yyjson_doc *doc = yyjson_read(json, sizeof json - 1, 0);
  EXPECT(doc != NULL);
  reach_hide_all(&keys, doc);
  char *out = yyjson_write(doc, 0, NULL);
  EXPECT_TEXT(out, "{\"******\":[\"x******\",{\"a\":\"******\"}],\"n\":1}");
  yyjson_doc_free(doc);
  free(out);
  reach_keys_wipe(&keys);
}
