/* engine.c - wasmtime's settings, one of its engines for each way of stopping, and its errors as statuses
 * (engine.h). */
#include "base/alloc.h"
#include "base/error.h"
#include "engine/internal.h"

#include <fcntl.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
  DEFAULT_WASM_STACK = 1 << 20,
  DEFAULT_MODULE_MAX = 64 << 20,
  DEFAULT_IDLE = 32,
  DEFAULT_IDLE_LEN = 64 << 20,
  DEFAULT_CACHE_LEN = 1 << 30,
};

const char *eng_version(void) { return "wasmtime " WASMTIME_VERSION; }

/* ---- errors of the C API ---- */

/* "failed to compile: x\n\nCaused by:\n    0: y\n    1: z\n" reads "failed to compile: x: y: z". */
static void engine_flatten(char *out, size_t cap, const char *text, size_t len) {
  size_t n = 0;
  for (size_t i = 0; i < len && text[i] != '\0' && n + 3 < cap; i++) {
    if (text[i] != '\n') {
      out[n++] = text[i];
      continue;
    }
    while (i + 1 < len && strchr(" \n0123456789:", text[i + 1]) != NULL && text[i + 1] != '\0') i++;
    static const char caused[] = "Caused by:";
    if (len - i > sizeof caused && memcmp(text + i + 1, caused, sizeof caused - 1) == 0) {
      i += sizeof caused - 1;
      while (i + 1 < len && strchr(" \n0123456789:", text[i + 1]) != NULL && text[i + 1] != '\0') i++;
    }
    if (i + 1 < len && text[i + 1] != '\0') n += (size_t)(stpcpy(out + n, ": ") - (out + n));
  }
  out[n] = '\0';
}

static cay_status set_text(cay_error *err, cay_status status, const char *what, wasm_byte_vec_t *text) {
  char line[256];
  engine_flatten(line, sizeof line, text->data, text->size);
  wasm_byte_vec_delete(text);
  return err_set(err, status, "%s: %s", what, line);
}

cay_status eng_wt_error(cay_error *err, cay_status status, const char *what, wasmtime_error_t *error) {
  wasm_byte_vec_t text;
  wasmtime_error_message(error, &text);
  wasmtime_error_delete(error);
  return set_text(err, status, what, &text);
}

cay_status eng_wt_trap(cay_error *err, cay_status status, const char *what, wasm_trap_t *trap) {
  wasm_byte_vec_t text;
  wasm_trap_message(trap, &text);
  wasm_trap_delete(trap);
  return set_text(err, status, what, &text);
}

/* ---- settings ---- */

/* Everything that a toolchain for C, C++, Rust or Go emits today, and nothing that would give a module state
 * we do not handle: no second memory, no garbage-collected objects, and a shared memory in one form only (eng_tame). */
static void choose_features(wasm_config_t *config) {
  wasmtime_config_wasm_bulk_memory_set(config, true);
  wasmtime_config_wasm_multi_value_set(config, true);
  wasmtime_config_wasm_simd_set(config, true);
  wasmtime_config_wasm_tail_call_set(config, true);
  wasmtime_config_wasm_reference_types_set(config, true);
  wasmtime_config_wasm_exceptions_set(config, true);
  wasmtime_config_wasm_function_references_set(config, false);
  wasmtime_config_wasm_gc_set(config, false);
  wasmtime_config_wasm_relaxed_simd_set(config, false);
  wasmtime_config_wasm_threads_set(config, true);
  wasmtime_config_shared_memory_set(config, true);
  wasmtime_config_wasm_multi_memory_set(config, false);
  wasmtime_config_wasm_memory64_set(config, false);
  wasmtime_config_wasm_custom_page_sizes_set(config, false);
  wasmtime_config_wasm_wide_arithmetic_set(config, false);
  wasmtime_config_wasm_stack_switching_set(config, false);
  wasmtime_config_concurrency_support_set(config, false);
}

static void choose_memory(wasm_config_t *config, size_t wasm_stack) {
  wasmtime_config_memory_reservation_set(config, ENG_RESERVED);
  wasmtime_config_memory_may_move_set(config, false);
  wasmtime_config_memory_init_cow_set(config, true);
  wasmtime_config_max_wasm_stack_set(config, wasm_stack);
  /* Never used, but a smaller one than the other makes the library abort. */
  wasmtime_config_async_stack_size_set(config, wasm_stack + ENG_HOST_STACK);
}

