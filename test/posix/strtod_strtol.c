/* strtod_strtol - strtod(3), strtol(3), sscanf(3): text to numbers, where they stop, values out of range. */
#include "posix.h"

#include <inttypes.h>

static void to_double(const char *text) {
  char *end;
  errno = 0;
  double v = strtod(text, &end);
  say("strtod \"%s\": %.17g, rest \"%s\", %s\n", text, v, end, errno == ERANGE ? "ERANGE" : "-");
}

static void to_long(const char *text, int base) {
  char *end;
  errno = 0;
  long long v = strtoll(text, &end, base);
  say("strtoll \"%s\" in %d: %lld, rest \"%s\", %s\n", text, base, v, end, errno == ERANGE ? "ERANGE" : "-");
}

int main(void) {
  static const char *const doubles[] = { "1",
                                         "-0",
                                         "3.25x",
                                         "  7e2 ",
                                         "1e400",
                                         "-1e400",
                                         ".5",
                                         "5.",
                                         "e5",
                                         "0x1.8p3",
                                         "0x",
                                         "inf",
                                         "INFINITYx",
                                         "nan",
                                         "1e",
                                         "1e+",
                                         "0.1",
                                         "1.7976931348623159e308",
                                         "9007199254740993",
                                         "1.00000000000000011102230246251565404",
                                         "+.e3",
                                         "" };
  for (size_t i = 0; i < COUNT_OF(doubles); i++) to_double(doubles[i]);
  to_long("42", 10);
  to_long("  -17abc", 10);
  to_long("0x1F", 0);
  to_long("0x", 16);
  to_long("0777", 0);
  to_long("z", 36);
  to_long("9223372036854775807", 10);
  to_long("9223372036854775808", 10);
  to_long("-9223372036854775809", 10);
  to_long("", 10);
  to_long("+-1", 10);
  errno = 0;
  SHOW(strtoull("-1", NULL, 10) == ULLONG_MAX);
  say("%s\n", error_name(errno));
  SHOW(strtoull("99999999999999999999", NULL, 10) == ULLONG_MAX);
  say("%s\n", error_name(errno));
  say("%d %lld\n", atoi("12x"), atoll("-12345678901"));
  say("%jd\n", strtoimax("-5", NULL, 10));

  int a = 0, b = 0, n = 0;
  char word[16] = "", set[16] = "";
  float f = 0;
  unsigned x = 0;
  SHOW(sscanf("12 abc 3.5 0xff", "%d %15s %f %x", &a, word, &f, &x));
  say("%d %s %.2f %u\n", a, word, (double)f, x);
  SHOW(sscanf("12,34", "%d,%d%n", &a, &b, &n));
  say("%d %d %d\n", a, b, n);
  SHOW(sscanf("key=value;", "%15[a-z]=%15[^;];", word, set));
  say("%s %s\n", word, set);
  SHOW(sscanf("abc", "%d", &a));
  SHOW(sscanf("", "%d", &a));
  SHOW(sscanf("12345", "%2d%*1d%d", &a, &b));
  say("%d %d\n", a, b);
  SHOW(sscanf("077 077", "%i %d", &a, &b));
  say("%d %d\n", a, b);
  return 0;
}
