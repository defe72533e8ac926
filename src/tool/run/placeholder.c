/* placeholder.c - the test for a placeholder: a trial call if the word "stub" occurs (placeholder.h). */
#include "tool/run/placeholder.h"

#include "tool/run/json.h"

#include <string.h>

enum { TRIAL_MS = 200, TRIAL_FUEL = 10000000, TRIAL_OUTPUT = 1 << 20 };

/* The member's name need not stand in one piece with its value, nor in quotes: a serialiser puts them there. */
static bool placeholder_has_word(cay_slice bytes) { return memmem(bytes.data, bytes.len, "stub", 4) != NULL; }

static cay_status is_stub(const buf *output, bool *out, cay_error *err) {
  OWNED(yyjson_doc_free) yyjson_doc *doc = NULL;
  tool_end end = { 0 };
  S_TRY(tool_json_read(output->data, output->len, &doc, &end, err));
  *out = end.code == TOOL_OK && yyjson_is_true(yyjson_obj_get(yyjson_doc_get_root(doc), "stub"));
  return CAY_OK;
}

static cay_status try_it(eng_module *module, const char *entrypoint, alarm_set *alarms, bool *out,
                         cay_error *err) {
  tool_call trial = { .module = module,
                      .entrypoint = entrypoint,
                      .alarms = alarms,
                      .timeout_ms = TRIAL_MS,
                      .fuel = TRIAL_FUEL,
                      .input = { "{}", 2 } };
  buf output = BUF_INIT(TRIAL_OUTPUT);
  tool_end end;
  cay_status status = tool_call_run(&trial, &output, &end, err);
  if (status == CAY_OK && end.code == TOOL_OK && output.len != 0) status = is_stub(&output, out, err);
  buf_free(&output);
  return status;
}

cay_status tool_is_placeholder(eng_module *module, cay_slice bytes, const char *entrypoint, bool *out,
                               cay_error *err) {
  *out = false;
  if (!placeholder_has_word(bytes)) return CAY_OK;
  alarm_set *alarms = NULL;
  S_TRY(alarm_set_new(&alarms, err));
  cay_status status = try_it(module, entrypoint, alarms, out, err);
  alarm_set_free(alarms);
  return status;
}
