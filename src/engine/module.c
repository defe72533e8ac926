/* module.c - the table of modules by digest, their compilation and loading, and the eviction of idle ones
 * (module.h). */
#include "base/alloc.h"
#include "base/error.h"
#include "base/stack.h"
#include "engine/internal.h"

#include <string.h>

enum { COMPILER_STACK = 8 << 20 };

static void destroy_one(eng_module *m) {
  if (m->pre != NULL) wasmtime_instance_pre_delete(m->pre);
  if (m->linker != NULL) wasmtime_linker_delete(m->linker);
  if (m->wasm != NULL) wasmtime_module_delete(m->wasm);
  eng_exports_free(m);
  mem_free(m);
}

static void destroy(eng_module *m) {
  for (eng_module *next; m != NULL; m = next) {
    next = m->doomed;
    destroy_one(m);
  }
}

/* ---- the table of modules; everything here with engine.mu held ---- */

static list *bucket_of(eng_engine *e, const digest *key) {
  return &e->buckets[key->bytes[0] % MODULE_BUCKETS];
}

static eng_module *find(eng_engine *e, const digest *key, enum eng_stop stop, const eng_imports *imports) {
  LIST_EACH (m, bucket_of(e, key), eng_module, bucket) {
    if (m->stop == stop && m->imports == imports && digest_equal(&m->key, key)) return m;
  }
  return NULL;
}

static size_t code_len(const eng_module *m) { return (size_t)(m->code_end - m->code); }

static void leave_idle(eng_engine *e, eng_module *m) {
  list_remove(&m->idle);
  if (m->installed) {
    e->idle_installed_count--;
    return;
  }
  e->idle_count--;
  e->idle_len -= code_len(m);
}

static void take_ref(eng_engine *e, eng_module *m) {
  if (m->refs++ == 0 && list_linked(&m->idle)) leave_idle(e, m);
}

static void become_idle(eng_engine *e, eng_module *m) {
  list_push(m->installed ? &e->idle_installed : &e->idle, &m->idle);
  if (m->installed) {
    e->idle_installed_count++;
    return;
  }
  e->idle_count++;
  e->idle_len += code_len(m);
}

/* The one to go next, out of the table, or NULL: all is within bounds. */
static eng_module *evict(eng_engine *e) {
  list *from = e->idle_count > e->idle_max || e->idle_len > e->idle_len_max ? &e->idle
               : e->idle_installed_count > e->idle_max                      ? &e->idle_installed
                                                                            : NULL;
  if (from == NULL) return NULL;
  eng_module *victim = CONTAINER_OF(from->next, eng_module, idle);
  leave_idle(e, victim);
  list_remove(&victim->bucket);
  return victim;
}

/* The modules that must be destroyed once the lock is dropped: a chain by `doomed`. */
static eng_module *drop_ref(eng_engine *e, eng_module *m) {
  if (--m->refs > 0) return NULL;
  if (m->state != MODULE_READY) return m; /* it has left the table already */
  become_idle(e, m);
  eng_module *doomed = NULL;
  for (eng_module *victim; (victim = evict(e)) != NULL; doomed = victim) victim->doomed = doomed;
  return doomed;
}

/* A module that others will wait for, until publish. */
static eng_module *begin(eng_engine *e, const digest *key, enum eng_stop stop, const eng_imports *imports) {
  eng_module *m = mem_zalloc(sizeof *m);
  if (m == NULL) return NULL;
  *m = (eng_module){ .engine = e, .key = *key, .stop = stop, .imports = imports, .refs = 1 };
  list_init(&m->idle);
  list_push(bucket_of(e, key), &m->bucket);
  return m;
}

