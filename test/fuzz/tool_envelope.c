/* tool_envelope.c - any output of a tool ends in one JSON value or a code with a reason, and what is not on
 * the allowlist never reaches a handler. */
#include "tool/envelope.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const char *const listed[] = { "clock.now_unix", "secrets.get.mine", "http.*" };

static void on_log(void *ctx, enum tool_level level, const char *tool, const char *line) {
  (void)ctx, (void)level, (void)tool, (void)line;
  abort(); /* log.emit is not listed */
}

static void check_json(const buf *out) {
  yyjson_doc *doc = NULL;
  tool_end end = { 0 };
  if (tool_json_read(out->data, out->len, &doc, &end, NULL) != CAY_OK || doc == NULL) abort();
  yyjson_doc_free(doc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  tool_world world = { .tool = "t", .log = on_log };
  buf out = BUF_INIT(1 << 24);
  tool_end end;
  if (tool_answer(&world, &(tool_allow){ listed, 3 }, false, (cay_slice){ data, len }, &out, &end, NULL) !=
      CAY_OK)
    abort();
  if ((end.code != TOOL_OK) != (end.why[0] != '\0')) abort();
  if (out.len != 0) check_json(&out);
  if (out.len == 0 && end.code == TOOL_OK) abort();
  buf_free(&out);
  return 0;
}
