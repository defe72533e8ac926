/* Short decimal numbers are read here: up to 2^53 as digits, times or by a power of ten that a double holds
 * exactly, is one operation, and so rounded correctly. All others go through musl's scanner, which takes ten
 * times as long.
 */
#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>

#include "floatscan.h"
#include "shgetc.h"
#include "stdio_impl.h"

#define EXACT_MAX (1ull << 53)
#define TEN_MAX 22

static const double tens[TEN_MAX + 1] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                          1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                          1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };

static long double scan(const char *text, char **end, int precision) {
  FILE file;
  sh_fromstring(&file, text);
  shlim(&file, 0);
  long double value = __floatscan(&file, precision, 1);
  off_t count = shcnt(&file);
  if (end) *end = count ? (char *)text + count : (char *)text;
  return value;
}

/* The digits at *at, appended to *number. Returns how many there are, or -1 when the number is too long. */
static int digits(const char **at, uint64_t *number) {
  const char *first = *at;
  for (; isdigit(**at); ++*at) {
    if (*number > EXACT_MAX / 10) return -1;
    *number = *number * 10 + (uint64_t)(**at - '0');
  }
  return *number <= EXACT_MAX ? (int)(*at - first) : -1;
}

/* The exponent at *at: 0 when there is none, and a number out of reach when it is too great. */
static int exponent(const char **at) {
  const char *from = *at + 1;
  uint64_t value = 0;
  if ((**at | 32) != 'e') return 0;
  int minus = *from == '-';
  from += minus || *from == '+';
  if (!isdigit(*from)) return 0;
  if (digits(&from, &value) < 0 || value > 1000) return 1000;
  *at = from;
  return minus ? -(int)value : (int)value;
}

static int is_short(const char *text, char **end, double *value) {
  uint64_t number = 0;
  while (isspace(*text)) text++;
  int minus = *text == '-', before, after = 0, ten;
  text += minus || *text == '+';
  if (*text == '0' && (text[1] | 32) == 'x') return 0;
  if ((before = digits(&text, &number)) < 0) return 0;
  if (*text == '.' && (before || isdigit(text[1]))) {
    text++;
    if ((after = digits(&text, &number)) < 0) return 0;
  }
  if (before + after == 0) return 0;
  ten = exponent(&text) - after;
  if (ten < -TEN_MAX || ten > TEN_MAX) return 0;
  *value = ten < 0 ? (double)number / tens[-ten] : (double)number * tens[ten];
  if (minus) *value = -*value;
  if (end) *end = (char *)text;
  return 1;
}

double strtod(const char *restrict text, char **restrict end) {
  double value;
  return is_short(text, end, &value) ? value : (double)scan(text, end, 1);
}

long double strtold(const char *restrict text, char **restrict end) { return strtod(text, end); }

float strtof(const char *restrict text, char **restrict end) { return (float)scan(text, end, 0); }