/* Finds a ready module, waiting for one that is being loaded, or begins one (`mine`). NULL: no memory. */
static eng_module *claim(eng_engine *e, const digest *key, enum eng_stop stop, const eng_imports *imports,
                         bool *mine) {
  eng_module *m, *dead = NULL;
  pthread_mutex_lock(&e->mu);
  while (true) {
    m = find(e, key, stop, imports);
    *mine = m == NULL;
    if (m == NULL) {
      m = begin(e, key, stop, imports);
      break;
    }
    take_ref(e, m);
    while (m->state == MODULE_LOADING) pthread_cond_wait(&e->loaded, &e->mu);
    if (m->state == MODULE_READY) {
      e->stats.from_memory++;
      break;
    }
    /* The other failed. Its reason may be its own, so try again. */
    dead = drop_ref(e, m);
    destroy(dead);
  }
  pthread_mutex_unlock(&e->mu);
  return m;
}

/* The end of what begin began. On failure the caller's reference is gone. */
static void publish(eng_module *m, bool succeeded) {
  eng_engine *e = m->engine;
  eng_module *dead = NULL;
  pthread_mutex_lock(&e->mu);
  m->state = succeeded ? MODULE_READY : MODULE_FAILED;
  if (!succeeded) {
    list_remove(&m->bucket);
    dead = drop_ref(e, m);
  }
  pthread_cond_broadcast(&e->loaded);
  pthread_mutex_unlock(&e->mu);
  destroy(dead);
}

/* ---- making one ---- */

/* As the library lays out an instance: a fixed part; for each function what a reference to it points at; for each
 * global, tag, memory and table its definition; pointers as elements of tables. */
static uint64_t beside_of(const eng_scan_info *info) {
  enum { FIXED = 16 << 10, PER_FUNCTION = 32, PER_DEFINITION = 16, PER_ELEMENT = 8 };
  uint64_t definitions = (uint64_t)info->count[ENG_KIND_GLOBAL] + info->count[ENG_KIND_TAG] +
                         info->count[ENG_KIND_MEMORY] + info->count[ENG_KIND_TABLE];
  return FIXED + PER_FUNCTION * (uint64_t)info->count[ENG_KIND_FUNC] + PER_DEFINITION * definitions +
         PER_ELEMENT * info->table_min;
}

static wasmtime_error_t *compile_bytes(eng_module *m, const void *bytes, size_t len) {
  (void)stack_need(stack_current, COMPILER_STACK);
  return wasmtime_module_new(m->engine->wasm[m->stop], bytes, len, &m->wasm);
}

static cay_status compile_tamed(eng_module *m, const void *bytes, size_t len, wasmtime_error_t **error,
                                cay_error *err) {
  uint8_t *tame = NULL;
  S_TRY(eng_tame(bytes, len, &tame, err));
  *error = compile_bytes(m, tame, len);
  mem_free(tame);
  return CAY_OK;
}

static cay_status compile(eng_module *m, const void *bytes, size_t len, cay_error *err) {
  eng_scan_info info;
  wasmtime_error_t *error = NULL;
  S_TRY(eng_scan(bytes, len, NULL, &info, err));
  if (info.has_shared && !info.threads)
    return err_set(err, CAY_UNSUPPORTED,
                   "a shared memory must be imported as env.memory with a maximum, exported, and "
                   "be filled by passive segments of data");
  if (info.threads)
    S_TRY(compile_tamed(m, bytes, len, &error, err));
  else
    error = compile_bytes(m, bytes, len);
  if (error != NULL) return eng_wt_error(err, CAY_INVALID, "the module is not valid", error);
  m->has_start = info.has_start;
  m->forkable = info.forkable;
  m->data_start = info.data_start;
  m->data_end = info.data_end;
  m->stack = info.stack;
  m->beside = beside_of(&info);
  m->throws = info.count[ENG_KIND_TAG] > 0;
  m->table_growth = info.table_max - info.table_min;
  memcpy(m->why_not, info.why_not, sizeof m->why_not);
  return CAY_OK;
}

static cay_status compile_and_keep(eng_module *m, const void *bytes, size_t len, cay_error *err) {
  S_TRY(compile(m, bytes, len, err));
  S_TRY(eng_imports_check(m->wasm, m->imports, err));
  eng_cache_store(m->engine, m);
  pthread_mutex_lock(&m->engine->mu);
  m->engine->stats.compiled++;
  pthread_mutex_unlock(&m->engine->mu);
  return CAY_OK;
}

