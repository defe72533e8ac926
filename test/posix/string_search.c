/* string_search - memchr(3), memrchr(3), strlen(3), strchrnul(3) and memcmp(3) at every distance from the multiples of 16 that they may read
 * at once, and strtod(3) at the edge of what one operation rounds correctly. */
#include "posix.h"

#include <math.h>
#include <string.h>

enum { SIZE = 80 };
static char bytes[SIZE + 1];

static const void *forward(const char *at, int byte, size_t n) {
  for (; n > 0; n--, at++)
    if (*at == byte) return at;
  return NULL;
}

static const void *backward(const char *at, int byte, size_t n) {
  while (n > 0)
    if (at[--n] == byte) return at + n;
  return NULL;
}

/* One mark at `mark`, another right after it; every range. */
static int ranges(int mark) {
  int wrong = 0;
  memset(bytes, 'a', SIZE);
  bytes[mark] = bytes[mark + 1] = 'x';
  for (size_t from = 0; from < SIZE; from++)
    for (size_t n = 0; from + n <= SIZE; n++) {
      wrong += memchr(bytes + from, 'x', n) != forward(bytes + from, 'x', n);
      wrong += memrchr(bytes + from, 'x', n) != backward(bytes + from, 'x', n);
    }
  return wrong;
}

static int ends(int length) {
  int wrong = 0;
  memset(bytes, 'a', SIZE);
  bytes[length] = 0;
  bytes[length + 1] = 'x';
  for (int from = 0; from <= length; from++) {
    wrong += strlen(bytes + from) != (size_t)(length - from);
    wrong += strchrnul(bytes + from, 'x') != bytes + length;
    wrong += strchr(bytes + from, 'x') != NULL;
    if (length > 0 && from < length) {
      bytes[length - 1] = 'x';
      wrong += strchrnul(bytes + from, 'x') != bytes + length - 1;
      bytes[length - 1] = 'a';
    }
  }
  return wrong;
}

static int differences(int at) {
  char other[SIZE];
  int wrong = 0;
  memset(bytes, 'a', SIZE);
  memcpy(other, bytes, SIZE);
  other[at] = (char)0xff;
  for (int n = 0; n <= SIZE; n++) {
    int sign = n > at ? -1 : 0, got = memcmp(bytes, other, (size_t)n);
    wrong += (got < 0 ? -1 : got > 0) != sign;
    got = memcmp(other, bytes, (size_t)n);
    wrong += (got < 0 ? -1 : got > 0) != -sign;
  }
  return wrong;
}

static void number(const char *text) {
  char *end;
  double value = strtod(text, &end);
  say("[%s] %.17g rest [%s]\n", text, value, end);
}

int main(void) {
  int wrong = 0;
  for (int i = 0; i + 1 < SIZE; i++) wrong += ranges(i) + ends(i) + differences(i);
  SHOW(wrong);
  IS(memchr(bytes, 'z', 0) == NULL && memcmp(bytes, "q", 0) == 0);
  static const char *const texts[] = {
    "0",
    "-0",
    "1",
    "0.1",
    " +12.5x",
    "123.4567",
    "9007199254740992",
    "9007199254740993",
    "1e22",
    "1e23",
    "1e-22",
    "1e-23",
    "1.5e",
    "1.5e+",
    ".5",
    "5.",
    ".",
    "-.e1",
    "0x1.8p3",
    "0x",
    "inf",
    "nan()",
    "",
    "  ",
    "1e400",
    "1e-400",
    "4.9e-324",
    "179769313486231570e291",
    "00012.50",
    "1..2",
    "1e0000000000000000000001",
    "3.14159265358979323846264338327950288",
    "-2.5E-3,",
    "1e+5z",
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) number(texts[i]);
  return 0;
}
