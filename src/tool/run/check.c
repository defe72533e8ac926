/* check.c - the checks of a tool's module: imports and exports in its bytes, then types (check.h). */
#include "tool/run/check.h"

#include "base/text.h"
#include "engine/wasm_scan.h"
#include "tool/run/placeholder.h"

#include <string.h>

struct exports {
  const char *entrypoint;
  bool memory, alloc, dealloc, entry;
  tool_end *end;
};

/* ---- what the bytes say ---- */

static bool on_import(void *ctx, const eng_scan_import *item) {
  struct exports *e = ctx;
  char module[80], name[80];
  if (e->end->code == TOOL_OK)
    tool_end_set(e->end, TOOL_HAS_IMPORT, "imports %s.%s; a tool has no imports",
                 text_name(module, sizeof module, item->module.data, item->module.len),
                 text_name(name, sizeof name, item->name.data, item->name.len));
  return false;
}

static bool check_is(cay_slice name, const char *text) {
  return name.len == strlen(text) && memcmp(name.data, text, name.len) == 0;
}

static bool on_export(void *ctx, const eng_scan_export *item) {
  struct exports *e = ctx;
  if (item->kind == ENG_KIND_MEMORY) e->memory |= check_is(item->name, "memory");
  if (item->kind != ENG_KIND_FUNC) return true;
  e->alloc |= check_is(item->name, "alloc");
  e->dealloc |= check_is(item->name, "dealloc");
  e->entry |= check_is(item->name, e->entrypoint);
  return true;
}

static void check_scan(struct exports *e, cay_slice bytes) {
  eng_scan_visitor visitor = { .ctx = e, .on_import = on_import, .on_export = on_export };
  eng_scan_info info;
  cay_error err = { 0 };
  cay_status status = eng_scan(bytes.data, bytes.len, &visitor, &info, &err);
  if (e->end->code != TOOL_OK) return;
  if (status != CAY_OK)
    tool_end_set(e->end, TOOL_MALFORMED, "%.180s", err.message);
  else if (info.has_start)
    tool_end_set(e->end, TOOL_HAS_START, "has a start function");
  else if (!e->memory || info.count[ENG_KIND_MEMORY] != 1)
    tool_end_set(e->end, TOOL_NO_MEMORY_EXPORT, "does not export its one memory as `memory`");
  else if (!e->alloc)
    tool_end_set(e->end, TOOL_NO_ALLOC, "exports no function `alloc`");
  else if (!e->dealloc)
    tool_end_set(e->end, TOOL_NO_DEALLOC, "exports no function `dealloc`");
  else if (!e->entry)
    tool_end_set(e->end, TOOL_NO_ENTRYPOINT, "exports no function `%.100s`", e->entrypoint);
}

/* ---- what the compiler says ---- */

static void check_types(const eng_module *module, const char *entrypoint, tool_end *end) {
  if (!eng_module_exports(module, "alloc", "i:i"))
    tool_end_set(end, TOOL_ALLOC_TYPE, "`alloc` must be (i32) -> i32");
  else if (!eng_module_exports(module, "dealloc", "ii:"))
    tool_end_set(end, TOOL_DEALLOC_TYPE, "`dealloc` must be (i32, i32) -> ()");
  else if (!eng_module_exports(module, entrypoint, "ii:I"))
    tool_end_set(end, TOOL_ENTRYPOINT_TYPE, "`%.100s` must be (i32, i32) -> i64", entrypoint);
}

static cay_status check_compile(eng_engine *engine, cay_slice bytes, bool count_fuel, eng_module **out,
                                tool_end *end, cay_error *err) {
  static const eng_imports none = { NULL, 0 };
  cay_error why = { 0 };
  cay_status status = eng_module_load(engine, bytes.data, bytes.len, NULL,
                                      count_fuel ? ENG_STOP_FUEL : ENG_STOP_EPOCH, &none, out, &why);
  switch (status) {
  case CAY_OK: return CAY_OK;
  case CAY_LIMIT: tool_end_set(end, TOOL_TOO_LARGE, "%.180s", why.message); return CAY_OK;
  case CAY_CORRUPT:
  case CAY_UNSUPPORTED:
  case CAY_INVALID: tool_end_set(end, TOOL_NOT_VALID, "%.180s", why.message); return CAY_OK;
  default:
    if (err != NULL) *err = why;
    return status;
  }
}

cay_status tool_check(eng_engine *engine, cay_slice bytes, const tool_check_options *options,
                      eng_module **out, tool_end *end, cay_error *err) {
  const char *entrypoint = options->entrypoint != NULL ? options->entrypoint : "execute";
  size_t max = options->size_max != 0 ? options->size_max : TOOL_MODULE_MAX;
  *end = (tool_end){ 0 };
  *out = NULL;
  if (bytes.len > max)
    tool_end_set(end, TOOL_TOO_LARGE, "%zu bytes; a module may have %zu", bytes.len, max);
  else if (bytes.len < 4 || memcmp(bytes.data, "\0asm", 4) != 0)
    tool_end_set(end, TOOL_NOT_WASM, "does not begin as a WebAssembly module does");
  else
    check_scan(&(struct exports){ .entrypoint = entrypoint, .end = end }, bytes);
  if (end->code != TOOL_OK) return CAY_OK;

  OWNED(eng_module_unref) eng_module *module = NULL;
  S_TRY(check_compile(engine, bytes, options->count_fuel, &module, end, err));
  if (end->code == TOOL_OK) check_types(module, entrypoint, end);
  if (end->code == TOOL_OK && !options->allow_placeholder) {
    bool placeholder;
    S_TRY(tool_is_placeholder(module, bytes, entrypoint, &placeholder, err));
    if (placeholder) tool_end_set(end, TOOL_PLACEHOLDER, "a placeholder (\"stub\": true), not a real tool");
  }
  if (end->code == TOOL_OK) *out = MOVE(module);
  return CAY_OK;
}
