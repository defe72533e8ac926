/* utf8_test.c - text in UTF-8 (src/base/utf8.h). */
#include "base/utf8.h"
#include "test.h"

#include <string.h>

TEST(no_bytes_are_valid) { EXPECT_EQ(utf8_valid_len(NULL, 0), 0); }

TEST(valid_text_is_valid_to_its_end) {
  const char *const good[] = { "",
                               "plain ascii, longer than a word",
                               "é",
                               "€uro",
                               "\xf0\x9f\x98\x80",
                               "\xf4\x8f\xbf\xbf",
                               "\xed\x9f\xbf",
                               "\xee\x80\x80",
                               "aaaaaaa\xc3\xa9" };
  for (size_t i = 0; i < COUNT_OF(good); i++)
    EXPECT_EQ(utf8_valid_len(good[i], strlen(good[i])), strlen(good[i]));
}

TEST(ill_formed_byte_ends_the_valid_prefix) {
  static const struct {
    const char *text;
    size_t valid;
  } bad[] = {
    { "\x80", 0 },         { "a\xff", 1 },         { "ab\xc0\x80", 2 },       { "\xc1\xbf", 0 },
    { "\xe0\x9f\xbf", 0 }, { "x\xed\xa0\x80", 1 }, { "\xf0\x8f\xbf\xbf", 0 }, { "\xf4\x90\x80\x80", 0 },
    { "\xf5\x80", 0 },     { "ok\xe2\x82", 2 },    { "12345678\xc3", 8 },     { "\xc3\x28", 0 },
  };
  for (size_t i = 0; i < COUNT_OF(bad); i++)
    EXPECT_EQ(utf8_valid_len(bad[i].text, strlen(bad[i].text)), bad[i].valid);
}

TEST(a_character_is_not_cut) {
  const char text[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80";
  const size_t borders[] = { 0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10 };
  for (size_t len = 0; len <= 10; len++) EXPECT_EQ(utf8_whole_len(text, len), borders[len]);
}

TEST(bytes_that_begin_nothing_are_not_waited_for) {
  EXPECT_EQ(utf8_whole_len("\xff", 1), 1);
  EXPECT_EQ(utf8_whole_len("ab\x80", 3), 3);
  EXPECT_EQ(utf8_whole_len("\x80\x80\x80\x80", 4), 4);
  EXPECT_EQ(utf8_whole_len("\xc0", 1), 1);
}

TEST(a_clean_copy_is_as_long_and_valid) {
  const char dirty[] = "a\xff\xc3\xa9\xe2\x82";
  char clean[sizeof dirty] = { 0 };
  utf8_copy_clean(clean, dirty, sizeof dirty - 1);
  EXPECT(strcmp(clean, "a?\xc3\xa9??") == 0);
}

TEST(scan_tells_characters_ill_formed_parts_and_cuts) {
  static const struct {
    const char *text;
    size_t len;
    enum utf8_part part;
  } rows[] = {
    { "a", 1, UTF8_CHARACTER },      { "\xe2\x82\xac", 3, UTF8_CHARACTER },
    { "\xe2\x82", 2, UTF8_CUT },     { "\xe2\x82 ", 2, UTF8_ILL_FORMED },
    { "\xf0\x9f\x98", 3, UTF8_CUT }, { "\xed\xa0\x80", 1, UTF8_ILL_FORMED },
    { "\x80", 1, UTF8_ILL_FORMED },  { "\xf4\x90", 1, UTF8_ILL_FORMED },
  };
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    enum utf8_part part;
    EXPECT_EQ(utf8_scan(rows[i].text, strlen(rows[i].text), &part), rows[i].len);
    EXPECT_EQ(part, rows[i].part);
  }
}
