/* json_test.c - which bytes are UTF-8, wherever they stand. */
#include "tool/run/json.h"

#include "base/utf8.h"

#include "test.h"

static const struct {
  const char *bytes;
  bool fine;
} cases[] = {
  { "a", true },
  { "\x7f", true },
  { "\xc2\x80", true },
  { "\xdf\xbf", true },
  { "\xe0\xa0\x80", true },
  { "\xed\x9f\xbf", true },
  { "\xee\x80\x80", true },
  { "\xf0\x90\x80\x80", true },
  { "\xf4\x8f\xbf\xbf", true },
  { "\x80", false },
  { "\xbf", false },
  { "\xc0\x80", false }, /* longer than need be */
  { "\xc1\xbf", false },
  { "\xe0\x9f\xbf", false },
  { "\xf0\x8f\xbf\xbf", false },
  { "\xed\xa0\x80", false }, /* surrogates */
  { "\xed\xbf\xbf", false },
  { "\xf4\x90\x80\x80", false }, /* above U+10FFFF */
  { "\xf5\x80\x80\x80", false },
  { "\xff", false },
  { "\xc2", false }, /* cut short */
  { "\xe2\x82", false },
  { "\xf0\x9f\x98", false },
  { "\xc2\x41", false },
  { "\xe2\x82\x41", false },
};

TEST(utf8_is_recognized_at_every_offset) {
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    for (size_t before = 0; before < 20; before++)
      for (size_t after = 0; after < 20; after++) {
        char text[60];
        size_t len = strlen(cases[i].bytes);
        memset(text, 'x', sizeof text);
        memcpy(text + before, cases[i].bytes, len);
        EXPECT_EQ(utf8_is_valid(text, before + len + after), cases[i].fine);
      }
}

TEST(nothing_and_zeros_are_utf8) {
  EXPECT(utf8_is_valid("", 0));
  EXPECT(utf8_is_valid("\0\0\0\0\0\0\0\0\0", 9));
}

static enum tool_code read(const char *text, size_t len) {
  yyjson_doc *doc = NULL;
  tool_end end = { 0 };
  EXPECT_EQ(tool_json_read(text, len, &doc, &end, NULL), CAY_OK);
  EXPECT_EQ(doc != NULL, end.code == TOOL_OK);
  yyjson_doc_free(doc);
  return end.code;
}

TEST(a_text_is_one_value_or_has_a_code) {
  EXPECT_EQ(read("{}", 2), TOOL_OK);
  EXPECT_EQ(read(" [1] ", 5), TOOL_OK);
  EXPECT_EQ(read("123456789012345678901234567890", 30), TOOL_OK);
  EXPECT_EQ(read("", 0), TOOL_NOT_JSON);
  EXPECT_EQ(read("{} {}", 5), TOOL_NOT_JSON);
  EXPECT_EQ(read("{}\0", 3), TOOL_NOT_JSON);
  EXPECT_EQ(read("\"\xff\"", 3), TOOL_NOT_UTF8);
  EXPECT_EQ(read("\"\\ud800\"", 8), TOOL_NOT_JSON);
}

static yyjson_doc *doc_of(const char *text) { return yyjson_read(text, strlen(text), 0); }

TEST(members_that_stand_twice_are_seen) {
  static const struct {
    const char *text;
    bool twin;
  } objects[] = { { "{}", false },
                  { "{\"a\":1,\"b\":2}", false },
                  { "{\"a\":1,\"b\":2,\"a\":1}", true },
                  { "{\"a\":1,\"\\u0061\":2}", true },
                  { "{\"a\":{\"a\":1}}", false },
                  { "{\"a\\u0000x\":1,\"a\":2}", false } };
  for (size_t i = 0; i < COUNT_OF(objects); i++) {
    yyjson_doc *doc = doc_of(objects[i].text);
    EXPECT_EQ(tool_json_has_twin(yyjson_doc_get_root(doc)), objects[i].twin);
    yyjson_doc_free(doc);
  }
}
