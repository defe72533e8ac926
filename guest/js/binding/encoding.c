#include "encoding.h"

#include <string.h>

static const char BASE64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char BASE64URL[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* ---- UTF-8 ---- */

typedef struct {
  int more;          /* bytes that follow the first */
  uint8_t low, high; /* what the second may be */
} lead;

static lead lead_of(uint8_t byte) {
  if (byte >= 0xc2 && byte <= 0xdf) return (lead){ 1, 0x80, 0xbf };
  if (byte == 0xe0) return (lead){ 2, 0xa0, 0xbf };
  if (byte == 0xed) return (lead){ 2, 0x80, 0x9f };
  if (byte >= 0xe1 && byte <= 0xef) return (lead){ 2, 0x80, 0xbf };
  if (byte == 0xf0) return (lead){ 3, 0x90, 0xbf };
  if (byte >= 0xf1 && byte <= 0xf3) return (lead){ 3, 0x80, 0xbf };
  if (byte == 0xf4) return (lead){ 3, 0x80, 0x8f };
  return (lead){ 0, 0, 0 };
}

uint32_t encoding_next_utf8(const uint8_t **at, const uint8_t *end) {
  const uint8_t *p = *at;
  uint32_t point = *p++;
  lead l = lead_of((uint8_t)point);
  *at = p;
  if (point < 0x80) return point;
  if (!l.more) return 0xfffd;
  point &= 0x3fu >> l.more;
  for (int i = 0; i < l.more; i++) {
    if (p == end || *p < l.low || *p > l.high) {
      *at = p;
      return 0xfffd;
    }
    point = point << 6 | (*p++ & 0x3fu);
    l.low = 0x80, l.high = 0xbf;
  }
  *at = p;
  return point;
}

bool encoding_is_ascii(const uint8_t *data, size_t len) {
  for (size_t i = 0; i < len; i++)
    if (data[i] & 0x80) return false;
  return true;
}

bool encoding_is_utf8(const uint8_t *data, size_t len) {
  static const uint8_t REPLACEMENT[] = { 0xef, 0xbf, 0xbd };
  for (const uint8_t *at = data, *end = data + len; at < end;) {
    const uint8_t *from = at;
    if (encoding_next_utf8(&at, end) == 0xfffd && (at - from != 3 || memcmp(from, REPLACEMENT, 3) != 0))
      return false;
  }
  return true;
}

/* ---- bytes to text ---- */

static JSValue take_string(JSContext *c, char *text, size_t len) {
  JSValue string = JS_NewStringLen(c, text, len);
  js_free(c, text);
  return string;
}

static JSValue take_units(JSContext *c, uint16_t *units, size_t len) {
  JSValue string = JS_NewStringUTF16(c, units, len);
  js_free(c, units);
  return string;
}

static JSValue decode_hex(JSContext *c, const uint8_t *data, size_t len) {
  char *text = js_malloc(c, 2 * len + 1);
  if (!text) return JS_EXCEPTION;
  for (size_t i = 0; i < len; i++) {
    text[2 * i] = "0123456789abcdef"[data[i] >> 4];
    text[2 * i + 1] = "0123456789abcdef"[data[i] & 15];
  }
  return take_string(c, text, 2 * len);
}

static JSValue decode_base64(JSContext *c, const uint8_t *data, size_t len, const char *digits, bool padded) {
  char *text = js_malloc(c, len / 3 * 4 + 8), *to = text;
  if (!text) return JS_EXCEPTION;
  for (size_t i = 0; i < len; i += 3) {
    size_t have = len - i < 3 ? len - i : 3;
    uint32_t group =
        (uint32_t)data[i] << 16 | (have > 1 ? (uint32_t)data[i + 1] << 8 : 0) | (have > 2 ? data[i + 2] : 0);
    for (size_t k = 0; k < 4; k++) {
      if (k <= have)
        *to++ = digits[group >> (18 - 6 * k) & 63];
      else if (padded)
        *to++ = '=';
    }
  }
  return take_string(c, text, (size_t)(to - text));
}

static JSValue decode_utf8(JSContext *c, const uint8_t *data, size_t len) {
  if (encoding_is_utf8(data, len)) return JS_NewStringLen(c, (const char *)data, len);
  uint16_t *units = js_malloc(c, 2 * len + 2);
  size_t count = 0;
  if (!units) return JS_EXCEPTION;
  for (const uint8_t *at = data, *end = data + len; at < end;) {
    uint32_t point = encoding_next_utf8(&at, end);
    if (point > 0xffff) {
      units[count++] = (uint16_t)(0xd800 | (point - 0x10000) >> 10);
      units[count++] = (uint16_t)(0xdc00 | (point & 0x3ff));
    } else {
      units[count++] = (uint16_t)point;
    }
  }
  return take_units(c, units, count);
}

static JSValue decode_ucs2(JSContext *c, const uint8_t *data, size_t len) {
  uint16_t *units = js_malloc(c, len + 2);
  if (!units) return JS_EXCEPTION;
  memcpy(units, data, len & ~(size_t)1);
  return take_units(c, units, len / 2);
}

static JSValue decode_bytes(JSContext *c, const uint8_t *data, size_t len, uint8_t mask) {
  if (encoding_is_ascii(data, len)) return JS_NewStringLen(c, (const char *)data, len);
  uint16_t *units = js_malloc(c, 2 * len + 2);
  if (!units) return JS_EXCEPTION;
  for (size_t i = 0; i < len; i++) units[i] = data[i] & mask;
  return take_units(c, units, len);
}

JSValue encoding_decode(JSContext *c, enum encoding e, const uint8_t *data, size_t len) {
  switch (e) {
  case ENC_HEX: return decode_hex(c, data, len);
  case ENC_BASE64: return decode_base64(c, data, len, BASE64, true);
  case ENC_BASE64URL: return decode_base64(c, data, len, BASE64URL, false);
  case ENC_UCS2: return decode_ucs2(c, data, len);
  case ENC_LATIN1: return decode_bytes(c, data, len, 0xff);
  case ENC_ASCII: return decode_bytes(c, data, len, 0x7f);
  default: return decode_utf8(c, data, len);
  }
}

/* ---- text to bytes ---- */

static bool is_high(uint16_t unit) { return (unit & 0xfc00) == 0xd800; }
static bool is_low(uint16_t unit) { return (unit & 0xfc00) == 0xdc00; }

static size_t put_utf8(uint32_t point, uint8_t *out, size_t cap) {
  size_t len = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
  static const uint8_t FIRST[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
  if (len > cap) return 0;
  if (!out) return len;
  for (size_t i = len - 1; i > 0; i--, point >>= 6) out[i] = (uint8_t)(0x80 | (point & 0x3f));
  out[0] = (uint8_t)(FIRST[len] | point);
  return len;
}

static size_t encode_utf8(const uint16_t *text, size_t len, uint8_t *out, size_t cap, size_t *read) {
  size_t made = 0, i = 0;
  while (i < len) {
    uint32_t point = text[i];
    size_t units = 1;
    if (is_high(text[i]) && i + 1 < len && is_low(text[i + 1])) {
      point = 0x10000 + ((point & 0x3ff) << 10 | (text[i + 1] & 0x3ffu));
      units = 2;
    } else if (is_high(text[i]) || is_low(text[i])) {
      point = 0xfffd;
    }
    size_t put = put_utf8(point, out ? out + made : NULL, cap - made);
    if (!put) break;
    made += put;
    i += units;
  }
  *read = i;
  return made;
}

static size_t encode_ucs2(const uint16_t *text, size_t len, uint8_t *out, size_t cap, size_t *read) {
  size_t units = len < cap / 2 ? len : cap / 2;
  if (out) memcpy(out, text, 2 * units);
  *read = units;
  return 2 * units;
}

static int hex_digit(uint16_t unit) {
  if (unit >= '0' && unit <= '9') return unit - '0';
  if (unit >= 'a' && unit <= 'f') return unit - 'a' + 10;
  return unit >= 'A' && unit <= 'F' ? unit - 'A' + 10 : -1;
}

static size_t encode_hex(const uint16_t *text, size_t len, uint8_t *out, size_t cap, size_t *read) {
  size_t made = 0;
  for (; 2 * made + 1 < len && made < cap; made++) {
    int high = hex_digit(text[2 * made]), low = hex_digit(text[2 * made + 1]);
    if (high < 0 || low < 0) break;
    if (out) out[made] = (uint8_t)(high << 4 | low);
  }
  *read = 2 * made;
  return made;
}

static int base64_digit(uint16_t unit) {
  if (unit >= 'A' && unit <= 'Z') return unit - 'A';
  if (unit >= 'a' && unit <= 'z') return unit - 'a' + 26;
  if (unit >= '0' && unit <= '9') return unit - '0' + 52;
  if (unit == '+' || unit == '-') return 62;
  return unit == '/' || unit == '_' ? 63 : -1;
}

/* Both alphabets; what belongs to neither is passed over, and an equals sign ends it. */
static size_t encode_base64(const uint16_t *text, size_t len, uint8_t *out, size_t cap, size_t *read) {
  size_t made = 0, i = 0;
  uint32_t bits = 0;
  int have = 0;
  for (; i < len && text[i] != '='; i++) {
    int digit = base64_digit(text[i]);
    if (digit < 0) continue;
    bits = bits << 6 | (uint32_t)digit;
    have += 6;
    if (have < 8) continue;
    if (made == cap) break;
    have -= 8;
    if (out) out[made] = (uint8_t)(bits >> have);
    made++;
  }
  *read = i;
  return made;
}

static size_t encode_bytes(const uint16_t *text, size_t len, uint8_t *out, size_t cap, size_t *read) {
  size_t count = len < cap ? len : cap;
  for (size_t i = 0; out && i < count; i++) out[i] = (uint8_t)text[i];
  *read = count;
  return count;
}

size_t encoding_encode(enum encoding e, const uint16_t *text, size_t len, uint8_t *out, size_t cap,
                       size_t *read) {
  switch (e) {
  case ENC_HEX: return encode_hex(text, len, out, cap, read);
  case ENC_BASE64:
  case ENC_BASE64URL: return encode_base64(text, len, out, cap, read);
  case ENC_UCS2: return encode_ucs2(text, len, out, cap, read);
  case ENC_LATIN1:
  case ENC_ASCII: return encode_bytes(text, len, out, cap, read);
  default: return encode_utf8(text, len, out, cap, read);
  }
}
