/* scrub.c - the values of secrets in text that comes back, however they are written there. */
#include "net/secret.h"

#include <string.h>

enum { NO = 0, MORE = -1, GAP_MAX = 3 };

/* ---- the forms of a value ---- */

size_t net_patterns_room(size_t value_len) { return 3 * (value_len * 4 / 3 + 8) + 2 * value_len; }

static void patterns_start(net_patterns *p, uint8_t c) {
  p->starts[c] = true;
  if (c >= 'a' && c <= 'z') p->starts[c - 'a' + 'A'] = true;
  if (c >= 'A' && c <= 'Z') p->starts[c - 'A' + 'a'] = true;
}

static void patterns_put(net_patterns *p, enum net_pattern_kind kind, const uint8_t *text, size_t len) {
  p->list[p->count++] = (net_pattern){ text, len, kind };
  if (kind != NET_PATTERN_BACKWARDS) patterns_start(p, text[0]);
}

/* The characters that the value alone decides, when `shift` bytes are before it. */
static size_t patterns_base64(const uint8_t *value, size_t len, size_t shift, uint8_t *out) {
  static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  size_t first = (shift * 8 + 5) / 6, last = (shift + len) * 8 / 6, n = 0;
  for (size_t i = first; i < last; i++) {
    unsigned bits = 0;
    for (size_t b = i * 6; b < i * 6 + 6; b++) bits = bits << 1 | (value[b / 8 - shift] >> (7 - b % 8) & 1U);
    out[n++] = (uint8_t)alphabet[bits];
  }
  return n;
}

void net_patterns_add(net_patterns *p, const uint8_t *value, size_t len, uint8_t **vault) {
  static const char digits[] = "0123456789abcdef";
  patterns_put(p, NET_PATTERN_ENCODED, value, len);
  patterns_put(p, NET_PATTERN_BACKWARDS, value, len);
  patterns_start(p, value[len - 1]);
  for (size_t shift = 0; shift < 3; shift++) {
    size_t n = patterns_base64(value, len, shift, *vault);
    patterns_put(p, NET_PATTERN_BASE64, *vault, n);
    if (**vault == '+') p->starts['-'] = true;
    if (**vault == '/') p->starts['_'] = true;
    *vault += n;
  }
  uint8_t *hex = *vault;
  for (size_t i = 0; i < len; i++) {
    *(*vault)++ = (uint8_t)digits[value[i] >> 4];
    *(*vault)++ = (uint8_t)digits[value[i] & 15];
  }
  patterns_put(p, NET_PATTERN_HEX, hex, 2 * len);
  for (const char *c = "%\\&="; *c != '\0'; c++) p->starts[(uint8_t)*c] = true;
}

/* ---- one character ---- */

static uint8_t char_small(uint8_t c) { return c >= 'A' && c <= 'Z' ? (uint8_t)(c - 'A' + 'a') : c; }

static bool char_is(uint8_t a, uint8_t b) { return char_small(a) == char_small(b); }

static int char_digit(uint8_t c, unsigned base) {
  int d = c >= '0' && c <= '9'                           ? c - '0'
          : char_small(c) >= 'a' && char_small(c) <= 'f' ? char_small(c) - 'a' + 10
                                                         : 99;
  return d < (int)base ? d : -1;
}

/* `skip` bytes, then `count` digits whose number is the character: the length, NO, or MORE. */
static int char_number(const uint8_t *at, size_t len, size_t skip, size_t count, unsigned base,
                       uint8_t want) {
  unsigned n = 0;
  for (size_t i = skip; i < skip + count; i++) {
    if (i >= len) return MORE;
    int d = char_digit(at[i], base);
    if (d < 0) return NO;
    n = n * base + (unsigned)d;
  }
  return n < 128 && char_is((uint8_t)n, want) ? (int)(skip + count) : NO;
}

/* &#65; &#x41; &amp; and so on. */
static int char_entity(const uint8_t *at, size_t len, uint8_t want) {
  static const struct {
    const char *text;
    uint8_t c;
  } named[] = { { "&amp;", '&' }, { "&lt;", '<' }, { "&gt;", '>' }, { "&quot;", '"' }, { "&apos;", '\'' } };
  for (size_t i = 0; i < COUNT_OF(named); i++) {
    size_t n = strlen(named[i].text), there = len < n ? len : n;
    if (named[i].c == want && memcmp(at, named[i].text, there) == 0) return there < n ? MORE : (int)n;
  }
  if (len < 2) return MORE;
  if (at[1] != '#') return NO;
  unsigned base = len > 2 && char_small(at[2]) == 'x' ? 16 : 10, n = 0;
  size_t i = base == 16 ? 3 : 2;
  for (; i < len && i < 10 && char_digit(at[i], base) >= 0; i++)
    n = n * base + (unsigned)char_digit(at[i], base);
  if (i >= len) return MORE;
  return at[i] == ';' && n < 128 && char_is((uint8_t)n, want) ? (int)i + 1 : NO;
}

static int char_escape(const uint8_t *at, size_t len, uint8_t want) {
  if (len < 2) return MORE;
  if (at[1] == 'u') return char_number(at, len, 2, 4, 16, want);
  if (at[1] == 'x') return char_number(at, len, 2, 2, 16, want);
  int octal = char_number(at, len, 1, 3, 8, want);
  if (octal != NO) return octal;
  return at[1] == want ? 2 : NO;
}

