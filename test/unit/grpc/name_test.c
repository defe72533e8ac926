#include "grpc/service/name.h"

#include "test.h"

static code_name named;

static const char *stem(const char *code) {
  code_name_of((cay_slice){ code, strlen(code) }, &named);
  return named.stem;
}

static const char *text(const char *code) {
  (void)stem(code);
  return named.text;
}

TEST(the_first_comment_is_the_description) {
  EXPECT_TEXT(text("// Lists the pods\n// of a namespace\nx()"), "Lists the pods of a namespace");
  EXPECT_TEXT(named.stem, "lists-the-pods-of-a");
  EXPECT_TEXT(text("/**\n * Counts nodes.\n *\n * More.\n * @param x\n */\nx()"), "Counts nodes.");
  EXPECT_TEXT(text("#!/usr/bin/env node\n\n/* Short */ x"), "Short");
  EXPECT_TEXT(text("# of Python\nx = 1"), "of Python");
  EXPECT_TEXT(text("\"\"\"Docs\n\nmore\"\"\"\n"), "Docs");
  EXPECT_TEXT(text("/* never ends"), "never ends");
}

TEST(without_a_comment_definitions_name_it) {
  EXPECT_TEXT(stem("export const listPods = 1\nexport function countNodes() {}"), "list-pods");
  EXPECT_TEXT(named.text, "exports listPods, countNodes");
  EXPECT_TEXT(stem("const a = 1\nasync function HTTPServer2() {}"), "http-server2");
  EXPECT_TEXT(named.text, "defines HTTPServer2");
  EXPECT_TEXT(stem("export default class Foo {}"), "foo");
  EXPECT_TEXT(stem("def run_all(x):\n  pass"), "run-all");
}

TEST(without_definitions_the_first_call_that_says_something) {
  EXPECT_TEXT(stem("const k = require('k')\nconst r = await api.listPods()\nconsole.log(r)"),
              "api-list-pods");
  EXPECT_TEXT(named.text, "calls api.listPods");
  EXPECT_TEXT(stem("console.log(1)"), "console-log");
}

TEST(there_is_always_a_name) {
  static const char *const codes[] = { "",     "1", "//",  "/*",     "// \xe2\x82\xac",
                                       "((((", "#", "'''", "\n\n\n", "export" };
  for (size_t i = 0; i < COUNT_OF(codes); i++) EXPECT(stem(codes[i])[0] != '\0');
  EXPECT_TEXT(stem(""), "script");
}

TEST(a_long_comment_is_cut_at_a_character) {
  char code[1000] = "// ";
  for (size_t i = 0; i < 300; i++) memcpy(code + 3 + 3 * i, "\xe2\x82\xac", 4);
  (void)stem(code);
  EXPECT(strlen(named.text) < NAME_TEXT && strlen(named.text) % 3 == 0);
}

TEST(a_full_name_has_digits_and_a_suffix) {
  digest of = digest_of("x", 1);
  char full[NAME_MAX_LEN];
  (void)stem("listPods()");
  code_name_full(&named, &of, 6, ".ts", full);
  EXPECT_TEXT(full, "list-pods-2d7116.ts");
}
