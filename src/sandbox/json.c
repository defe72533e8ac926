#include "sandbox/json.h"

#include "base/alloc.h"
#include "base/utf8.h"

#include <string.h>

static void *json_alloc(void *ctx, size_t len) { return (void)ctx, mem_alloc(len); }
static void *json_realloc(void *ctx, void *old, size_t old_len, size_t len) {
  return (void)ctx, (void)old_len, mem_realloc(old, len);
}
static void json_free(void *ctx, void *ptr) { (void)ctx, mem_free(ptr); }
const yyjson_alc SB_JSON_ALLOC = { json_alloc, json_realloc, json_free, NULL };

cay_status sb_json_text(buf *to, const char *text) {
  size_t len = strlen(text);
  char *clean = mem_alloc(len + 1);
  if (clean == NULL) return CAY_NO_MEMORY;
  utf8_copy_clean(clean, text, len);
  clean[len] = '\0';
  yyjson_mut_doc *doc = yyjson_mut_doc_new(&SB_JSON_ALLOC);
  char *written = NULL;
  size_t written_len = 0;
  if (doc != NULL) {
    yyjson_mut_doc_set_root(doc, yyjson_mut_strn(doc, clean, len));
    written = yyjson_mut_write_opts(doc, YYJSON_WRITE_NOFLAG, &SB_JSON_ALLOC, &written_len, NULL);
  }
  cay_status status = written != NULL ? buf_append(to, written, written_len) : CAY_NO_MEMORY;
  mem_free(written);
  yyjson_mut_doc_free(doc);
  mem_free(clean);
  return status;
}