static wasm_engine_t *engine_make(const eng_engine *engine, enum eng_stop stop) {
  wasm_config_t *config = wasm_config_new();
  if (config == NULL) return NULL;
  choose_features(config);
  choose_memory(config, engine->wasm_stack);
  wasmtime_config_parallel_compilation_set(config, true);
  wasmtime_config_native_unwind_info_set(config, false); /* only wasmtime itself unwinds guest frames */
  wasmtime_config_epoch_interruption_set(config, stop != ENG_STOP_PROTECT);
  wasmtime_config_consume_fuel_set(config, stop == ENG_STOP_FUEL);
  return wasm_engine_new_with_config(config);
}

cay_status eng_wasm(eng_engine *engine, enum eng_stop stop, wasm_engine_t **out, cay_error *err) {
  pthread_mutex_lock(&engine->mu);
  if (engine->wasm[stop] == NULL) {
    engine->wasm[stop] = engine_make(engine, stop);
    /* After wasmtime's own handler, which the first engine of the process installs, so that it can be asked
     * first. */
    if (engine->wasm[stop] != NULL) eng_rescue_install();
  }
  wasm_engine_t *made = engine->wasm[stop];
  pthread_mutex_unlock(&engine->mu);
  if (made == NULL) return err_no_memory(err);
  *out = made;
  return CAY_OK;
}

/* ---- the engine ---- */

static size_t or_default(size_t value, size_t fallback) { return value != 0 ? value : fallback; }

static bool register_membarrier(void) {
  return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

static void init(eng_engine *e, const eng_options *options) {
  pthread_mutex_init(&e->mu, NULL);
  pthread_cond_init(&e->loaded, NULL);
  e->wasm_stack = or_default(options->wasm_stack, DEFAULT_WASM_STACK);
  e->module_max = or_default(options->module_max, DEFAULT_MODULE_MAX);
  e->idle_max = or_default(options->idle_modules, DEFAULT_IDLE);
  e->idle_len_max = or_default(options->idle_len, DEFAULT_IDLE_LEN);
  e->cache_len_max = or_default(options->cache_len, DEFAULT_CACHE_LEN);
  for (size_t i = 0; i < MODULE_BUCKETS; i++) list_init(&e->buckets[i]);
  list_init(&e->idle);
  list_init(&e->idle_installed);
  e->pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  e->scans = eng_pages_scan_works(e->pagemap);
  e->watch = eng_watch_open();
  e->fences_cheap = register_membarrier();
  e->cache_dir = -1;
}

cay_status eng_engine_new(const eng_options *options, eng_engine **out, cay_error *err) {
  OWNED(eng_engine_free) eng_engine *e = mem_zalloc(sizeof *e);
  if (e == NULL) return err_no_memory(err);
  init(e, options);
  if (options->cache_dir != NULL) S_TRY(eng_cache_open(options->cache_dir, &e->cache_dir, err));
  S_TRY(alarm_set_new(&e->alarms, err));
  *out = MOVE(e);
  return CAY_OK;
}

void eng_engine_free(eng_engine *e) {
  if (e == NULL) return;
  eng_modules_free(e);
  alarm_set_free(e->alarms);
  for (size_t i = 0; i < ENG_STOP_COUNT; i++)
    if (e->wasm[i] != NULL) wasm_engine_delete(e->wasm[i]);
  if (e->pagemap >= 0) close(e->pagemap);
  if (e->watch >= 0) close(e->watch);
  if (e->cache_dir >= 0) close(e->cache_dir);
  pthread_cond_destroy(&e->loaded);
  pthread_mutex_destroy(&e->mu);
  mem_free(e);
}

size_t eng_thread_stack(const eng_engine *engine) { return engine->wasm_stack + ENG_HOST_STACK; }

void eng_compiling_add(eng_engine *engine, int more) {
  pthread_mutex_lock(&engine->mu);
  engine->compiling += (size_t)more;
  pthread_mutex_unlock(&engine->mu);
}

size_t eng_compiling(eng_engine *engine) {
  pthread_mutex_lock(&engine->mu);
  size_t count = engine->compiling;
  pthread_mutex_unlock(&engine->mu);
  return count;
}

eng_cache_stats eng_engine_cache_stats(eng_engine *engine) {
  pthread_mutex_lock(&engine->mu);
  eng_cache_stats stats = engine->stats;
  pthread_mutex_unlock(&engine->mu);
  return stats;
}
