/* json.c - a text as a JSON string, invalid UTF-8 replaced (json.h). */
#include "sandbox/session/json.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "tool/run/json.h"

#include <string.h>

cay_status sb_json_text(buf *to, const char *text) {
  size_t len = strlen(text);
  char *clean = mem_alloc(len + 1);
  if (clean == NULL) return CAY_NO_MEMORY;
  utf8_copy_clean(clean, text, len);
  clean[len] = '\0';
  yyjson_mut_doc *doc = yyjson_mut_doc_new(&JSON_ALLOC);
  cay_status status = CAY_NO_MEMORY;
  if (doc != NULL) {
    yyjson_mut_doc_set_root(doc, yyjson_mut_strn(doc, clean, len));
    status = tool_json_write(doc, to, NULL);
  }
  yyjson_mut_doc_free(doc);
  mem_free(clean);
  return status;
}
