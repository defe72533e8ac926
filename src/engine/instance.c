/* instance.c - instances: store and start function, threads on one memory, growth, globals and fuel
 * (instance.h). */
#include "base/alloc.h"
#include "base/error.h"
#include "engine/internal.h"

#include <string.h>

_Static_assert(sizeof(eng_val) == sizeof(wasmtime_val_raw_t), "values are passed through as they are");
_Static_assert(sizeof(wasmtime_func_t) <= sizeof(((eng_func *)0)->opaque),
               "eng_func holds a wasmtime_func_t");
_Static_assert(sizeof(wasmtime_global_t) <= sizeof(((eng_global *)0)->opaque),
               "eng_global holds a wasmtime_global_t");
_Static_assert(offsetof(struct eng_instance, head) == 0, "the inline functions of instance.h rely on it");

enum { DEFAULT_TABLE_MAX = 10000000, START_MS = 1000 };

/* ---- making and freeing ---- */

static void limit(eng_instance *i) {
  wasmtime_store_limiter(i->store, (int64_t)i->memory_max, (int64_t)i->table_max, 1, ENG_TABLES_MAX, -1);
}

cay_status eng_instance_check(const eng_module *m, const eng_instance_options *options, cay_error *err) {
  if (m->memory == NULL) return err_set(err, CAY_INVALID, "the module exports no memory");
  if (options->memory_max != 0 && m->memory_min > options->memory_max)
    return err_set(err, CAY_LIMIT, "the module starts with %llu bytes of memory, the limit is %llu",
                   (unsigned long long)m->memory_min, (unsigned long long)options->memory_max);
  if (m->has_start && m->stop == ENG_STOP_PROTECT && m->shared_max == 0)
    return err_set(err, CAY_UNSUPPORTED,
                   "a module with a start function needs epoch checks: it could not be stopped");
  return CAY_OK;
}

static cay_status make_store(eng_instance *i, cay_error *err) {
  i->store = wasmtime_store_new(i->module->engine->wasm[i->module->stop], i, NULL);
  if (i->store == NULL) return err_no_memory(err);
  i->cx = wasmtime_store_context(i->store);
  limit(i);
  eng_stop_arm(i);
  return CAY_OK;
}

static void start_took_long(void *ctx) { eng_instance_kick(ctx); }

/* The start function of a module with threads copies data, or finds it copied. Another may do anything, and only this
 * thread knows the instance yet, so no other could stop it. Protection does not stop it
 * here: see README.md. */
static wasmtime_error_t *instantiate_shared(eng_instance *i, wasm_trap_t **trap) {
  if (i->stop.by_memory) return wasmtime_instance_pre_instantiate(i->shared->pre, i->cx, &i->wasm, trap);
  alarm_entry end = { .fn = start_took_long, .ctx = i };
  alarm_set *alarms = i->module->engine->alarms;
  if (alarm_arm(alarms, &end, clock_mono_ns() + START_MS * NS_PER_MS, NULL) != CAY_OK)
    return wasmtime_error_new("no memory for an alarm");
  i->starting = true;
  wasmtime_error_t *error = wasmtime_instance_pre_instantiate(i->shared->pre, i->cx, &i->wasm, trap);
  alarm_disarm(alarms, &end);
  i->starting = false;
  eng_kick_clear(i);
  return error;
}

static cay_status instantiate(eng_instance *i, cay_error *err) {
  wasm_trap_t *trap = NULL;
  wasmtime_error_t *error = i->shared != NULL
                                ? instantiate_shared(i, &trap)
                                : wasmtime_instance_pre_instantiate(i->module->pre, i->cx, &i->wasm, &trap);
  if (trap != NULL) return eng_wt_trap(err, CAY_INVALID, "the module failed to start", trap);
  if (error != NULL && i->unwinding) {
    wasmtime_error_delete(error);
    return err_set(err, CAY_INVALID, "the module left during its start function");
  }
  if (error != NULL) return eng_wt_error(err, CAY_LIMIT, "cannot make an instance", error);
  return CAY_OK;
}

