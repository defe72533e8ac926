/* say_test.c - guessing the word that was meant. */
#include "cli/say.h"
#include "test.h"

static const char *const words[] = { "memory", "mount", "timeout", "in", NULL };

TEST(a_word_with_a_slip_is_recognised) {
  EXPECT_TEXT(say_nearest("memroy", words), "memory");
  EXPECT_TEXT(say_nearest("timeou", words), "timeout");
  EXPECT_TEXT(say_nearest("mounts", words), "mount");
  EXPECT_TEXT(say_nearest("memory", words), "memory");
}

TEST(a_word_unlike_all_others_is_not) {
  EXPECT(say_nearest("colour", words) == NULL);
  EXPECT(say_nearest("", words) == NULL);
  EXPECT(say_nearest("xy", words) == NULL);
}

TEST(a_word_of_any_length_is_harmless) {
  static char long_word[100000];
  memset(long_word, 'a', sizeof long_word - 1);
  EXPECT(say_nearest(long_word, words) == NULL);
}
