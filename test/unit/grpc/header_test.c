#include "grpc/wire/header.h"

#include "base/clock.h"
#include "test.h"

static int64_t timeout_of(const char *text) {
  int64_t ns = -2;
  return header_timeout((cay_slice){ text, strlen(text) }, &ns) ? ns : -1;
}

TEST(timeouts_have_digits_and_a_unit) {
  EXPECT_EQ(timeout_of("100m"), 100 * NS_PER_MS);
  EXPECT_EQ(timeout_of("1H"), 3600 * NS_PER_SEC);
  EXPECT_EQ(timeout_of("2M"), 120 * NS_PER_SEC);
  EXPECT_EQ(timeout_of("3S"), 3 * NS_PER_SEC);
  EXPECT_EQ(timeout_of("7u"), 7000);
  EXPECT_EQ(timeout_of("0n"), 0);
  EXPECT(timeout_of("99999999H") > 0);
}

TEST(other_timeouts_are_refused) {
  static const char *const wrong[] = { "", "m", "5", "5x", "-1m", " 1m", "1 m", "100000000m", "1.5S" };
  for (size_t i = 0; i < COUNT_OF(wrong); i++) EXPECT_EQ(timeout_of(wrong[i]), -1);
}

static bool is_grpc(const char *text) { return header_is_grpc((cay_slice){ text, strlen(text) }); }

TEST(content_types_of_grpc) {
  EXPECT(is_grpc("application/grpc") && is_grpc("application/grpc+proto") &&
         is_grpc("Application/GRPC; charset=x"));
  EXPECT(!is_grpc("") && !is_grpc("application/grpc-web") && !is_grpc("application/grpc+json") &&
         !is_grpc("text/html"));
}

TEST(lists_are_separated_by_commas) {
  cay_slice list = { "identity, gzip ,x", 17 };
  EXPECT(header_lists(list, "gzip") && header_lists(list, "identity") && header_lists(list, "x"));
  EXPECT(!header_lists(list, "zip") && !header_lists((cay_slice){ NULL, 0 }, "gzip"));
}

TEST(messages_are_escaped_and_cut_between_escapes) {
  char out[32];
  size_t len = header_escape("a%\n\xe2\x82\xac", out, sizeof out);
  out[len] = '\0';
  EXPECT_TEXT(out, "a%25%0A%E2%82%AC");
  EXPECT_EQ(header_escape("a%\n", out, 6), 4);
}
