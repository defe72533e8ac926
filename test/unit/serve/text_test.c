/* text_test.c - bytes of guests as JSON can carry them, as src/serve/text.h promises. */
#include "serve/text.h"

#include "base/utf8.h"
#include "test.h"

static const char *shown(const char *bytes, size_t len) {
  static char text[256];
  buf out = BUF_INIT(BUF_UNLIMITED);
  EXPECT(text_put_utf8(&out, bytes, len));
  EXPECT(out.len < sizeof text);
  memcpy(text, buf_text(&out), out.len + 1);
  buf_free(&out);
  return text;
}

TEST(utf8_stays_as_it_is) { EXPECT_TEXT(shown("aé€😀\x7f", 11), "aé€😀\x7f"); }

TEST(each_ill_formed_part_becomes_one_replacement) {
  EXPECT_TEXT(shown("a\xff"
                    "b",
                    3),
              "a\xef\xbf\xbd"
              "b");
  EXPECT_TEXT(shown("\xe2\x82", 2), "\xef\xbf\xbd");
  EXPECT_TEXT(shown("\xf0\x9f\x98x", 4), "\xef\xbf\xbdx");
  EXPECT_TEXT(shown("\xc0\x80", 2), "\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_TEXT(shown("\xed\xa0\x80", 3), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

TEST(a_character_that_is_cut_by_the_end_is_seen) {
  EXPECT_EQ(utf8_whole_len("abc", 3), 3);
  EXPECT_EQ(utf8_whole_len("", 0), 0);
  EXPECT_EQ(utf8_whole_len("ab\xc3", 3), 2);
  EXPECT_EQ(utf8_whole_len("a\xe2\x82", 3), 1);
  EXPECT_EQ(utf8_whole_len("\xf0\x9f\x98", 3), 0);
  EXPECT_EQ(utf8_whole_len("😀", 4), 4);
}

TEST(ill_formed_tail_is_not_held_back) {
  EXPECT_EQ(utf8_whole_len("a\xff", 2), 2);
  EXPECT_EQ(utf8_whole_len("\xe2\xff", 2), 2);
  EXPECT_EQ(utf8_whole_len("\x80\x80\x80\x80", 4), 4);
  EXPECT_EQ(utf8_whole_len("\xed\xa0", 2), 2);
}
