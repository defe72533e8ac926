/* path_test.c - names of files, as src/cli/path.h promises to treat them. */
#include "cli/path.h"
#include "test.h"

#include <stdlib.h>

static const char *kept(char *text) {
  static char copy[128];
  EXPECT(text != NULL);
  (void)snprintf(copy, sizeof copy, "%s", text);
  free(text);
  return copy;
}

TEST(a_relative_path_is_seen_from_the_base_and_an_absolute_one_stays) {
  EXPECT_TEXT(kept(path_join("/home/agent", "a/b")), "/home/agent/a/b");
  EXPECT_TEXT(kept(path_join("/home/agent", "/etc")), "/etc");
  EXPECT_TEXT(kept(path_join("/", "a")), "/a");
}

TEST(empty_parts_and_dots_vanish_and_double_dots_stay) {
  EXPECT_TEXT(kept(path_join("/a/", ".//b/./c//")), "/a/b/c");
  EXPECT_TEXT(kept(path_join("/a", ".")), "/a");
  EXPECT_TEXT(kept(path_join("/", "/")), "/");
  EXPECT_TEXT(kept(path_join("/a", "../b")), "/a/../b");
  EXPECT_TEXT(kept(path_join("/a", "...")), "/a/...");
}

TEST(the_name_is_the_last_part) {
  EXPECT_TEXT(kept(path_name("/a/b")), "b");
  EXPECT_TEXT(kept(path_name("b//")), "b");
  EXPECT_TEXT(kept(path_name("b")), "b");
  EXPECT_TEXT(kept(path_name("/")), "");
}

TEST(a_slash_at_the_end_means_inside) {
  EXPECT(path_is_inside("a/"));
  EXPECT(!path_is_inside("a"));
  EXPECT(!path_is_inside(""));
}

TEST(a_link_stays_when_it_climbs_no_higher_than_the_top) {
  EXPECT(path_link_stays("a", 0));
  EXPECT(path_link_stays("a/b/c", 0));
  EXPECT(path_link_stays("../a", 1));
  EXPECT(path_link_stays(".././../a", 2));
  EXPECT(!path_link_stays("..", 0));
  EXPECT(!path_link_stays("../../a", 1));
}

TEST(a_link_leads_out_when_it_is_absolute_or_climbs_behind_a_name) {
  EXPECT(!path_link_stays("/etc/passwd", 5));
  EXPECT(!path_link_stays("", 5));
  EXPECT(!path_link_stays("a/..", 5)); /* `a` may itself be a link to a place higher up */
  EXPECT(!path_link_stays("a/../../b", 5));
}
