/* value_test.c - amounts, as src/cli/value.h promises to read them. */
#include "cli/value.h"
#include "test.h"

static uint32_t duration(const char *text) {
  uint32_t ms = 0;
  return value_duration(text, &ms) ? ms : 0;
}

static uint64_t size(const char *text) {
  uint64_t bytes = 0;
  return value_size(text, &bytes) ? bytes : 0;
}

static uint64_t count(const char *text) {
  uint64_t n = 0;
  return value_count(text, 1000000, &n) ? n : 0;
}

TEST(a_duration_has_a_unit_and_a_bare_number_is_seconds) {
  EXPECT_EQ(duration("500ms"), 500);
  EXPECT_EQ(duration("5s"), 5000);
  EXPECT_EQ(duration("5"), 5000);
  EXPECT_EQ(duration("2m"), 120000);
  EXPECT_EQ(duration("1h"), 3600000);
  EXPECT_EQ(duration("1.5s"), 1500);
  EXPECT_EQ(duration("none"), UINT32_MAX);
}

TEST(a_duration_is_never_rounded_down_to_nothing) {
  EXPECT_EQ(duration("0.1ms"), 1);
  EXPECT_EQ(duration("1.0001s"), 1001);
  EXPECT_EQ(duration("0.0000000001s"), 0);
}

TEST(a_size_counts_in_powers_of_1024_and_a_bare_number_is_bytes) {
  EXPECT_EQ(size("1"), 1);
  EXPECT_EQ(size("64K"), 64 << 10);
  EXPECT_EQ(size("64m"), 64 << 20);
  EXPECT_EQ(size("1G"), 1 << 30);
  EXPECT_EQ(size("1GiB"), 1 << 30);
  EXPECT_EQ(size("0.5M"), 512 << 10);
  EXPECT_EQ(size("16777215T"), 16777215ull << 40);
  EXPECT_EQ(size("18446744073709551615"), UINT64_MAX);
}

TEST(a_count_counts_in_powers_of_1000_up_to_its_maximum) {
  EXPECT_EQ(count("64"), 64);
  EXPECT_EQ(count("10K"), 10000);
  EXPECT_EQ(count("1.5K"), 1500);
  EXPECT_EQ(count("1M"), 1000000);
  EXPECT_EQ(count("1000001"), 0);
  EXPECT_EQ(count("1.5"), 0);
}

TEST(anything_else_is_no_value) {
  static const char *const wrong[] = { "",   " 1", "1 ",  "-1",  "+1",   "s",   "1x",
                                       "1.", ".5", "1.s", "1ss", "0x10", "1e3", "\xd9\xa1" };
  for (size_t i = 0; i < COUNT_OF(wrong); i++) {
    EXPECT_EQ(duration(wrong[i]), 0);
    EXPECT_EQ(size(wrong[i]), 0);
    EXPECT_EQ(count(wrong[i]), 0);
  }
}

TEST(zero_and_what_does_not_fit_are_no_values) {
  EXPECT_EQ(duration("0"), 0);
  EXPECT_EQ(size("0K"), 0);
  EXPECT_EQ(duration("25d"), 0);
  EXPECT_EQ(duration("99999999999999999999"), 0);
  EXPECT_EQ(size("18446744073709551616"), 0);
  EXPECT_EQ(size("16777216T"), 0);
}

TEST(a_value_that_is_refused_leaves_the_old_one) {
  uint64_t n = 7;
  EXPECT(!value_size("many", &n));
  EXPECT_EQ(n, 7);
}
