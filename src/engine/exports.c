/* exports.c - what a module exports, by name, with types as text. */
#include "base/alloc.h"
#include "base/error.h"
#include "engine/internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- types as text ---- */

/* wasm_valtype_kind would end the process for a vector or a typed reference, so types are compared instead.
 */
struct types {
  wasm_valtype_t *known[4];
};

static const char letters[4] = "iIfF";

static struct types types_new(void) {
  return (struct types){ { wasm_valtype_new(WASM_I32), wasm_valtype_new(WASM_I64), wasm_valtype_new(WASM_F32),
                           wasm_valtype_new(WASM_F64) } };
}

static void types_free(struct types *types) {
  for (size_t i = 0; i < COUNT_OF(types->known); i++) wasm_valtype_delete(types->known[i]);
}

static char letter_of(const struct types *types, const wasm_valtype_t *type) {
  for (size_t i = 0; i < COUNT_OF(types->known); i++)
    if (wasmtime_wasm_valtype_equal(type, types->known[i])) return letters[i];
  return '?';
}

static void function_text(const struct types *types, const wasm_functype_t *type, char *out, size_t cap) {
  const wasm_valtype_vec_t *params = wasm_functype_params(type), *results = wasm_functype_results(type);
  size_t n = 0;
  if (params->size + results->size + 2 > cap) {
    strcpy(out, "?");
    return;
  }
  for (size_t i = 0; i < params->size; i++) out[n++] = letter_of(types, params->data[i]);
  out[n++] = ':';
  for (size_t i = 0; i < results->size; i++) out[n++] = letter_of(types, results->data[i]);
  out[n] = '\0';
}

static bool holds_functions(const wasm_tabletype_t *type) {
  wasm_valtype_t *function = wasm_valtype_new(WASM_FUNCREF);
  bool same = wasmtime_wasm_valtype_equal(wasm_tabletype_element(type), function);
  wasm_valtype_delete(function);
  return same;
}

static void read_type_of(const struct types *types, struct export *e, const wasm_externtype_t *type) {
  switch (wasm_externtype_kind(type)) {
  case WASM_EXTERN_FUNC:
    e->kind = ENG_KIND_FUNC;
    function_text(types, wasm_externtype_as_functype_const(type), e->type, sizeof e->type);
    break;
  case WASM_EXTERN_GLOBAL: {
    const wasm_globaltype_t *global = wasm_externtype_as_globaltype_const(type);
    e->kind = ENG_KIND_GLOBAL;
    e->is_mutable = wasm_globaltype_mutability(global) == WASM_VAR;
    e->type[0] = letter_of(types, wasm_globaltype_content(global));
    break;
  }
  case WASM_EXTERN_MEMORY: e->kind = ENG_KIND_MEMORY; break;
  case WASM_EXTERN_TABLE:
    e->kind = ENG_KIND_TABLE;
    e->type[0] = holds_functions(wasm_externtype_as_tabletype_const(type)) ? 'f' : '?';
    break;
  default: e->kind = ENG_KIND_TAG;
  }
}

void eng_function_text(const wasm_functype_t *type, char *out, size_t cap) {
  struct types types = types_new();
  function_text(&types, type, out, cap);
  types_free(&types);
}

/* ---- the table ---- */

static int compare_names(const char *a, size_t a_len, const char *b, size_t b_len) {
  int order = memcmp(a, b, a_len < b_len ? a_len : b_len);
  return order != 0 ? order : (a_len > b_len) - (a_len < b_len);
}

static int compare(const void *a, const void *b) {
  const struct export *x = a, *y = b;
  return compare_names(x->name, x->len, y->name, y->len);
}

static cay_status read_all(eng_module *module, const struct types *types, const wasm_exporttype_vec_t *all,
                           cay_error *err) {
  module->exports = mem_zalloc_array(all->size + 1, sizeof *module->exports);
  if (module->exports == NULL) return err_no_memory(err);
  for (size_t i = 0; i < all->size; i++) {
    const wasm_name_t *name = wasm_exporttype_name(all->data[i]);
    struct export *e = &module->exports[module->export_count];
    e->name = mem_strndup(name->data, name->size);
    if (e->name == NULL) return err_no_memory(err);
    e->len = name->size;
    const wasm_externtype_t *type = wasm_exporttype_type(all->data[i]);
    read_type_of(types, e, type);
    if (e->kind == ENG_KIND_MEMORY)
      module->memory_min = wasmtime_memorytype_minimum(wasm_externtype_as_memorytype_const(type)) * ENG_PAGE;
    module->export_count++;
  }
  qsort(module->exports, module->export_count, sizeof *module->exports, compare);
  return CAY_OK;
}

cay_status eng_exports_read(eng_module *module, cay_error *err) {
  struct types types = types_new();
  wasm_exporttype_vec_t all;
  wasmtime_module_exports(module->wasm, &all);
  cay_status status = read_all(module, &types, &all, err);
  wasm_exporttype_vec_delete(&all);
  types_free(&types);
  for (size_t i = 0; i < module->export_count && module->memory == NULL; i++)
    if (module->exports[i].kind == ENG_KIND_MEMORY) module->memory = &module->exports[i];
  return status;
}

void eng_exports_free(eng_module *module) {
  for (size_t i = 0; i < module->export_count; i++) mem_free(module->exports[i].name);
  mem_free(module->exports);
}

const struct export *eng_export_find(const eng_module *module, const char *name, enum eng_kind kind) {
  struct export key = { .name = (char *)(uintptr_t)name, .len = strlen(name) };
  const struct export *e = bsearch(&key, module->exports, module->export_count, sizeof key, compare);
  return e != NULL && e->kind == kind ? e : NULL;
}

bool eng_module_exports(const eng_module *module, const char *name, const char *type) {
  const struct export *e = eng_export_find(module, name, ENG_KIND_FUNC);
  return e != NULL && (type == NULL || strcmp(e->type, type) == 0);
}
