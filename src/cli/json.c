/* json.c - a writer of JSON in memory: nesting, commas, escapes, base64 for bytes that are no UTF-8
 * (json.h). */
#include "cli/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NESTING_MAX = 16 };

struct json {
  char *text;
  size_t len, cap;
  bool broken; /* memory ran out */
  size_t depth;
  char closing[NESTING_MAX];
  bool has_members[NESTING_MAX];
};

json *json_new(void) { return calloc(1, sizeof(json)); }

void json_free(json *j) {
  if (j == NULL) return;
  free(j->text);
  free(j);
}

const char *json_text(json *j, size_t *len) {
  if (j->broken) return NULL;
  *len = j->len;
  return j->text;
}

static void json_put(json *j, const char *bytes, size_t len) {
  if (j->broken) return;
  if (j->cap - j->len < len) {
    size_t cap = (j->len + len) * 2 + 256;
    char *text = realloc(j->text, cap);
    j->broken = text == NULL;
    if (j->broken) return;
    j->text = text;
    j->cap = cap;
  }
  memcpy(j->text + j->len, bytes, len);
  j->len += len;
}

static void json_put_text(json *j, const char *text) { json_put(j, text, strlen(text)); }

static void put_escaped(json *j, unsigned char byte) {
  static const char short_names[] = "btn.fr"; /* of 8 to 13; 11 has none */
  if (byte >= 8 && byte <= 13 && byte != 11) {
    json_put(j, (char[]){ '\\', short_names[byte - 8] }, 2);
  } else if (byte == '"' || byte == '\\') {
    json_put(j, (char[]){ '\\', (char)byte }, 2);
  } else {
    char code[8];
    json_put(j, code, (size_t)snprintf(code, sizeof code, "\\u%04x", byte));
  }
}

static void put_string(json *j, const char *text, size_t len) {
  json_put(j, "\"", 1);
  size_t start = 0;
  for (size_t i = 0; i < len; i++) {
    unsigned char byte = (unsigned char)text[i];
    if (byte >= ' ' && byte != '"' && byte != '\\' && byte != 0x7f) continue;
    json_put(j, text + start, i - start);
    put_escaped(j, byte);
    start = i + 1;
  }
  json_put(j, text + start, len - start);
  json_put(j, "\"", 1);
}

/* What stands before a value: the comma, the line, the name. */
static void json_begin(json *j, const char *name) {
  if (j->depth > 0) {
    if (j->has_members[j->depth - 1]) json_put(j, ",", 1);
    j->has_members[j->depth - 1] = true;
  }
  if (name == NULL) return;
  put_string(j, name, strlen(name));
  json_put(j, ":", 1);
}

void json_open(json *j, const char *name, char bracket) {
  json_begin(j, name);
  if (j->depth == NESTING_MAX) {
    j->broken = true;
    return;
  }
  json_put(j, &bracket, 1);
  j->closing[j->depth] = bracket == '{' ? '}' : ']';
  j->has_members[j->depth++] = false;
}

void json_close(json *j) {
  if (j->depth == 0) return;
  json_put(j, &j->closing[--j->depth], 1);
  if (j->depth == 0) json_put(j, "\n", 1);
}

static void json_number(json *j, const char *name, const char *digits) {
  json_begin(j, name);
  json_put_text(j, digits);
}

void json_int(json *j, const char *name, int64_t value) {
  char digits[24];
  (void)snprintf(digits, sizeof digits, "%" PRId64, value);
  json_number(j, name, digits);
}

void json_uint(json *j, const char *name, uint64_t value) {
  char digits[24];
  (void)snprintf(digits, sizeof digits, "%" PRIu64, value);
  json_number(j, name, digits);
}

void json_milli(json *j, const char *name, uint64_t thousandths) {
  char digits[32];
  (void)snprintf(digits, sizeof digits, "%" PRIu64 ".%03u", thousandths / 1000,
                 (unsigned)(thousandths % 1000));
  json_number(j, name, digits);
}

void json_bool(json *j, const char *name, bool value) { json_number(j, name, value ? "true" : "false"); }

void json_string(json *j, const char *name, const char *text) {
  json_begin(j, name);
  if (text == NULL)
    json_put_text(j, "null");
  else
    put_string(j, text, strlen(text));
}

static void put_base64(json *j, const uint8_t *in, size_t len) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  json_put(j, "\"", 1);
  for (size_t i = 0; i < len; i += 3) {
    uint32_t group = (uint32_t)in[i] << 16;
    if (i + 1 < len) group |= (uint32_t)in[i + 1] << 8;
    if (i + 2 < len) group |= in[i + 2];
    char out[4] = { digits[group >> 18], digits[group >> 12 & 63],
                    i + 1 < len ? digits[group >> 6 & 63] : '=', i + 2 < len ? digits[group & 63] : '=' };
    json_put(j, out, sizeof out);
  }
  json_put(j, "\"", 1);
}

void json_bytes(json *j, const char *name, const void *data, size_t len) {
  if (json_is_utf8(data, len)) {
    json_begin(j, name);
    put_string(j, len > 0 ? data : "", len);
    return;
  }
  char longer[64];
  (void)snprintf(longer, sizeof longer, "%s_base64", name);
  json_begin(j, longer);
  put_base64(j, data, len);
}

/* Bytes of the well-formed character at `at`, 0 when there is none. */
static size_t utf8_character(const uint8_t *at, size_t left) {
  static const uint32_t least_of[] = { 0, 0, 0x80, 0x800, 0x10000 };
  uint8_t lead = at[0];
  if (lead < 0x80) return 1;
  size_t len = lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : lead >> 3 == 30 ? 4 : 0;
  if (len == 0 || len > left) return 0;

  uint32_t code = lead & (0xffu >> (len + 1));
  for (size_t i = 1; i < len; i++) {
    if (at[i] >> 6 != 2) return 0;
    code = code << 6 | (at[i] & 0x3fu);
  }
  bool surrogate = code >= 0xd800 && code <= 0xdfff;
  return code < least_of[len] || code > 0x10ffff || surrogate ? 0 : len;
}

bool json_is_utf8(const void *data, size_t len) {
  const uint8_t *bytes = data;
  for (size_t i = 0; i < len;) {
    size_t step = utf8_character(bytes + i, len - i);
    if (step == 0) return false;
    i += step;
  }
  return true;
}
