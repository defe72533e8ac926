/* value.c - decimal numbers with a unit, as durations, sizes and counts (value.h). */
#include "cli/value.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

enum { FRACTION_DIGITS = 9 };
static const uint64_t billion = 1000000000;

/* A decimal number in billionths, so that "1.5" is exact: `whole` and `part` / 10^9. The end of it, or NULL. */
static const char *decimal(const char *text, uint64_t *whole, uint64_t *part) {
  const char *at = text;
  *whole = *part = 0;
  for (; *at >= '0' && *at <= '9'; at++) {
    uint64_t digit = (uint64_t)(*at - '0');
    if (*whole > (UINT64_MAX - digit) / 10) return NULL;
    *whole = *whole * 10 + digit;
  }
  if (at == text) return NULL;
  if (*at != '.') return at;

  const char *first = ++at;
  uint64_t weight = billion;
  for (; *at >= '0' && *at <= '9'; at++) {
    weight /= 10; /* 0 behind the ninth digit: finer is cut */
    *part += weight * (uint64_t)(*at - '0');
  }
  return at == first ? NULL : at;
}

/* Decimal times unit, rounded up. */
static bool scale(uint64_t whole, uint64_t part, uint64_t unit, uint64_t max, uint64_t *out) {
  __extension__ typedef unsigned __int128 wide;
  wide value = (wide)whole * unit + ((wide)part * unit + billion - 1) / billion;
  if (value == 0 || value > max) return false;
  *out = (uint64_t)value;
  return true;
}

struct unit {
  const char *name;
  uint64_t factor;
};

static bool with_unit(const char *text, const struct unit *units, uint64_t max, uint64_t *out) {
  uint64_t whole, part;
  const char *suffix = decimal(text, &whole, &part);
  if (suffix == NULL) return false;
  for (const struct unit *u = units; u->name != NULL; u++)
    if (strcasecmp(suffix, u->name) == 0) return scale(whole, part, u->factor, max, out);
  return false;
}

bool value_duration(const char *text, uint32_t *out_ms) {
  static const struct unit units[] = { { "", 1000 },       { "ms", 1 },      { "s", 1000 },
                                       { "m", 60 * 1000 }, { "h", 3600000 }, { "d", 24 * 3600000 },
                                       { NULL, 0 } };
  const uint32_t longest = 24 * 24 * 3600 * 1000u;
  uint64_t ms;
  if (strcmp(text, "none") == 0) {
    *out_ms = UINT32_MAX;
    return true;
  }
  if (!with_unit(text, units, longest, &ms)) return false;
  *out_ms = (uint32_t)ms;
  return true;
}

bool value_size(const char *text, uint64_t *out) {
  static const uint64_t k = 1024;
  static const struct unit units[] = {
    { "", 1 },
    { "b", 1 },
    { "k", k },
    { "kb", k },
    { "kib", k },
    { "m", k * k },
    { "mb", k * k },
    { "mib", k * k },
    { "g", k * k * k },
    { "gb", k * k * k },
    { "gib", k * k * k },
    { "t", k * k * k * k },
    { "tb", k * k * k * k },
    { "tib", k * k * k * k },
    { NULL, 0 },
  };
  return with_unit(text, units, UINT64_MAX, out);
}

bool value_count(const char *text, uint64_t max, uint64_t *out) {
  static const struct unit units[] = { { "", 1 },           { "k", 1000 },          { "m", 1000000 },
                                       { "g", 1000000000 }, { "t", 1000000000000 }, { NULL, 0 } };
  if (strchr(text, '.') != NULL && text[strlen(text) - 1] <= '9') return false; /* half a process */
  return with_unit(text, units, max, out);
}
