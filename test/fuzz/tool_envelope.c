/* tool_envelope.c - any output of a tool ends in one JSON value or a code with a reason; a capability that is not on the
 * allowlist never reaches a handler; an effect is announced before, and its end after. */
#include "base/error.h"
#include "tool/run/envelope.h"

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

/* ---- what the audit log would be told ---- */

typedef struct told {
  tool_end verdict, end;
  size_t before, after;
  bool fails; /* as a log that cannot be written */
} told;

static cay_status on_before(void *ctx, const char *capability, const digest *args, const tool_end *verdict,
                            cay_error *err) {
  told *t = ctx;
  (void)args;
  if (t->before++ != 0 || t->after != 0) abort();
  t->verdict = *verdict;
  bool is_listed = strcmp(capability, "clock.now_unix") == 0 || strncmp(capability, "http.", 5) == 0 ||
                   strcmp(capability, "secrets.get") == 0;
  if (verdict->code == TOOL_OK && !is_listed) abort();
  return t->fails ? err_set(err, CAY_IO, "full") : CAY_OK;
}

static void on_after(void *ctx, const tool_end *end) {
  told *t = ctx;
  if (t->before != 1 || t->after++ != 0 || t->fails || t->verdict.code != TOOL_OK) abort();
  t->end = *end;
}

static void check_told(const uint8_t *data, size_t len, bool fails) {
  tool_world world = { .tool = "t", .log = on_log };
  told t = { .fails = fails };
  tool_watch watch = { &t, on_before, on_after };
  buf out = BUF_INIT(1 << 24);
  tool_end end;
  bool asked;
  if (tool_answer_watched(&world, &(tool_allow){ listed, 3 }, false, &watch, (cay_slice){ data, len }, &out,
                          &end, &asked, NULL) != CAY_OK)
    abort();
  if ((t.before == 1) != asked) abort();
  if ((t.after == 1) != (asked && !fails && t.verdict.code == TOOL_OK)) abort();
  if (t.after == 1 && t.end.code != end.code) abort();
  if (asked && fails && end.code == TOOL_OK) abort();
  if (asked && t.verdict.code != TOOL_OK && !fails && t.verdict.code != end.code) abort();
  buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  check_told(data, len, false);
  check_told(data, len, true);
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
