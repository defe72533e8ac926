/* wasm_scan.c - the first look at a module, and its weight: any bytes end in an answer, names lie inside the
 * input, and nothing weighs less than it is long. */
#include "engine/wasm_scan.h"
#include "engine/wasm_weight.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const uint8_t *begin, *end;

static bool inside(cay_slice name) {
  const uint8_t *at = name.data;
  if (name.len != 0 && (at < begin || at > end || name.len > (size_t)(end - at))) abort();
  return true;
}

static bool on_import(void *ctx, const eng_scan_import *item) {
  (void)ctx;
  return inside(item->module) && inside(item->name);
}

static bool on_export(void *ctx, const eng_scan_export *item) {
  (void)ctx;
  return inside(item->name);
}

static void weigh(const uint8_t *data, size_t len) {
  eng_weight w;
  cay_error err = { 0 };
  cay_status status = eng_weigh(data, len, &w, &err);
  if (status != CAY_OK && err.message[0] == '\0') abort();
  if (status == CAY_OK && (w.module < len || w.function > w.module)) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  weigh(data, len);
  begin = data;
  end = data + len;
  eng_scan_visitor visitor = { .on_import = on_import, .on_export = on_export };
  eng_scan_info info;
  cay_error err = { 0 };
  cay_status status = eng_scan(data, len, &visitor, &info, &err);
  if (status != CAY_OK && err.message[0] == '\0') abort();
  if (status == CAY_OK && info.imageable != (info.why_not[0] == '\0')) abort();
  return 0;
}