void eng_module_learn(eng_module *m, const struct artifact *about) {
  m->has_start = about->has_start;
  m->forkable = about->forkable;
  m->data_start = about->data_start;
  m->data_end = about->data_end;
  m->stack = about->stack;
  m->beside = about->beside;
  m->throws = about->throws;
  m->table_growth = about->table_growth;
  memcpy(m->why_not, about->why_not, sizeof m->why_not);
}

struct artifact eng_module_about(const eng_module *m) {
  struct artifact about = {
    .source = m->key,
    .stop = m->stop,
    .has_start = m->has_start,
    .forkable = m->forkable,
    .data_start = m->data_start,
    .data_end = m->data_end,
    .stack = m->stack,
    .beside = m->beside,
    .throws = m->throws,
    .table_growth = m->table_growth,
  };
  memcpy(about.why_not, m->why_not, sizeof about.why_not);
  return about;
}

/* What every module needs once its code is there. */
static cay_status prepare(eng_module *m, cay_error *err) {
  S_TRY(eng_exports_read(m, err));
  S_TRY(eng_imports_link(m, err));
  void *start, *end;
  wasmtime_module_image_range(m->wasm, &start, &end);
  m->code = start;
  m->code_end = end;
  return CAY_OK;
}

static cay_status load(eng_module *m, const void *bytes, size_t len, cay_error *err) {
  wasm_engine_t *wasm;
  S_TRY(eng_wasm(m->engine, m->stop, &wasm, err));
  if (!eng_cache_load(m->engine, m)) S_TRY(compile_and_keep(m, bytes, len, err));
  return prepare(m, err);
}

/* Begins a module that is not in the table, in whatever state; NULL if one is, or for want of memory. */
static eng_module *begin_absent(eng_engine *e, const digest *key, enum eng_stop stop,
                                const eng_imports *imports) {
  pthread_mutex_lock(&e->mu);
  eng_module *m = find(e, key, stop, imports) == NULL ? begin(e, key, stop, imports) : NULL;
  pthread_mutex_unlock(&e->mu);
  return m;
}

static bool load_stored(eng_module *m) {
  wasm_engine_t *wasm;
  return eng_wasm(m->engine, m->stop, &wasm, NULL) == CAY_OK && eng_cache_load(m->engine, m) &&
         prepare(m, NULL) == CAY_OK;
}

eng_module *eng_module_at_hand(eng_engine *engine, const digest *key, enum eng_stop stop,
                               const eng_imports *imports) {
  eng_module *m = eng_module_find(engine, key, stop, imports);
  if (m != NULL || engine->cache_dir < 0) return m;
  m = begin_absent(engine, key, stop, imports);
  if (m == NULL) return NULL;
  bool stored = load_stored(m);
  publish(m, stored);
  return stored ? m : NULL;
}

static cay_status check_size(const eng_engine *engine, size_t len, cay_error *err) {
  if (len <= engine->module_max) return CAY_OK;
  return err_set(err, CAY_LIMIT, "the module has %zu bytes; at most %zu are taken", len, engine->module_max);
}

cay_status eng_module_load(eng_engine *engine, const void *bytes, size_t len, const digest *known,
                           enum eng_stop stop, const eng_imports *imports, eng_module **out, cay_error *err) {
  S_TRY(check_size(engine, len, err));
  digest key = known != NULL ? *known : digest_of(bytes, len);
  bool mine;
  eng_module *m = claim(engine, &key, stop, imports, &mine);
  if (m == NULL) return err_no_memory(err);
  if (mine) {
    cay_status status = load(m, bytes, len, err);
    publish(m, status == CAY_OK);
    if (status != CAY_OK) return status;
  }
  *out = m;
  return CAY_OK;
}

/* ---- ahead of time ---- */

static cay_status map(eng_module *m, const char *path, const struct artifact *about, cay_error *err) {
  wasm_engine_t *wasm;
  S_TRY(eng_wasm(m->engine, m->stop, &wasm, err));
  wasmtime_error_t *error = wasmtime_module_deserialize_file(wasm, path, &m->wasm);
  if (error != NULL) return eng_wt_error(err, CAY_UNSUPPORTED, path, error);
  eng_module_learn(m, about);
  return prepare(m, err);
}

