#include "grpc/service/glob.h"

#include "test.h"

static bool matches(const char *filter, const char *name) {
  return glob_matches((cay_slice){ filter, strlen(filter) }, (cay_slice){ name, strlen(name) });
}

TEST(a_text_is_a_part_without_regard_to_case) {
  EXPECT(matches("", "anything") && matches("PODS", "list-pods-1.ts") && matches("list", "List"));
  EXPECT(!matches("pods", "pod") && !matches("a.c", "abc"));
}

TEST(a_pattern_is_for_the_whole_name) {
  EXPECT(matches("list-*", "LIST-pods.ts") && matches("*", "") && matches("*.ts", "a.ts") &&
         matches("a*b*c", "aXbbYc"));
  EXPECT(matches("a?c", "abc") && matches("?", "\xe2\x82\xac") && matches("**", "x"));
  EXPECT(!matches("pods*", "list-pods") && !matches("a*b", "abc") && !matches("?", "") &&
         !matches("a?", "a"));
}

TEST(a_pattern_of_stars_takes_no_time) {
  char filter[GLOB_MAX], name[10000];
  for (size_t i = 0; i < sizeof filter; i++) filter[i] = i % 2 == 0 ? '*' : 'a';
  memset(name, 'a', sizeof name);
  filter[sizeof filter - 1] = 'b';
  EXPECT(!glob_matches((cay_slice){ filter, sizeof filter }, (cay_slice){ name, sizeof name }));
}
