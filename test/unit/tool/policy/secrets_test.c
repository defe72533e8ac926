/* secrets_test.c - where secrets come from. */
#include "tool/policy/secrets.h"

#include "test.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static cay_status get(tool_provider provider, const char *name, char *out, size_t cap) {
  buf value = BUF_INIT(TOOL_SECRET_MAX);
  cay_status status = tool_secret_get(&(tool_secrets){ .list = &provider, .count = 1 }, name, &value, NULL);
  (void)snprintf(out, cap, "%s", status == CAY_OK ? buf_text(&value) : "");
  tool_secret_wipe(&value);
  return status;
}

TEST(names_cannot_lead_anywhere) {
  static const char *const bad[] = { "", ".", "..", ".x", "-x", "a/b", "a b", "a\n", "a=b", "\xc3\xa4" };
  for (size_t i = 0; i < COUNT_OF(bad); i++) EXPECT(!tool_secret_is_name(bad[i]));
  EXPECT(tool_secret_is_name("github_pat"));
  EXPECT(tool_secret_is_name("a.b-c_9"));
}

TEST(the_environment_is_asked_with_a_prefix_and_in_capitals) {
  char text[100];
  tool_provider p = { .kind = TOOL_FROM_ENVIRONMENT, .where = "CAY_TEST_SECRET_" };
  EXPECT_EQ(setenv("CAY_TEST_SECRET_GITHUB_PAT", "s3cret", 1), 0);
  EXPECT_EQ(get(p, "github.pat", text, sizeof text), CAY_OK);
  EXPECT_TEXT(text, "s3cret");
  EXPECT_EQ(get(p, "other", text, sizeof text), CAY_NOT_FOUND);
}

TEST(a_file_is_read_without_its_line_end_and_no_link_is_followed) {
  char path[200], link[200], text[100];
  (void)snprintf(path, sizeof path, "%s/token", test_dir());
  (void)snprintf(link, sizeof link, "%s/linked", test_dir());
  FILE *f = fopen(path, "w");
  EXPECT(f != NULL);
  EXPECT(fputs("abc\r\n", f) >= 0);
  EXPECT_EQ(fclose(f), 0);
  EXPECT_EQ(symlink(path, link), 0);
  tool_provider p = { .kind = TOOL_FROM_FILE, .where = test_dir() };
  EXPECT_EQ(get(p, "token", text, sizeof text), CAY_OK);
  EXPECT_TEXT(text, "abc");
  EXPECT_EQ(get(p, "absent", text, sizeof text), CAY_NOT_FOUND);
  EXPECT_EQ(get(p, "linked", text, sizeof text), CAY_IO);
}

TEST(a_command_prints_the_secret_of_the_name_behind_it) {
  static const char *const says[] = { "sh", "-c", "test $1 = one || exit 1; echo v-$1", "sh", NULL };
  static const char *const fails[] = { "sh", "-c", "echo half; exit 3", "sh", NULL };
  static const char *const absent[] = { "/nowhere/at-all", NULL };
  static const char *const endless[] = { "yes", NULL };
  char text[100];
  EXPECT_EQ(get((tool_provider){ .kind = TOOL_FROM_COMMAND, .argv = says }, "one", text, sizeof text),
            CAY_OK);
  EXPECT_TEXT(text, "v-one");
  EXPECT_EQ(get((tool_provider){ .kind = TOOL_FROM_COMMAND, .argv = says }, "two", text, sizeof text),
            CAY_NOT_FOUND);
  EXPECT_EQ(get((tool_provider){ .kind = TOOL_FROM_COMMAND, .argv = fails }, "x", text, sizeof text), CAY_IO);
  EXPECT_EQ(get((tool_provider){ .kind = TOOL_FROM_COMMAND, .argv = absent }, "x", text, sizeof text),
            CAY_IO);
  EXPECT_EQ(get((tool_provider){ .kind = TOOL_FROM_COMMAND, .argv = endless }, "x", text, sizeof text),
            CAY_LIMIT);
}

TEST(providers_are_asked_in_order) {
  static const char *const says[] = { "echo", NULL };
  tool_provider both[] = { { .kind = TOOL_FROM_ENVIRONMENT, .where = "CAY_TEST_NONE_" },
                           { .kind = TOOL_FROM_COMMAND, .argv = says } };
  buf value = BUF_INIT(TOOL_SECRET_MAX);
  EXPECT_EQ(tool_secret_get(&(tool_secrets){ .list = both, .count = 2 }, "k", &value, NULL), CAY_OK);
  EXPECT_TEXT(buf_text(&value), "k");
  tool_secret_wipe(&value);
}
