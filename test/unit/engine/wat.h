/* wat.h - modules written as text, and the few lines every test of the engine needs.
 *
 * The helpers end the test when something fails that it does not ask about. */
#pragma once

#include "engine/image.h"
#include "engine/instance.h"
#include "engine/module.h"
#include "engine/stop.h"
#include "test.h"

#include <wasmtime.h>

static inline wasm_byte_vec_t wat(const char *text) {
  wasm_byte_vec_t bytes;
  wasmtime_error_t *error = wasmtime_wat2wasm(text, strlen(text), &bytes);
  if (error != NULL) {
    wasm_byte_vec_t why;
    wasmtime_error_message(error, &why);
    fprintf(stderr, "%.*s\n", (int)why.size, why.data);
  }
  EXPECT(error == NULL);
  return bytes;
}

static inline eng_engine *fresh_engine(const char *cache_dir) {
  eng_engine *engine = NULL;
  cay_error err;
  cay_status status = eng_engine_new(&(eng_options){ .cache_dir = cache_dir }, &engine, &err);
  EXPECT_EQ(status, CAY_OK);
  return engine;
}

static const eng_imports no_imports = { NULL, 0 };

static inline cay_status try_load(eng_engine *engine, const char *text, enum eng_stop stop,
                                  const eng_imports *imports, eng_module **out, cay_error *err) {
  wasm_byte_vec_t bytes = wat(text);
  cay_status status = eng_module_load(engine, bytes.data, bytes.size, NULL, stop, imports, out, err);
  wasm_byte_vec_delete(&bytes);
  return status;
}

static inline eng_module *load(eng_engine *engine, const char *text, enum eng_stop stop,
                               const eng_imports *imports) {
  eng_module *module = NULL;
  cay_error err = { 0 };
  cay_status status = try_load(engine, text, stop, imports, &module, &err);
  if (status != CAY_OK) fprintf(stderr, "%s\n", err.message);
  EXPECT_EQ(status, CAY_OK);
  return module;
}

static inline eng_instance *start(eng_module *module, eng_instance_options options) {
  eng_instance *instance = NULL;
  cay_error err = { 0 };
  cay_status status = eng_instance_new(module, &options, &instance, &err);
  if (status != CAY_OK) fprintf(stderr, "%s\n", err.message);
  EXPECT_EQ(status, CAY_OK);
  return instance;
}

/* One module, one instance, one engine: enough for most tests. */
typedef struct world {
  eng_engine *engine;
  eng_module *module;
  eng_instance *instance;
} world;

static inline world world_of(const char *text, enum eng_stop stop, const eng_imports *imports,
                             eng_instance_options options) {
  world w = { .engine = fresh_engine(NULL) };
  w.module = load(w.engine, text, stop, imports);
  w.instance = start(w.module, options);
  return w;
}

static inline void world_free(world *w) {
  eng_instance_free(w->instance);
  eng_module_unref(w->module);
  eng_engine_free(w->engine);
}

static inline eng_func func(eng_instance *instance, const char *name, const char *type) {
  eng_func f;
  EXPECT(eng_func_find(instance, name, type, &f));
  return f;
}

/* Calls a function of type "", "i:", ":i", "i:i" ...; the result if it returned. */
static inline enum eng_end call(eng_instance *instance, const char *name, const char *type, eng_val *values) {
  eng_func f = func(instance, name, type);
  return eng_call(instance, &f, values);
}

static inline int32_t call_i(eng_instance *instance, const char *name, const char *type, int32_t a,
                             int32_t b) {
  eng_val values[4] = { { .i32 = a }, { .i32 = b } };
  EXPECT_EQ(call(instance, name, type, values), ENG_RETURNED);
  return values[0].i32;
}