static void find_memory(eng_instance *i) {
  const struct export *memory = i->module->memory;
  wasmtime_extern_t item;
  if (i->shared != NULL) {
    i->head.base = wasmtime_sharedmemory_data(i->shared->memory);
    i->head.len = wasmtime_sharedmemory_data_size(i->shared->memory);
    return;
  }
  if (!wasmtime_instance_export_get(i->cx, &i->wasm, memory->name, memory->len, &item)) return;
  i->memory = item.of.memory;
  i->head.base = wasmtime_memory_data(i->cx, &i->memory);
  i->head.len = wasmtime_memory_data_size(i->cx, &i->memory);
}

static void take_options(eng_instance *i, const eng_instance_options *options) {
  i->head.ctx = options->ctx;
  i->on_kick = options->on_kick;
  i->on_stack = options->on_stack;
  i->memory_max =
      options->memory_max != 0 && options->memory_max < ENG_RESERVED ? options->memory_max : ENG_RESERVED;
  i->table_max = options->table_max != 0 ? options->table_max : DEFAULT_TABLE_MAX;
}

cay_status eng_instance_make(eng_module *module, eng_shared *shared, const eng_instance_options *options,
                             uint64_t closed, eng_instance **out, cay_error *err) {
  OWNED(eng_shared_unref) eng_shared *own = shared;
  OWNED(eng_instance_free) eng_instance *i = mem_zalloc(sizeof *i);
  if (i == NULL) return err_no_memory(err);
  i->module = eng_module_ref(module);
  i->shared = MOVE(own);
  take_options(i, options);
  eng_stop_init(i);
  S_TRY(make_store(i, err));
  eng_fuel_set(i, options->fuel);
  S_TRY(instantiate(i, err));
  find_memory(i);
  S_TRY(eng_linear_begin(i, closed, err));
  *out = MOVE(i);
  return CAY_OK;
}

cay_status eng_instance_build(eng_module *module, const eng_instance_options *options, uint64_t closed,
                              eng_instance **out, cay_error *err) {
  S_TRY(eng_instance_check(module, options, err));
  return eng_instance_make(module, NULL, options, closed, out, err);
}

cay_status eng_instance_new(eng_module *module, const eng_instance_options *options, eng_instance **out,
                            cay_error *err) {
  eng_shared *shared = NULL;
  S_TRY(eng_instance_check(module, options, err));
  if (module->shared_max != 0) S_TRY(eng_shared_new(module, &shared, err));
  return eng_instance_make(module, shared, options, eng_module_stack_closed(module), out, err);
}

cay_status eng_instance_thread(eng_instance *first, const eng_instance_options *options, eng_instance **out,
                               cay_error *err) {
  if (first->shared == NULL) return err_set(err, CAY_UNSUPPORTED, "the module was not made for threads");
  return eng_instance_make(first->module, eng_shared_ref(first->shared), options, 0, out, err);
}

void eng_instance_renew(eng_instance *i, const eng_instance_options *options) {
  take_options(i, options);
  limit(i);
  eng_fuel_set(i, options->fuel);
}

void eng_instance_free(eng_instance *i) {
  if (i == NULL) return;
  assert(i->depth == 0);
  eng_stop_close(i);
  eng_drop_trap(i);
  if (i->store != NULL) wasmtime_store_delete(i->store);
  eng_shared_unref(i->shared);
  eng_saved_drop(i);
  eng_image_unref(i->image);
  eng_image_unref(i->origin);
  eng_module_unref(i->module);
  mem_free(i);
}

eng_module *eng_instance_module(const eng_instance *i) { return i->module; }

/* ---- memory ---- */

uint64_t eng_memory_len(eng_instance *i) {
  uint64_t len = i->shared != NULL ? wasmtime_sharedmemory_data_size(i->shared->memory)
                                   : wasmtime_memory_data_size(i->cx, &i->memory);
  atomic_store_explicit(&i->head.len, len, memory_order_relaxed);
  return len;
}

