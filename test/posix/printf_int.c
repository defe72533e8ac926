/* printf_int - printf(3): integers, strings, widths, positions, counts and truncation. */
#include "posix.h"

int main(void) {
  say("[%d] [%5d] [%-5d] [%05d] [%+d] [% d] [%.3d] [%8.3d]\n", 42, 42, 42, 42, 42, 42, 42, 42);
  say("[%x] [%X] [%#x] [%o] [%#o] [%u] [%#010x]\n", 255u, 255u, 255u, 8u, 8u, 4000000000u, 48879u);
  say("[%hhd] [%hd] [%ld] [%lld] [%jd] [%zu] [%td]\n", (signed char)-1, (short)-2, -3L, -4LL, (intmax_t)-5,
      (size_t)6, (ptrdiff_t)7);
  say("[%lld] [%llu] [%llx]\n", LLONG_MIN, ULLONG_MAX, ULLONG_MAX);
  say("[%s] [%10s] [%-10s] [%.2s] [%10.1s] [%c] [%5c] [%%]\n", "text", "text", "text", "text", "text", 'c',
      'd');
  say("[%*d] [%-*d] [%.*s] [%*s]\n", 6, 1, 6, 2, 3, "abcdef", -6, "x");
  say("[%2$s %1$s] [%1$s]\n", "world", "hello");
  int n = 0;
  char text[8];
  volatile size_t size = 8; /* volatile: the compiler must not see the truncation */
  snprintf(text, size, "12345%n678", &n);
  SHOW(n);
  TEXT(text);
  SHOW(snprintf(NULL, 0, "%d%s", 100, "abc"));
  size = 4;
  SHOW(snprintf(text, size, "abcdefg"));
  TEXT(text);
  size = 1;
  SHOW(snprintf(text, size, "x"));
  TEXT(text);
  say("[%.0d] [%.0x] [%#.0o]\n", 0, 0u, 0u);
  return 0;
}