/* How many bytes are the character `want`, in whatever form. */
static int char_match(const uint8_t *at, size_t len, uint8_t want) {
  if (len == 0) return MORE;
  int n = NO;
  if (at[0] == '%') n = char_number(at, len, 1, 2, 16, want);
  if (at[0] == '%' && n == NO && len >= 3 && at[1] == '2' && at[2] == '5')
    n = char_number(at, len, 3, 2, 16, want); /* encoded twice */
  if (at[0] == '=') n = char_number(at, len, 1, 2, 16, want);
  if (at[0] == '\\') n = char_escape(at, len, want);
  if (at[0] == '&') n = char_entity(at, len, want);
  if (n != NO) return n;
  return char_is(at[0], want) || (want == ' ' && at[0] == '+') ? 1 : NO;
}

/* ---- whole patterns ---- */

/* Bytes that may stand between two characters: of UTF-16 and UTF-32, and the line ends of base64. */
static bool gap_is(enum net_pattern_kind kind, uint8_t c) {
  if (kind == NET_PATTERN_BASE64) return c == '\r' || c == '\n';
  if (kind == NET_PATTERN_HEX) return c == ':' || c == ' ' || c == '\n';
  return c == '\0';
}

static int pattern_char(const net_pattern *p, size_t i, const uint8_t *at, size_t len) {
  if (len == 0) return MORE;
  switch (p->kind) {
  case NET_PATTERN_ENCODED: return char_match(at, len, p->text[i]);
  case NET_PATTERN_BACKWARDS: return char_is(at[0], p->text[p->len - 1 - i]) ? 1 : NO;
  case NET_PATTERN_HEX: return char_is(at[0], p->text[i]) ? 1 : NO;
  case NET_PATTERN_BASE64: break;
  }
  uint8_t c = at[0] == '-' ? '+' : at[0] == '_' ? '/' : at[0];
  return c == p->text[i] ? 1 : NO;
}

/* The bytes that are the pattern; NO; or MORE: they may be its beginning. */
static int64_t pattern_match(const net_pattern *p, const uint8_t *at, size_t len) {
  size_t pos = 0;
  for (size_t i = 0; i < p->len; i++) {
    for (int gap = 0; i > 0 && gap < GAP_MAX && pos < len && gap_is(p->kind, at[pos]); gap++) pos++;
    int n = pattern_char(p, i, at + pos, len - pos);
    if (n <= 0) return n;
    pos += (size_t)n;
  }
  return (int64_t)pos;
}

/* The longest one here. `last`: no more bytes come, so that a beginning is none. */
static int64_t patterns_match(const net_patterns *p, const uint8_t *at, size_t len, bool last) {
  int64_t best = NO;
  for (size_t i = 0; i < p->count; i++) {
    int64_t n = pattern_match(&p->list[i], at, len);
    if (n == MORE && !last) return MORE;
    if (n > best) best = n;
  }
  return best;
}

size_t net_scrub_longest(const net_secrets *s) {
  enum { CHARACTER_MAX = 10 + GAP_MAX }; /* an entity, and what may stand behind it */
  const net_patterns *p = net_secrets_count(s) > 0 ? net_secrets_patterns(s) : NULL;
  size_t longest = 0;
  for (size_t i = 0; p != NULL && i < p->count; i++)
    if (p->list[i].len > longest) longest = p->list[i].len;
  return longest * CHARACTER_MAX;
}

/* ---- a stream ---- */

static cay_status scrub_mask(buf *out, size_t len) {
  void *room = buf_room(out, len);
  if (room == NULL) return CAY_NO_MEMORY;
  memset(room, '*', len);
  buf_grew(out, len);
  return CAY_OK;
}

/* Appends the bytes that are decided; *used: their number. */
static cay_status scrub_bytes(const net_patterns *p, const uint8_t *data, size_t len, bool last, size_t *used,
                              buf *out) {
  size_t from = 0, i = 0;
  while (i < len) {
    if (!p->starts[data[i]]) {
      i++;
      continue;
    }
    int64_t n = patterns_match(p, data + i, len - i, last);
    if (n == MORE) break;
    if (n <= 0) {
      i++;
      continue;
    }
    S_TRY(buf_append(out, data + from, i - from));
    S_TRY(scrub_mask(out, (size_t)n));
    i += (size_t)n;
    from = i;
  }
  S_TRY(buf_append(out, data + from, i - from));
  *used = i;
  return CAY_OK;
}

cay_status net_scrub(const net_secrets *s, buf *held, const void *data, size_t len, bool last, buf *out) {
  if (net_secrets_count(s) == 0) return buf_append(out, data, len);
  const net_patterns *p = net_secrets_patterns(s);
  const uint8_t *at =
      len > 0 ? data : (const uint8_t *)""; /* the end of a stream has no bytes, and may be NULL */
  size_t used;
  if (held->len > 0) {
    S_TRY(buf_append(held, data, len));
    at = held->data;
    len = held->len;
  }
  S_TRY(scrub_bytes(p, at, len, last, &used, out));
  size_t rest = len - used;
  if (held->len == 0) return buf_append(held, at + used, rest);
  memmove(held->data, held->data + used, rest);
  explicit_bzero(held->data + rest, held->len - rest);
  held->len = rest;
  return CAY_OK;
}