bool eng_memory_is_shared(const eng_instance *i) { return i->shared != NULL; }
bool eng_memory_is_alone(const eng_instance *i) {
  return i->shared == NULL || atomic_load(&i->shared->refs) == 1;
}

/* The library asks the limiter of a store for its own memory only. */
static wasmtime_error_t *grow_shared(const eng_instance *i, uint32_t pages, uint64_t *before) {
  uint64_t len = wasmtime_sharedmemory_data_size(i->shared->memory), more = (uint64_t)pages * ENG_PAGE;
  if (len + more > i->memory_max) return wasmtime_error_new("beyond the limit");
  return wasmtime_sharedmemory_grow(i->shared->memory, pages, before);
}

cay_status eng_memory_grow(eng_instance *i, uint32_t pages, uint32_t *old_pages, cay_error *err) {
  uint64_t before;
  wasmtime_error_t *error = i->shared != NULL ? grow_shared(i, pages, &before)
                                              : wasmtime_memory_grow(i->cx, &i->memory, pages, &before);
  if (error != NULL) {
    wasmtime_error_delete(error);
    return err_set(err, CAY_LIMIT, "the memory cannot grow by %u pages beyond %llu bytes", pages,
                   (unsigned long long)eng_memory_len(i));
  }
  *old_pages = (uint32_t)before;
  (void)eng_memory_len(i);
  return CAY_OK;
}

void eng_memory_set_max(eng_instance *i, uint64_t bytes) {
  i->memory_max = bytes < ENG_RESERVED ? bytes : ENG_RESERVED;
  limit(i);
}

/* ---- globals ---- */

static wasmtime_global_t *global_of(eng_global *g) { return (wasmtime_global_t *)(void *)g->opaque; }

bool eng_global_find(eng_instance *i, const char *name, eng_global *out) {
  const struct export *e = eng_export_find(i->module, name, ENG_KIND_GLOBAL);
  wasmtime_extern_t item;
  if (e == NULL || e->type[0] == '?' ||
      !wasmtime_instance_export_get(i->cx, &i->wasm, e->name, e->len, &item))
    return false;
  *out = (eng_global){ .type = e->type[0], .is_mutable = e->is_mutable };
  *global_of(out) = item.of.global;
  return true;
}

eng_val eng_global_get(eng_instance *i, const eng_global *global) {
  eng_global g = *global;
  wasmtime_val_t value;
  wasmtime_global_get(i->cx, global_of(&g), &value);
  eng_val out = { .bits = { 0 } };
  switch (g.type) {
  case 'i':
  case 'f': out.i32 = value.of.i32; break;
  default: out.i64 = value.of.i64;
  }
  return out;
}

void eng_global_set(eng_instance *i, const eng_global *global, eng_val in) {
  eng_global g = *global;
  static const wasmtime_valkind_t kinds[128] = {
    ['i'] = WASMTIME_I32, ['I'] = WASMTIME_I64, ['f'] = WASMTIME_F32, ['F'] = WASMTIME_F64
  };
  wasmtime_val_t value = { .kind = kinds[(unsigned char)g.type], .of = { .i64 = in.i64 } };
  wasmtime_error_t *error = wasmtime_global_set(i->cx, global_of(&g), &value);
  assert(error == NULL);
  if (error != NULL) wasmtime_error_delete(error);
}

/* ---- fuel ---- */

void eng_fuel_set(eng_instance *i, uint64_t units) {
  if (i->module->stop != ENG_STOP_FUEL) return;
  wasmtime_error_t *error = wasmtime_context_set_fuel(i->cx, units);
  if (error != NULL) wasmtime_error_delete(error);
}

uint64_t eng_fuel_left(eng_instance *i) {
  uint64_t left = 0;
  if (i->module->stop != ENG_STOP_FUEL) return 0;
  wasmtime_error_t *error = wasmtime_context_get_fuel(i->cx, &left);
  if (error != NULL) wasmtime_error_delete(error);
  return left;
}
