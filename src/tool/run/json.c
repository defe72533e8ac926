/* json.c - JSON of tools: reading, writing, and members that stand twice in an object (json.h). */
#include "tool/run/json.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/utf8.h"

#include <string.h>

enum { MEMBERS_MAX = 64 };

/* ---- reading and writing ---- */

cay_status tool_json_read(const void *data, size_t len, yyjson_doc **out, tool_end *end, cay_error *err) {
  if (len != 0 && !utf8_is_valid(data, len)) {
    tool_end_set(end, TOOL_NOT_UTF8, "not UTF-8");
    return CAY_OK;
  }
  yyjson_read_err error = { .msg = "no text" };
  yyjson_doc *doc = NULL;
  /* Without YYJSON_READ_INSITU the text is not written to. */
  if (len != 0)
    doc = yyjson_read_opts((char *)(uintptr_t)data, len, YYJSON_READ_BIGNUM_AS_RAW, &JSON_ALLOC, &error);
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
  char *text = yyjson_mut_write_opts(doc, 0, &JSON_ALLOC, &len, &error);
  if (text == NULL) return err_no_memory(err);
  cay_status status = buf_append(out, text, len);
  mem_free(text);
  return status == CAY_OK ? status : err_set(err, status, "the answer does not fit");
}

bool tool_json_has_twin(yyjson_val *object) {
  return yyjson_obj_size(object) > MEMBERS_MAX || json_has_twin(object);
}
