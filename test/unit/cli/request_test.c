/* request_test.c - the words behind `cay run`. */
#include "cli/request.h"
#include "test.h"

#include <stdlib.h>

static request r;
static cay_error why;

/* Parses up to 15 words; the request stays until the next call. */
#define PARSE(...) parse((char *[16]){ "run", __VA_ARGS__ })
static cay_status parse(char **argv) {
  static char *kept[16];
  int argc = 0;
  while (argv[argc] != NULL) argc++;
  memcpy(kept, argv, sizeof kept);
  request_free(&r);
  why = (cay_error){ 0 };
  return request_parse(&r, argc, kept, &why);
}

static const char *line(void) {
  static char copy[128];
  char *text = request_line(&r);
  (void)snprintf(copy, sizeof copy, "%s", text);
  free(text);
  return copy;
}

static bool complains_of(const char *part) { return strstr(why.message, part) != NULL; }

TEST(words_without_a_double_dash_are_one_line_for_the_shell) {
  EXPECT_EQ(PARSE("ls | wc"), CAY_OK);
  EXPECT(!r.exact);
  EXPECT_TEXT(line(), "ls | wc");
  EXPECT_EQ(PARSE("echo", "a", "b  c"), CAY_OK);
  EXPECT_TEXT(line(), "echo a b  c");
}

TEST(words_behind_a_double_dash_are_a_program_and_its_arguments) {
  EXPECT_EQ(PARSE("--", "printf", "%s", "--json"), CAY_OK);
  EXPECT(r.exact);
  EXPECT_EQ(r.word_count, 3);
  EXPECT_TEXT(r.words[2], "--json");
  EXPECT(!r.json);
  EXPECT_EQ(PARSE("-q", "--cwd", "--", "--", "ls"), CAY_OK); /* the first belongs to --cwd */
  EXPECT(r.exact);
  EXPECT_TEXT(r.cwd, "/home/agent/--");
  EXPECT_EQ(PARSE("--cwd", "--", "ls"), CAY_OK);
  EXPECT(!r.exact);
}

TEST(options_end_at_the_first_word_of_the_command) {
  EXPECT_EQ(PARSE("--json", "ls", "--stats", "-q"), CAY_OK);
  EXPECT(r.json && !r.stats && !r.quiet);
  EXPECT_TEXT(line(), "ls --stats -q");
}

TEST(limits_are_the_defaults_or_as_written) {
  EXPECT_EQ(PARSE("true"), CAY_OK);
  EXPECT_EQ(r.limits.memory, 512 << 20);
  EXPECT_EQ(r.limits.wall_ms, 30000);
  EXPECT_EQ(r.limits.fuel, 0);
  EXPECT_EQ(PARSE("--memory=1G", "--disk", "64K", "--procs", "5", "-t", "250ms", "--fuel", "10M",
                  "--capture=9", "true"),
            CAY_OK);
  EXPECT_EQ(r.limits.memory, 1 << 30);
  EXPECT_EQ(r.limits.disk, 64 << 10);
  EXPECT_EQ(r.limits.processes, 5);
  EXPECT_EQ(r.limits.wall_ms, 250);
  EXPECT_EQ(r.limits.fuel, 10000000);
  EXPECT_EQ(r.limits.output, 9);
  EXPECT_EQ(PARSE("--timeout", "none", "true"), CAY_OK);
  EXPECT_EQ(r.limits.wall_ms, UINT32_MAX);
}

TEST(a_copy_in_is_split_at_its_last_colon_and_a_copy_out_at_its_first) {
  EXPECT_EQ(PARSE("--in", "a:b:/c", "--in=d", "--out", "/x:y:z", "--out", "w", "true"), CAY_OK);
  EXPECT_EQ(r.in.count, 2);
  EXPECT_TEXT(r.in.items[0].from, "a:b");
  EXPECT_TEXT(r.in.items[0].to, "/c");
  EXPECT_TEXT(r.in.items[1].from, "d");
  EXPECT(r.in.items[1].to == NULL);
  EXPECT_EQ(r.out.count, 2);
  EXPECT_TEXT(r.out.items[0].from, "/x");
  EXPECT_TEXT(r.out.items[0].to, "y:z");
  EXPECT(r.out.items[1].to == NULL);
}

