/* json_test.c - the writer, as src/cli/json.h promises it. */
#include "cli/json.h"
#include "test.h"

/* The text of a finished document, in a buffer of this test. */
static const char *text_of(json *j) {
  static char text[2048];
  size_t len = 0;
  const char *written = json_text(j, &len);
  EXPECT(written != NULL && len < sizeof text);
  memcpy(text, written, len);
  text[len] = '\0';
  json_free(j);
  return text;
}

static const char *bytes(const char *data, size_t len) {
  json *j = json_new();
  json_open(j, NULL, '{');
  json_bytes(j, "b", data, len);
  json_close(j);
  return text_of(j);
}

TEST(members_and_elements_have_their_commas) {
  json *j = json_new();
  json_open(j, NULL, '{');
  json_int(j, "a", -1);
  json_open(j, "list", '[');
  json_uint(j, NULL, UINT64_MAX);
  json_bool(j, NULL, true);
  json_open(j, NULL, '{');
  json_close(j);
  json_close(j);
  json_string(j, "nothing", NULL);
  json_milli(j, "ms", 12034);
  json_close(j);
  EXPECT_TEXT(text_of(j),
              "{\"a\":-1,\"list\":[18446744073709551615,true,{}],\"nothing\":null,\"ms\":12.034}\n");
}

TEST(control_characters_quotes_and_backslashes_are_escaped) {
  EXPECT_TEXT(bytes("a\"b\\c\n\t\r\b\f\v\x1f\x7f", 13),
              "{\"b\":\"a\\\"b\\\\c\\n\\t\\r\\b\\f\\u000b\\u001f\\u007f\"}\n");
  EXPECT_TEXT(bytes("a\0b", 3), "{\"b\":\"a\\u0000b\"}\n");
  EXPECT_TEXT(bytes("", 0), "{\"b\":\"\"}\n");
}

TEST(utf8_stays_as_it_is) { EXPECT_TEXT(bytes("é€😀", 9), "{\"b\":\"é€😀\"}\n"); }

TEST(bytes_that_are_no_utf8_are_base64_under_another_name) {
  EXPECT_TEXT(bytes("\xff", 1), "{\"b_base64\":\"/w==\"}\n");
  EXPECT_TEXT(bytes("\xff\xfe", 2), "{\"b_base64\":\"//4=\"}\n");
  EXPECT_TEXT(bytes("\xff\xfe\xfd", 3), "{\"b_base64\":\"//79\"}\n");
}

TEST(overlong_surrogate_cut_and_too_large_are_no_utf8) {
  static const char *const wrong[] = { "\xc0\x80",     "\xe0\x80\x80",     "\xf0\x80\x80\x80",
                                       "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80",
                                       "\x80",         "\xe2\x82",         "\xe2(\xa1" };
  for (size_t i = 0; i < COUNT_OF(wrong); i++) EXPECT(!json_is_utf8(wrong[i], strlen(wrong[i])));
  EXPECT(json_is_utf8("\xf4\x8f\xbf\xbf", 4));
  EXPECT(json_is_utf8("\xee\x80\x80", 3));
}

TEST(a_document_nested_too_deep_is_none) {
  json *j = json_new();
  size_t len;
  for (int i = 0; i < 100; i++) json_open(j, NULL, '[');
  EXPECT(json_text(j, &len) == NULL);
  json_free(j);
}
