/* imports.c - a module's imports: checked against the host's functions, then linked. */
#include "base/error.h"
#include "base/text.h"
#include "engine/internal.h"

#include <string.h>

static bool imports_is(const wasm_name_t *name, const char *text) {
  return name->size == strlen(text) && memcmp(name->data, text, name->size) == 0;
}

static const eng_import *imports_lookup(const eng_imports *imports, const wasm_importtype_t *wanted) {
  for (size_t i = 0; i < imports->count; i++) {
    const eng_import *import = &imports->list[i];
    if (imports_is(wasm_importtype_name(wanted), import->name) &&
        imports_is(wasm_importtype_module(wanted), import->module))
      return import;
  }
  return NULL;
}

static cay_status missing(const wasm_importtype_t *wanted, cay_error *err) {
  const wasm_name_t *module = wasm_importtype_module(wanted), *name = wasm_importtype_name(wanted);
  static const char *const kinds[] = { "function", "global", "table", "memory", "tag" };
  char in[80], of[80];
  wasm_externkind_t kind = wasm_externtype_kind(wasm_importtype_type(wanted));
  return err_set(err, CAY_INVALID, "the module wants the %s %s.%s, which is not offered",
                 kind < COUNT_OF(kinds) ? kinds[kind] : "item",
                 text_name(in, sizeof in, module->data, module->size),
                 text_name(of, sizeof of, name->data, name->size));
}

/* The scan has seen to it that there is no other. */
static const wasm_memorytype_t *imports_shared_memory(const wasm_importtype_t *wanted) {
  const wasm_externtype_t *type = wasm_importtype_type(wanted);
  if (wasm_externtype_kind(type) != WASM_EXTERN_MEMORY) return NULL;
  const wasm_memorytype_t *memory = wasm_externtype_as_memorytype_const(type);
  return wasmtime_memorytype_isshared(memory) ? memory : NULL;
}

cay_status eng_imports_check(const wasmtime_module_t *module, const eng_imports *imports, cay_error *err) {
  wasm_importtype_vec_t wanted;
  wasmtime_module_imports(module, &wanted);
  cay_status status = CAY_OK;
  for (size_t i = 0; i < wanted.size && status == CAY_OK; i++) {
    if (imports_shared_memory(wanted.data[i]) != NULL) continue;
    bool is_function = wasm_externtype_kind(wasm_importtype_type(wanted.data[i])) == WASM_EXTERN_FUNC;
    if (!is_function || imports_lookup(imports, wanted.data[i]) == NULL)
      status = missing(wanted.data[i], err);
  }
  wasm_importtype_vec_delete(&wanted);
  return status;
}

static wasm_valtype_t *value_type(char letter) {
  switch (letter) {
  case 'i': return wasm_valtype_new(WASM_I32);
  case 'I': return wasm_valtype_new(WASM_I64);
  case 'f': return wasm_valtype_new(WASM_F32);
  default: return wasm_valtype_new(WASM_F64);
  }
}

static void value_types(wasm_valtype_vec_t *out, const char *letters, size_t count) {
  wasm_valtype_vec_new_uninitialized(out, count);
  for (size_t i = 0; i < count; i++) out->data[i] = value_type(letters[i]);
}

static wasm_functype_t *function_type(const char *type) {
  size_t params = strcspn(type, ":"), results = strlen(type) - params - 1;
  wasm_valtype_vec_t p, r;
  value_types(&p, type, params);
  value_types(&r, type + params + 1, results);
  return wasm_functype_new(&p, &r);
}

static wasmtime_error_t *define(wasmtime_linker_t *linker, const eng_import *import) {
  wasm_functype_t *type = function_type(import->type);
  /* The library keeps the address until it is gone itself; it only reads. */
  void *env = (void *)(uintptr_t)import;
  wasmtime_error_t *error =
      wasmtime_linker_define_func_unchecked(linker, import->module, strlen(import->module), import->name,
                                            strlen(import->name), type, eng_host_entry, env, NULL);
  wasm_functype_delete(type);
  return error;
}

static uint64_t find_shared_max(const wasmtime_module_t *module) {
  wasm_importtype_vec_t wanted;
  uint64_t max = 0;
  wasmtime_module_imports(module, &wanted);
  for (size_t i = 0; i < wanted.size && max == 0; i++) {
    const wasm_memorytype_t *memory = imports_shared_memory(wanted.data[i]);
    if (memory != NULL) (void)wasmtime_memorytype_maximum(memory, &max);
  }
  wasm_importtype_vec_delete(&wanted);
  return max * ENG_PAGE;
}

cay_status eng_imports_link(eng_module *module, cay_error *err) {
  S_TRY(eng_imports_check(module->wasm, module->imports, err));
  module->shared_max = find_shared_max(module->wasm);
  wasmtime_linker_t *linker = wasmtime_linker_new(module->engine->wasm[module->stop]);
  wasmtime_error_t *error = NULL;
  for (size_t i = 0; i < module->imports->count && error == NULL; i++)
    error = define(linker, &module->imports->list[i]);
  if (error == NULL && module->shared_max != 0) {
    module->linker = linker;
    return CAY_OK;
  }
  if (error == NULL) error = wasmtime_linker_instantiate_pre(linker, module->wasm, &module->pre);
  wasmtime_linker_delete(linker);
  if (error != NULL) return eng_wt_error(err, CAY_INVALID, "cannot link the module", error);
  return CAY_OK;
}
