/* tool_check.c - any bytes end in a compiled tool or a code with a reason. */
#include "tool/run/check.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  static eng_engine *engine; /* kept: making one takes longer than most inputs */
  if (engine == NULL && eng_engine_new(&(eng_options){ .idle_modules = 1 }, &engine, NULL) != CAY_OK) abort();
  eng_module *module = NULL;
  tool_end end;
  if (tool_check(engine, (cay_slice){ data, len }, &(tool_check_options){ 0 }, &module, &end, NULL) != CAY_OK)
    abort();
  if ((module == NULL) != (end.code != TOOL_OK)) abort();
  if ((end.code != TOOL_OK) != (end.why[0] != '\0')) abort();
  eng_module_unref(module);
  return 0;
}
