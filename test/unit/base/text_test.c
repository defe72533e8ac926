/* text_test.c - durations and sizes as people write them (src/base/text.h). */
#include "base/clock.h"
#include "base/text.h"
#include "test.h"

static int64_t duration(const char *text) {
  int64_t ns = -1;
  return text_duration(text, &ns, NULL) == CAY_OK ? ns : -1;
}

TEST(a_duration_is_a_number_and_a_unit) {
  EXPECT_EQ(duration("500ms"), 500 * NS_PER_MS);
  EXPECT_EQ(duration("5s"), 5 * NS_PER_SEC);
  EXPECT_EQ(duration("2m"), 120 * NS_PER_SEC);
  EXPECT_EQ(duration("1h"), 3600 * NS_PER_SEC);
  EXPECT_EQ(duration("7"), 7 * NS_PER_SEC);
  EXPECT_EQ(duration("0"), 0);
}

TEST(a_duration_may_have_a_fraction) {
  EXPECT_EQ(duration("1.5"), 1500 * NS_PER_MS);
  EXPECT_EQ(duration("0.25m"), 15 * NS_PER_SEC);
  EXPECT_EQ(duration("0.0000000019s"), 1);
}

TEST(malformed_duration_is_refused) {
  const char *const wrong[] = {
    "", "s", "-1s", "+1", " 1", "1 s", "1d", "1.s", ".5", "1s1", "99999999999999999999", "3154000001"
  };
  for (size_t i = 0; i < COUNT_OF(wrong); i++) EXPECT_EQ(duration(wrong[i]), -1);
}

static uint64_t size(const char *text) {
  uint64_t len = 77;
  return text_size(text, &len, NULL) == CAY_OK ? len : 77;
}

TEST(a_size_is_a_number_and_a_power_of_1024) {
  EXPECT_EQ(size("0"), 0);
  EXPECT_EQ(size("100"), 100);
  EXPECT_EQ(size("64K"), 65536);
  EXPECT_EQ(size("64m"), 64 << 20);
  EXPECT_EQ(size("1G"), 1 << 30);
  EXPECT_EQ(size("2T"), INT64_C(2) << 40);
}

TEST(malformed_size_is_refused) {
  const char *const wrong[] = {
    "", "K", "-1", "1.5K", "1KB", "1Q", "1 K", "18446744073709551616", "16777216T"
  };
  for (size_t i = 0; i < COUNT_OF(wrong); i++) EXPECT_EQ(size(wrong[i]), 77);
}

TEST(a_refusal_shows_what_is_accepted) {
  cay_error err;
  int64_t ns;
  EXPECT_EQ(text_duration("soon", &ns, &err), CAY_INVALID);
  EXPECT_TEXT(err.message, "'soon' is not a duration such as 500ms, 5s, 2m or 1h");
}

TEST(a_number_ends_at_its_maximum) {
  uint64_t n = 0;
  EXPECT_EQ(text_number("65535", 65535, &n, NULL), CAY_OK);
  EXPECT_EQ(n, 65535);
  EXPECT_EQ(text_number("65536", 65535, &n, NULL), CAY_INVALID);
  EXPECT_EQ(text_number("0x10", 65535, &n, NULL), CAY_INVALID);
  EXPECT_EQ(n, 65535);
}

/* ---- names in messages ---- */

static void expect_name(const char *bytes, size_t len, const char *want) {
  char name[64];
  EXPECT_TEXT(text_name(name, sizeof name, bytes, len), want);
}
#define EXPECT_NAME(bytes, want) expect_name(bytes, sizeof(bytes) - 1, want)

TEST(a_plain_word_is_itself) {
  EXPECT_NAME("main", "main");
  EXPECT_NAME("/usr/lib/libc++.so.1", "/usr/lib/libc++.so.1");
  EXPECT_NAME("std::vec::Vec<u8>", "std::vec::Vec<u8>");
  EXPECT_NAME("\xc3\xa4\xe6\x97\xa5\xf0\x9f\x99\x82", "\xc3\xa4\xe6\x97\xa5\xf0\x9f\x99\x82");
}

TEST(a_name_that_is_no_plain_word_is_quoted) {
  EXPECT_NAME("", "''");
  EXPECT_NAME("two words", "'two words'");
  EXPECT_NAME("it's \\n", "'it\\'s \\\\n'");
  EXPECT_NAME("'quoted'", "'\\'quoted\\''");
  EXPECT_NAME("a\nb\tc\rd", "'a\\nb\\tc\\rd'");
  EXPECT_NAME("\x1b[2J\x7f\0", "'\\x1b[2J\\x7f\\x00'");
  EXPECT_NAME("\xff\xc3", "'\\xff\\xc3'");
  EXPECT_NAME("\xc2\x9b"
              "2J",
              "'\\u{9b}2J'");
  EXPECT_NAME("a\xe2\x80\xae"
              "b\xe2\x80\xa8\xef\xbb\xbf",
              "'a\\u{202e}b\\u{2028}\\u{feff}'");
  EXPECT_NAME("a\xc2\xa0"
              "b",
              "'a\xc2\xa0"
              "b'");
}

TEST(a_long_name_is_cut_between_characters) {
  char name[32], bytes[100];
  memset(bytes, 'a', sizeof bytes);
  EXPECT_TEXT(text_name(name, sizeof name, bytes, 31), "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
  EXPECT_TEXT(text_name(name, sizeof name, bytes, 32), "'aaaaaaaaaaaaaaaaaaaaaaaaaa'...");
  memset(bytes, '\n', sizeof bytes);
  EXPECT_TEXT(text_name(name, 16, bytes, 100), "'\\n\\n\\n\\n\\n'...");
  for (size_t cap = 16; cap < sizeof name; cap++)
    for (size_t len = 0; len < sizeof bytes; len++) EXPECT(strlen(text_name(name, cap, bytes, len)) < cap);
}

static const char *cleaned(const char *text, bool lines) {
  static char copy[64];
  (void)snprintf(copy, sizeof copy, "%s", text);
  text_clean(copy, lines);
  return copy;
}

TEST(a_clean_message_cannot_drive_a_terminal) {
  EXPECT_TEXT(cleaned("plain, \xc3\xa4", false), "plain, \xc3\xa4");
  EXPECT_TEXT(cleaned("a\x1b[2J\nb\x7f", false), "a?[2J?b?");
  EXPECT_TEXT(cleaned("a\x1b[2J\nb\r", true), "a?[2J\nb?");
  EXPECT_TEXT(cleaned("\xff\xc2\x9b\xe2\x80\xae.\xc3", false), "???.?");
  EXPECT_TEXT(cleaned("", false), "");
}
