/* regex - regcomp(3): basic and extended expressions, leftmost longest, groups, flags, errors. */
#include "posix.h"

#include <regex.h>

static void match(const char *pattern, const char *text, int flags, int eflags) {
  regex_t re;
  regmatch_t m[4];
  say("%s ~ %s:", pattern, text);
  if (regcomp(&re, pattern, flags) != 0) {
    say(" bad pattern\n");
    return;
  }
  int r = regexec(&re, text, 4, m, eflags);
  if (r != 0) say(" no");
  for (size_t i = 0; r == 0 && i < 4 && i <= re.re_nsub; i++)
    say(" (%d,%d)", (int)m[i].rm_so, (int)m[i].rm_eo);
  say("\n");
  regfree(&re);
}

int main(void) {
  match("abc", "xabcx", 0, 0);
  match("a*", "baaac", 0, 0);
  match("a\\{2,3\\}", "aaaaa", 0, 0);
  match("\\(a\\)\\(b*\\)", "cabbb", 0, 0);
  match("\\(ab\\)\\1", "xababx", 0, 0);
  match("^a.c$", "abc", 0, 0);
  match("^a.c$", "xabc", 0, 0);
  match("(a|ab)(c|bcd)", "abcd", REG_EXTENDED, 0);
  match("x+y?z{2}", "xxzzz", REG_EXTENDED, 0);
  match("[[:digit:]]+", "ab123c", REG_EXTENDED, 0);
  match("[^a-z]", "abcD", REG_EXTENDED, 0);
  match("HeLLo", "say hello", REG_EXTENDED | REG_ICASE, 0);
  match("^b", "a\nb", REG_EXTENDED, 0);
  match("^b", "a\nb", REG_EXTENDED | REG_NEWLINE, 0);
  match("a.b", "a\nb", REG_EXTENDED | REG_NEWLINE, 0);
  match("^a", "a", REG_EXTENDED, REG_NOTBOL);
  match("(a)|(b)", "b", REG_EXTENDED, 0);
  match("", "abc", REG_EXTENDED, 0);
  match("\\.", "a.b", REG_EXTENDED, 0);
  match("(", "x", REG_EXTENDED, 0);
  match("[a", "x", REG_EXTENDED, 0);
  match("a{3,2}", "x", REG_EXTENDED, 0);
  match("\\(", "x", 0, 0);
  match("[[:none:]]", "x", REG_EXTENDED, 0);
  return 0;
}
