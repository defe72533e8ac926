/* glob_fnmatch - glob(3), fnmatch(3): patterns over names and paths. */
#include "posix.h"

#include <fnmatch.h>
#include <glob.h>

static void match(const char *pattern, const char *text, int flags) {
  say("%s ~ %s: %s\n", pattern, text, fnmatch(pattern, text, flags) == 0 ? "yes" : "no");
}

static void find(const char *pattern, int flags) {
  glob_t g;
  int r = glob(pattern, flags, NULL, &g);
  say("%s:%s", pattern, r == GLOB_NOMATCH ? " (none)" : "");
  for (size_t i = 0; r == 0 && i < g.gl_pathc; i++) say(" %s", g.gl_pathv[i]);
  say("\n");
  if (r == 0) globfree(&g);
}

int main(void) {
  match("*.c", "a.c", 0);
  match("*.c", ".c", 0);
  match("*.c", ".c", FNM_PERIOD);
  match("*", "a/b", 0);
  match("*", "a/b", FNM_PATHNAME);
  match("a*/b", "ax/b", FNM_PATHNAME);
  match("[a-c]x[!0-9]", "bxz", 0);
  match("[a-c]x[!0-9]", "bx5", 0);
  match("[]x]", "]", 0);
  match("[[:alpha:]][[:digit:]]", "q7", 0);
  match("a\\*", "a*", 0);
  match("a\\*", "a\\b", FNM_NOESCAPE);
  match("ABC", "abc", FNM_CASEFOLD);
  match("foo", "foo/bar", FNM_LEADING_DIR);
  match("?", "", 0);
  match("", "", 0);
  match("a[", "a[", 0);
  match("**a**", "bab", 0);

  put("b.c", "");
  put("a.c", "");
  put(".hidden.c", "");
  put("a.h", "");
  MUST(mkdir("dir", 0755));
  put("dir/a.c", "");
  put("dir/z", "");
  find("*.c", 0);
  find("*", 0);
  find("*", GLOB_MARK);
  find(".*.c", 0);
  find("*/*.c", 0);
  find("d*/[y-z]", 0);
  find("none*", 0);
  find("none*", GLOB_NOCHECK);
  find("a.c", 0);
  find("?.[ch]", 0);
  find("dir/", 0);
  return 0;
}
