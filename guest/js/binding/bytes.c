/* Buffers: text in and out of them, comparing, searching, filling. */
#define _GNU_SOURCE
#include "native.h"

#include <string.h>

#include "encoding.h"

static size_t clamp(int64_t value, size_t max) {
  return value < 0 ? 0 : (uint64_t)value > max ? max : (size_t)value;
}

static size_t optional(JSContext *c, JSValueConst value, size_t otherwise, size_t max) {
  return JS_IsUndefined(value) ? otherwise : clamp(native_integer(c, value), max);
}

/* decode(encoding, bytes, start, end) */
NATIVE(decode) {
  size_t len;
  const uint8_t *data = native_bytes(c, argv[1], &len);
  size_t start = optional(c, argv[2], 0, len), end = optional(c, argv[3], len, len);
  if (!data || start >= end) return JS_NewStringLen(c, "", 0);
  return encoding_decode(c, (enum encoding)native_int(c, argv[0]), data + start, end - start);
}

/* encode(encoding, string): an ArrayBuffer */
NATIVE(encode) {
  size_t len, read;
  enum encoding e = (enum encoding)native_int(c, argv[0]);
  const uint16_t *text = JS_ToCStringLenUTF16(c, &len, argv[1]);
  if (!text) return JS_EXCEPTION;
  size_t need = encoding_encode(e, text, len, NULL, SIZE_MAX, &read);
  uint8_t *out = js_malloc(c, need ? need : 1);
  if (out) encoding_encode(e, text, len, out, need, &read);
  JS_FreeCStringUTF16(c, text);
  return out ? native_buffer(c, out, need) : JS_EXCEPTION;
}

/* write(encoding, bytes, string, offset, length, counts): how many were written; counts: [units read, bytes] */
NATIVE(writeText) {
  size_t room, len, read, counts_len;
  uint8_t *data = native_bytes(c, argv[1], &room);
  const uint16_t *text = JS_ToCStringLenUTF16(c, &len, argv[2]);
  if (!text) return JS_EXCEPTION;
  size_t offset = optional(c, argv[3], 0, room), cap = optional(c, argv[4], room - offset, room - offset);
  size_t made =
      data ? encoding_encode((enum encoding)native_int(c, argv[0]), text, len, data + offset, cap, &read) : 0;
  JS_FreeCStringUTF16(c, text);
  uint32_t counts[2] = { data ? (uint32_t)read : 0, (uint32_t)made };
  uint8_t *to = JS_IsObject(argv[5]) ? native_bytes(c, argv[5], &counts_len) : NULL;
  if (to && counts_len >= sizeof counts) memcpy(to, counts, sizeof counts);
  return JS_NewUint32(c, (uint32_t)made);
}

NATIVE(utf8Length) {
  size_t len, read;
  const uint16_t *text = JS_ToCStringLenUTF16(c, &len, argv[0]);
  if (!text) return JS_EXCEPTION;
  size_t need = encoding_encode(ENC_UTF8, text, len, NULL, SIZE_MAX, &read);
  JS_FreeCStringUTF16(c, text);
  return JS_NewInt64(c, (int64_t)need);
}

NATIVE(compareBytes) {
  size_t a_len, b_len;
  const uint8_t *a = native_bytes(c, argv[0], &a_len), *b = native_bytes(c, argv[1], &b_len);
  size_t common = a_len < b_len ? a_len : b_len;
  int order = common ? memcmp(a, b, common) : 0;
  if (!order) order = (a_len > b_len) - (a_len < b_len);
  return JS_NewInt32(c, (order > 0) - (order < 0));
}

/* copyBytes(from, to, toStart, fromStart, count): how many were copied */
NATIVE(copyBytes) {
  size_t from_len, to_len;
  const uint8_t *from = native_bytes(c, argv[0], &from_len);
  uint8_t *to = native_bytes(c, argv[1], &to_len);
  size_t at = clamp(native_integer(c, argv[2]), to_len), start = clamp(native_integer(c, argv[3]), from_len);
  size_t count = clamp(native_integer(c, argv[4]), from_len - start);
  if (count > to_len - at) count = to_len - at;
  if (count) memmove(to + at, from + start, count);
  return JS_NewInt64(c, (int64_t)count);
}

