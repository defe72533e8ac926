/* The recipe replaces the texts of __strerror.h by those of other libcs. An unknown number is named, as there. */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "locale_impl.h"

static const struct {
  unsigned short code;
  const char *text;
} texts[] = {
#define E(code, text) { code, text },
#include "../__strerror.h"
};

static char *unknown(int code) {
  static const char words[] = "Unknown error ";
  static char text[sizeof words + 3 * sizeof code];
  char digits[3 * sizeof code], *first = digits + sizeof digits;
  unsigned rest = code < 0 ? 0u - (unsigned)code : (unsigned)code;
  do *--first = (char)('0' + rest % 10);
  while (rest /= 10);
  if (code < 0) *--first = '-';
  size_t count = (size_t)(digits + sizeof digits - first);
  memcpy(text, words, sizeof words - 1);
  memcpy(text + sizeof words - 1, first, count);
  text[sizeof words - 1 + count] = 0;
  return text;
}

char *__strerror_l(int code, locale_t locale) {
  for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++)
    if (texts[i].code == code) return (char *)LCTRANS(texts[i].text, LC_MESSAGES, locale);
  return unknown(code);
}

char *strerror(int code) { return __strerror_l(code, CURRENT_LOCALE); }

__attribute__((__weak__, __alias__("__strerror_l"))) char *strerror_l(int, locale_t);
