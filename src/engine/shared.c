/* shared.c - a memory that the instances of several threads have in common.
 *
 * A module made for threads imports its memory. Its start function, which the linker writes, copies the passive data
 * into a memory that has none and marks there that this was done, so the second instance finds it done. */
#include "base/alloc.h"
#include "base/error.h"
#include "engine/image_inner.h"

static cay_status shared_make_memory(const eng_module *m, eng_shared *s, cay_error *err) {
  enum { PAGE_LOG = 16 };
  wasm_memorytype_t *type = NULL;
  uint64_t max = m->shared_max < ENG_RESERVED ? m->shared_max : ENG_RESERVED;
  wasmtime_error_t *error =
      wasmtime_memorytype_new(m->memory_min / ENG_PAGE, true, max / ENG_PAGE, false, true, PAGE_LOG, &type);
  if (error == NULL) error = wasmtime_sharedmemory_new(m->engine->wasm[m->stop], type, &s->memory);
  if (type != NULL) wasm_memorytype_delete(type);
  return error != NULL ? eng_wt_error(err, CAY_LIMIT, "cannot make a shared memory", error) : CAY_OK;
}

/* Linking asks for a store, and keeps nothing of it. */
static cay_status shared_link(const eng_module *m, eng_shared *s, cay_error *err) {
  wasmtime_store_t *store = wasmtime_store_new(m->engine->wasm[m->stop], NULL, NULL);
  if (store == NULL) return err_no_memory(err);
  wasmtime_linker_t *linker = wasmtime_linker_clone(m->linker);
  wasmtime_extern_t item = { .kind = WASMTIME_EXTERN_SHAREDMEMORY, .of.sharedmemory = s->memory };
  wasmtime_error_t *error =
      wasmtime_linker_define(linker, wasmtime_store_context(store), "env", 3, "memory", 6, &item);
  if (error == NULL) error = wasmtime_linker_instantiate_pre(linker, m->wasm, &s->pre);
  wasmtime_linker_delete(linker);
  wasmtime_store_delete(store);
  return error != NULL ? eng_wt_error(err, CAY_INVALID, "cannot link the module", error) : CAY_OK;
}

cay_status eng_shared_new(eng_module *module, eng_shared **out, cay_error *err) {
  OWNED(eng_shared_unref) eng_shared *s = mem_zalloc(sizeof *s);
  if (s == NULL) return err_no_memory(err);
  s->refs = 1;
  S_TRY(shared_make_memory(module, s, err));
  S_TRY(shared_link(module, s, err));
  *out = MOVE(s);
  return CAY_OK;
}

cay_status eng_shared_from(eng_module *module, uint64_t len, eng_image *ground, eng_shared **out,
                           cay_error *err) {
  OWNED(eng_shared_unref) eng_shared *s = NULL;
  S_TRY(eng_shared_new(module, &s, err));
  uint64_t more = len > module->memory_min ? len - module->memory_min : 0, before = 0;
  wasmtime_error_t *error = more > 0 ? wasmtime_sharedmemory_grow(s->memory, more / ENG_PAGE, &before) : NULL;
  if (error != NULL) return eng_wt_error(err, CAY_LIMIT, "cannot make a shared memory so large", error);
  if (ground != NULL) S_TRY(eng_image_map_at(ground, wasmtime_sharedmemory_data(s->memory), 0, err));
  *out = MOVE(s);
  return CAY_OK;
}

eng_shared *eng_shared_ref(eng_shared *shared) {
  atomic_fetch_add(&shared->refs, 1);
  return shared;
}

void eng_shared_unref(eng_shared *s) {
  if (s == NULL || atomic_fetch_sub(&s->refs, 1) > 1) return;
  if (s->pre != NULL) wasmtime_instance_pre_delete(s->pre);
  if (s->memory != NULL) wasmtime_sharedmemory_delete(s->memory);
  mem_free(s);
}
