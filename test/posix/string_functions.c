/* string_functions - strtok(3), strsep(3), strverscmp(3), memmem(3) and others whose corners are easily
 * wrong. */
#include "posix.h"

#include <ctype.h>
#include <strings.h>

static int sign(int n) { return (n > 0) - (n < 0); }

int main(void) {
  char text[64];
  strcpy(text, ",a,,b;c,");
  for (char *save, *p = strtok_r(text, ",;", &save); p != NULL; p = strtok_r(NULL, ",;", &save))
    say("[%s]", p);
  say("\n");
  strcpy(text, ",a,,b");
  for (char *rest = text, *p; (p = strsep(&rest, ",")) != NULL;) say("[%s]", p);
  say("\n");
  SHOW(sign(strcmp("a", "b")));
  SHOW(sign(strcmp("\xff", "a")));
  SHOW(sign(memcmp("\xff", "\x01", 1)));
  SHOW(sign(strncmp("abc", "abd", 2)));
  SHOW(sign(strcasecmp("HeLLo", "hEllO")));
  SHOW(sign(strncasecmp("ABCx", "abcy", 3)));
  SHOW(sign(strverscmp("file9", "file10")));
  SHOW(strspn("aabbc", "ab"));
  SHOW(strcspn("hello", "lx"));
  TEXT(strpbrk("hello", "ol"));
  TEXT(strstr("haystack needle hay", "needle"));
  IS(strstr("abc", "") != NULL && strstr("abc", "abcd") == NULL);
  TEXT(strrchr("a/b/c", '/'));
  TEXT(strchrnul("abc", 'x'));
  TEXT(strcasestr("Some TEXT", "text"));
  TEXT((char *)memmem("abcdef", 6, "cd", 2));
  SHOW((char *)memrchr("abcabc", 'b', 6) == NULL);
  SHOW(strnlen("abcdef", 3));
  SHOW(stpcpy(text, "copied") - text);
  strcpy(text, "0123456789");
  memmove(text + 2, text, 5);
  TEXT(text);
  memmove(text, text + 2, 5);
  TEXT(text);
  strncpy(text, "ab", 5);
  IS(text[2] == 0 && text[4] == 0);
  strncat(strcpy(text, "x"), "abcdef", 3);
  TEXT(text);
  SHOW(ffs(0));
  SHOW(ffs(0x50));
  IS(isalpha('a') && !isalpha('1') && isspace('\v') && !isprint(127) && ispunct('~') && isxdigit('F'));
  SHOW(toupper('z'));
  IS(strdup("x") != NULL && strcmp(strndup("abcdef", 3), "abc") == 0);
  IS(strlen(strsignal(SIGTERM)) > 0 && strlen(strerror(ENOENT)) > 0);
  IS(strcoll("abc", "abd") < 0 && strxfrm(text, "abc", sizeof text) == 3);
  return 0;
}
