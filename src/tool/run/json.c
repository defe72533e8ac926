#include "tool/run/json.h"

#include "base/alloc.h"
#include "base/error.h"

#include <string.h>

enum { MEMBERS_MAX = 64 };

static void *json_alloc(void *ctx, size_t len) {
  (void)ctx;
  return mem_alloc(len);
}

static void *json_grow(void *ctx, void *old, size_t old_len, size_t len) {
  (void)ctx, (void)old_len;
  return mem_realloc(old, len);
}

static void json_release(void *ctx, void *old) {
  (void)ctx;
  mem_free(old);
}

const yyjson_alc TOOL_JSON_ALLOC = { json_alloc, json_grow, json_release, NULL };

/* ---- UTF-8 ---- */

static size_t json_length_of(uint8_t lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return 2;
  if (lead >= 0xe0 && lead <= 0xef) return 3;
  return lead >= 0xf0 && lead <= 0xf4 ? 4 : 0;
}

/* Most text is ASCII, which eight bytes at once can say. */
static const uint8_t *skip_ascii(const uint8_t *p, const uint8_t *end) {
  for (uint64_t eight; end - p >= 8; p += 8) {
    memcpy(&eight, p, 8);
    if ((eight & UINT64_C(0x8080808080808080)) != 0) break;
  }
  while (p < end && *p < 0x80) p++;
  return p;
}

bool tool_is_utf8(const void *data, size_t len) {
  const uint8_t *p = data, *end = p + len;
  while ((p = skip_ascii(p, end)) < end) {
    size_t want = json_length_of(*p);
    if (want == 0 || want > (size_t)(end - p)) return false;
    uint8_t low = *p == 0xe0 ? 0xa0 : *p == 0xf0 ? 0x90 : 0x80;
    uint8_t high = *p == 0xed ? 0x9f : *p == 0xf4 ? 0x8f : 0xbf;
    for (size_t i = 1; i < want; i++, low = 0x80, high = 0xbf)
      if (p[i] < low || p[i] > high) return false;
    p += want;
  }
  return true;
}

/* ---- reading and writing ---- */

cay_status tool_json_read(const void *data, size_t len, yyjson_doc **out, tool_end *end, cay_error *err) {
  if (len != 0 && !tool_is_utf8(data, len)) {
    tool_end_set(end, TOOL_NOT_UTF8, "not UTF-8");
    return CAY_OK;
  }
  yyjson_read_err error = { .msg = "no text" };
  yyjson_doc *doc = NULL;
  /* Without YYJSON_READ_INSITU the text is not written to. */
  if (len != 0)
    doc = yyjson_read_opts((char *)(uintptr_t)data, len, YYJSON_READ_BIGNUM_AS_RAW, &TOOL_JSON_ALLOC, &error);
  if (doc == NULL && error.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION) return err_no_memory(err);
  if (doc == NULL)
    tool_end_set(end, TOOL_NOT_JSON, "not JSON: %.80s at byte %zu", error.msg, error.pos);
  else
    *out = doc;
  return CAY_OK;
}

cay_status tool_json_write(yyjson_mut_doc *doc, buf *out, cay_error *err) {
  size_t len;
  yyjson_write_err error;
  char *text = yyjson_mut_write_opts(doc, 0, &TOOL_JSON_ALLOC, &len, &error);
  if (text == NULL) return err_no_memory(err);
  cay_status status = buf_append(out, text, len);
  mem_free(text);
  return status == CAY_OK ? status : err_set(err, status, "the answer does not fit");
}

bool tool_json_has_twin(yyjson_val *object) {
  if (yyjson_obj_size(object) > MEMBERS_MAX) return true;
  yyjson_obj_iter a = yyjson_obj_iter_with(object);
  for (yyjson_val *key; (key = yyjson_obj_iter_next(&a)) != NULL;) {
    yyjson_obj_iter b = a;
    for (yyjson_val *other; (other = yyjson_obj_iter_next(&b)) != NULL;)
      if (yyjson_equals_strn(other, yyjson_get_str(key), yyjson_get_len(key))) return true;
  }
  return false;
}
