/* text.c - parsers of numbers, durations and sizes, and names quoted for messages (text.h). */
#include "base/text.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

/* Shows the text that was not understood, shortened. */
#define SHOWN "%.40s"

static bool text_is_digit(char c) { return c >= '0' && c <= '9'; }

/* Digits from *at on; false if there is none or the value passes `max`. */
static bool read_digits(const char **at, uint64_t max, uint64_t *out) {
  if (!text_is_digit(**at)) return false;
  uint64_t value = 0;
  for (; text_is_digit(**at); (*at)++) {
    uint64_t digit = (uint64_t)(**at - '0');
    if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, digit, &value))
      return false;
    if (value > max) return false;
  }
  *out = value;
  return true;
}

cay_status text_number(const char *text, uint64_t max, uint64_t *out, cay_error *err) {
  uint64_t value;
  const char *at = text;
  if (!read_digits(&at, max, &value) || *at != '\0')
    return err_set(err, CAY_INVALID, "'" SHOWN "' is not a number from 0 to %llu", text,
                   (unsigned long long)max);
  *out = value;
  return CAY_OK;
}

/* Nanoseconds per unit; 0: no such unit. */
static int64_t duration_unit(const char *unit) {
  static const struct {
    const char *name;
    int64_t ns;
  } units[] = { { "", NS_PER_SEC },
                { "s", NS_PER_SEC },
                { "ms", NS_PER_MS },
                { "m", 60 * NS_PER_SEC },
                { "h", 3600 * NS_PER_SEC } };
  for (size_t i = 0; i < COUNT_OF(units); i++)
    if (strcmp(unit, units[i].name) == 0) return units[i].ns;
  return 0;
}

/* ".25" in units of 1e-9, digits beyond the ninth ignored; *at is left behind them. */
static bool read_fraction(const char **at, int64_t *out_billionths) {
  *out_billionths = 0;
  if (**at != '.') return true;
  (*at)++;
  if (!text_is_digit(**at)) return false;
  int64_t place = 100 * NS_PER_MS;
  for (; text_is_digit(**at); (*at)++, place /= 10) *out_billionths += (**at - '0') * place;
  return true;
}

static bool read_duration(const char *text, int64_t *out_ns) {
  static const int64_t most = INT64_C(100) * 365 * 24 * 3600 * NS_PER_SEC;
  uint64_t whole;
  int64_t billionths, ns;
  if (!read_digits(&text, INT64_MAX, &whole) || !read_fraction(&text, &billionths)) return false;
  int64_t unit = duration_unit(text);
  if (unit == 0 || __builtin_mul_overflow((int64_t)whole, unit, &ns) || ns > most) return false;
  *out_ns = ns + (int64_t)((__int128)billionths * unit / NS_PER_SEC);
  return true;
}

cay_status text_duration(const char *text, int64_t *out_ns, cay_error *err) {
  int64_t ns;
  if (!read_duration(text, &ns))
    return err_set(err, CAY_INVALID, "'" SHOWN "' is not a duration such as 500ms, 5s, 2m or 1h", text);
  *out_ns = ns;
  return CAY_OK;
}

static bool text_read_size(const char *text, uint64_t *out) {
  static const char units[] = "KMGT";
  uint64_t value;
  if (!read_digits(&text, UINT64_MAX, &value)) return false;
  if (*text == '\0') {
    *out = value;
    return true;
  }
  const char *unit = strchr(units, *text & ~0x20);
  if (unit == NULL || *unit == '\0' || text[1] != '\0') return false;
  return !__builtin_mul_overflow(value, UINT64_C(1) << 10 * (unit - units + 1), out);
}

cay_status text_size(const char *text, uint64_t *out, cay_error *err) {
  uint64_t value;
  if (!text_read_size(text, &value))
    return err_set(err, CAY_INVALID, "'" SHOWN "' is not a size such as 65536, 64K, 64M or 1G", text);
  *out = value;
  return CAY_OK;
}

/* ---- names in messages ---- */

/* Controls, marks that are not seen, and those that change the direction of writing. */
static bool is_hidden(uint32_t c) {
  static const uint32_t ranges[][2] = {
    { 0x00, 0x1f },     { 0x7f, 0x9f },     { 0xad, 0xad },       { 0x61c, 0x61c },
    { 0x180e, 0x180e }, { 0x200b, 0x200f }, { 0x2028, 0x202e },   { 0x2060, 0x206f },
    { 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0xe0000, 0xe0fff },
  };
  for (size_t i = 0; i < COUNT_OF(ranges); i++)
    if (c >= ranges[i][0] && c <= ranges[i][1]) return true;
  return false;
}

/* May stand in a word without quotes. */
static bool text_is_plain(uint32_t c) {
  bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return letter || (c > 0xa0 && !is_hidden(c)) ||
         (c > 0 && c < 0x80 && strchr("_./+-@%,:=$<>~", (int)c) != NULL);
}

static bool text_is_word(const uint8_t *name, size_t len) {
  for (size_t done = 0; done < len;) {
    uint32_t c = 0;
    size_t n = utf8_next(name + done, len - done, &c);
    if (n == 0 || !text_is_plain(c)) return false;
    done += n;
  }
  return len > 0;
}

/* The next character in quotes, in `out`; how much of the name it was. */
static size_t quote_next(const uint8_t *at, size_t left, char out[static 16]) {
  static const char *const named[0x20] = { ['\n'] = "\\n", ['\r'] = "\\r", ['\t'] = "\\t" };
  uint32_t c = 0;
  size_t n = utf8_next(at, left, &c);
  if (n == 1 && (c == '\'' || c == '\\'))
    (void)snprintf(out, 16, "\\%c", (int)c);
  else if (n == 1 && c < 0x20 && named[c] != NULL)
    (void)snprintf(out, 16, "%s", named[c]);
  else if (n == 0 || (n == 1 && is_hidden(c)))
    (void)snprintf(out, 16, "\\x%02x", at[0]);
  else if (is_hidden(c))
    (void)snprintf(out, 16, "\\u{%x}", c);
  else
    (void)snprintf(out, 16, "%.*s", (int)n, (const char *)at);
  return n > 0 ? n : 1;
}

const char *text_name(char *out, size_t cap, const void *name, size_t len) {
  enum { TAIL = sizeof "'..." };
  const uint8_t *at = name;
  assert(cap >= 16);
  if (len < cap && text_is_word(at, len)) {
    memcpy(out, at, len);
    out[len] = '\0';
    return out;
  }
  size_t used = 0, done = 0;
  out[used++] = '\'';
  for (char next[16]; done < len;) {
    size_t n = quote_next(at + done, len - done, next), more = strlen(next);
    if (used + more + TAIL > cap) break;
    memcpy(out + used, next, more);
    used += more;
    done += n;
  }
  (void)snprintf(out + used, cap - used, done < len ? "'..." : "'");
  return out;
}

void text_clean(char *text, bool lines) {
  size_t used = 0, left = strlen(text);
  for (const char *at = text; left > 0;) {
    uint32_t c = 0;
    size_t n = utf8_next(at, left, &c), step = n > 0 ? n : 1;
    bool keep = n > 0 && (!is_hidden(c) || (lines && c == '\n'));
    if (keep)
      memmove(text + used, at, n);
    else
      text[used] = '?';
    used += keep ? n : 1;
    at += step;
    left -= step;
  }
  text[used] = '\0';
}