/* fillBytes(bytes, pattern, start, end): false if the pattern is empty */
NATIVE(fillBytes) {
  size_t len, pattern_len;
  uint8_t *data = native_bytes(c, argv[0], &len);
  const uint8_t *pattern = native_bytes(c, argv[1], &pattern_len);
  size_t start = clamp(native_integer(c, argv[2]), len), end = clamp(native_integer(c, argv[3]), len);
  if (!pattern_len) return JS_FALSE;
  if (start >= end) return JS_TRUE;
  size_t have = pattern_len < end - start ? pattern_len : end - start;
  memmove(data + start, pattern, have);
  for (size_t room = end - start; have < room;) {
    size_t more = have < room - have ? have : room - have;
    memcpy(data + start + have, data + start, more);
    have += more;
  }
  return JS_TRUE;
}

static int64_t search_forward(const uint8_t *hay, size_t len, const uint8_t *needle, size_t needle_len,
                              size_t from, size_t step) {
  while (from + needle_len <= len) {
    const uint8_t *found = memmem(hay + from, len - from, needle, needle_len);
    if (!found) return -1;
    size_t at = (size_t)(found - hay);
    if (at % step == 0) return (int64_t)at;
    from = at + 1;
  }
  return -1;
}

static int64_t search_backward(const uint8_t *hay, size_t len, const uint8_t *needle, size_t needle_len,
                               size_t from, size_t step) {
  if (from > len - needle_len) from = len - needle_len;
  for (size_t at = from + 1; at-- > 0;)
    if (at % step == 0 && memcmp(hay + at, needle, needle_len) == 0) return (int64_t)at;
  return -1;
}

/* findBytes(bytes, needle, from, forward, step): where, at a multiple of step; -1 */
NATIVE(findBytes) {
  size_t len, needle_len;
  const uint8_t *hay = native_bytes(c, argv[0], &len), *needle = native_bytes(c, argv[1], &needle_len);
  int64_t from = native_integer(c, argv[2]);
  bool forward = JS_ToBool(c, argv[3]);
  size_t step = native_int(c, argv[4]) == 2 ? 2 : 1;
  if (from < 0) from += (int64_t)len;
  if (from < 0 && !forward) return JS_NewInt32(c, -1);
  if (from < 0) from = 0;
  if ((uint64_t)from > len) {
    if (forward && needle_len) return JS_NewInt32(c, -1);
    from = (int64_t)len;
  }
  if (!needle_len) return JS_NewInt64(c, from);
  if (needle_len > len) return JS_NewInt32(c, -1);
  return JS_NewInt64(c, forward ? search_forward(hay, len, needle, needle_len, (size_t)from, step)
                                : search_backward(hay, len, needle, needle_len, (size_t)from, step));
}

/* swapBytes(bytes, width) */
NATIVE(swapBytes) {
  size_t len, width = (size_t)native_int(c, argv[1]);
  uint8_t *data = native_bytes(c, argv[0], &len);
  for (size_t i = 0; width && i + width <= len; i += width)
    for (size_t k = 0; k < width / 2; k++) {
      uint8_t byte = data[i + k];
      data[i + k] = data[i + width - 1 - k];
      data[i + width - 1 - k] = byte;
    }
  return JS_UNDEFINED;
}

NATIVE(isUtf8) {
  size_t len;
  const uint8_t *data = native_bytes(c, argv[0], &len);
  return JS_NewBool(c, !len || encoding_is_utf8(data, len));
}

NATIVE(isAscii) {
  size_t len;
  const uint8_t *data = native_bytes(c, argv[0], &len);
  return JS_NewBool(c, !len || encoding_is_ascii(data, len));
}

static const JSCFunctionListEntry functions[] = {
  FUNCTION(decode, 4),       FUNCTION(encode, 2),    FUNCTION(writeText, 6), FUNCTION(utf8Length, 1),
  FUNCTION(compareBytes, 2), FUNCTION(copyBytes, 5), FUNCTION(fillBytes, 4), FUNCTION(findBytes, 5),
  FUNCTION(swapBytes, 2),    FUNCTION(isUtf8, 1),    FUNCTION(isAscii, 1),
};

void native_add_bytes(JSContext *c, JSValueConst into) { ADD(into, functions); }