TEST(a_mount_is_only_for_reading_unless_it_says_rw) {
  EXPECT_EQ(PARSE("--mount", "a:/b", "--mount", "c:d:/e:rw", "--mount", "f:/g:ro", "true"), CAY_OK);
  EXPECT_EQ(r.mounts.count, 3);
  EXPECT(!r.mounts.items[0].writable);
  EXPECT_TEXT(r.mounts.items[1].from, "c:d");
  EXPECT_TEXT(r.mounts.items[1].to, "/e");
  EXPECT(r.mounts.items[1].writable);
  EXPECT_TEXT(r.mounts.items[2].to, "/g");
  EXPECT(!r.mounts.items[2].writable);
}

TEST(a_variable_without_a_value_is_inherited_if_it_is_set) {
  EXPECT_EQ(setenv("CAY_TEST_SET", "here", 1), 0);
  EXPECT_EQ(unsetenv("CAY_TEST_UNSET"), 0);
  EXPECT_EQ(PARSE("-e", "CAY_TEST_SET", "-e", "CAY_TEST_UNSET", "--env", "A=b=c", "--env=EMPTY=", "true"),
            CAY_OK);
  EXPECT_EQ(r.env_count, 3);
  EXPECT_TEXT(r.env[0], "CAY_TEST_SET=here");
  EXPECT_TEXT(r.env[1], "A=b=c");
  EXPECT_TEXT(r.env[2], "EMPTY=");
  EXPECT(r.env[3] == NULL);
}

TEST(a_relative_working_directory_is_seen_from_home) {
  EXPECT_EQ(PARSE("-C", "src", "true"), CAY_OK);
  EXPECT_TEXT(r.cwd, "/home/agent/src");
  EXPECT_EQ(PARSE("--cwd=/tmp/", "true"), CAY_OK);
  EXPECT_TEXT(r.cwd, "/tmp");
}

TEST(help_needs_no_command) {
  EXPECT_EQ(PARSE("--help"), CAY_OK);
  EXPECT(r.help);
}

TEST(errors_are_named) {
  EXPECT_EQ(PARSE(NULL), CAY_INVALID);
  EXPECT(complains_of("nothing to run"));
  EXPECT_EQ(PARSE("--memroy", "5", "ls"), CAY_INVALID);
  EXPECT(complains_of("--memroy") && complains_of("did you mean --memory"));
  EXPECT_EQ(PARSE("-x", "ls"), CAY_INVALID);
  EXPECT(complains_of("-x"));
  EXPECT_EQ(PARSE("--json=yes", "ls"), CAY_INVALID);
  EXPECT(complains_of("--json takes no value"));
  EXPECT_EQ(PARSE("--memory"), CAY_INVALID);
  EXPECT(complains_of("--memory needs a value"));
  EXPECT_EQ(PARSE("--timeout", "soon", "ls"), CAY_INVALID);
  EXPECT(complains_of("soon") && complains_of("500ms"));
  EXPECT_EQ(PARSE("--disk", "0", "ls"), CAY_INVALID);
  EXPECT(complains_of("--disk 0"));
  EXPECT_EQ(PARSE("--mount", "here", "ls"), CAY_INVALID);
  EXPECT(complains_of("HOST:GUEST"));
  EXPECT_EQ(PARSE("--in", ":x", "ls"), CAY_INVALID);
  EXPECT(complains_of("empty"));
  EXPECT_EQ(PARSE("--env", "=x", "ls"), CAY_INVALID);
  EXPECT(complains_of("no name"));
}

TEST(a_word_of_any_length_is_only_a_complaint) {
  static char word[1 << 20];
  memset(word, 'x', sizeof word - 1);
  EXPECT_EQ(PARSE("--timeout", word, "ls"), CAY_INVALID);
  memcpy(word, "--", 2);
  EXPECT_EQ(PARSE(word, "ls"), CAY_INVALID);
  request_free(&r);
}