cay_status eng_module_open_precompiled(eng_engine *engine, const char *path, enum eng_stop stop,
                                       const eng_imports *imports, eng_module **out, cay_error *err) {
  struct artifact about;
  S_TRY(eng_artifact_read(path, false, &about, err));
  if (about.stop != stop)
    return err_set(err, CAY_UNSUPPORTED, "%s was compiled for another way of stopping guests", path);
  bool mine;
  eng_module *m = claim(engine, &about.source, stop, imports, &mine);
  if (m == NULL) return err_no_memory(err);
  if (mine) {
    m->installed = true;
    cay_status status = map(m, path, &about, err);
    publish(m, status == CAY_OK);
    if (status != CAY_OK) return status;
  }
  *out = m;
  return CAY_OK;
}

cay_status eng_module_compile(eng_engine *engine, const void *bytes, size_t len, enum eng_stop stop,
                              const char *path, cay_error *err) {
  S_TRY(check_size(engine, len, err));
  eng_module m = { .engine = engine, .key = digest_of(bytes, len), .stop = stop };
  wasm_engine_t *wasm;
  S_TRY(eng_wasm(engine, stop, &wasm, err));
  S_TRY(compile(&m, bytes, len, err));

  struct artifact about = eng_module_about(&m);
  wasm_byte_vec_t code;
  wasmtime_error_t *error = wasmtime_module_serialize(m.wasm, &code);
  wasmtime_module_delete(m.wasm);
  if (error != NULL) return eng_wt_error(err, CAY_INTERNAL, "cannot serialize the module", error);
  wasm_byte_vec_t lean = code; /* the other keeps its length: the library frees by it */
  cay_status status = eng_code_strip((uint8_t *)lean.data, &lean.size, err);
  if (status == CAY_OK) status = eng_artifact_write(path, &about, &lean, err);
  wasm_byte_vec_delete(&code);
  return status;
}

/* ---- references ---- */

eng_module *eng_module_find(eng_engine *engine, const digest *key, enum eng_stop stop,
                            const eng_imports *imports) {
  pthread_mutex_lock(&engine->mu);
  eng_module *m = find(engine, key, stop, imports);
  if (m != NULL && m->state != MODULE_READY) m = NULL;
  if (m != NULL) {
    take_ref(engine, m);
    engine->stats.from_memory++;
  }
  pthread_mutex_unlock(&engine->mu);
  return m;
}

eng_module *eng_module_ref(eng_module *m) {
  pthread_mutex_lock(&m->engine->mu);
  take_ref(m->engine, m);
  pthread_mutex_unlock(&m->engine->mu);
  return m;
}

void eng_module_unref(eng_module *m) {
  if (m == NULL) return;
  eng_engine *engine = m->engine;
  pthread_mutex_lock(&engine->mu);
  eng_module *dead = drop_ref(engine, m);
  pthread_mutex_unlock(&engine->mu);
  destroy(dead);
}

void eng_modules_free(eng_engine *engine) {
  LIST_EACH_SAFE (m, &engine->idle, eng_module, idle) {
    destroy_one(m);
  }
  LIST_EACH_SAFE (m, &engine->idle_installed, eng_module, idle) {
    destroy_one(m);
  }
}

uint64_t eng_module_beside(const eng_module *m, uint64_t table_max) {
  uint64_t most = ENG_TABLES_MAX * table_max, growth = m->table_growth < most ? m->table_growth : most;
  return m->beside + growth * sizeof(void *);
}

bool eng_module_throws(const eng_module *m) { return m->throws; }

const digest *eng_module_digest(const eng_module *m) { return &m->key; }
enum eng_stop eng_module_stop(const eng_module *m) { return m->stop; }

const char *eng_module_why_not_imageable(const eng_module *m) {
  return m->why_not[0] != '\0' ? m->why_not : NULL;
}
