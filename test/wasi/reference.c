/* reference.c - runs a program for WASI by Wasmtime's own implementation: reference DIR FILE.wasm [ARGUMENT]...
 *
 * DIR is preopened as /work, GREETING is set, the streams are inherited. Exits as the program does. */
#include <wasi.h>
#include <wasmtime.h>

#include <stdio.h>
#include <stdlib.h>

static void fail(const char *what, wasmtime_error_t *error) {
  wasm_name_t text = { 0 };
  int status = 0;
  if (error != NULL && wasmtime_error_exit_status(error, &status)) exit(status);
  if (error != NULL) wasmtime_error_message(error, &text);
  fprintf(stderr, "%s: %.*s\n", what, (int)text.size, text.data);
  exit(99);
}

static wasi_config_t *configure(const char *dir, size_t argc, const char **argv) {
  const char *names[] = { "GREETING" }, *values[] = { "good day" };
  wasi_config_t *config = wasi_config_new();
  wasi_config_inherit_stdin(config);
  wasi_config_inherit_stdout(config);
  wasi_config_inherit_stderr(config);
  if (!wasi_config_set_argv(config, argc, argv) || !wasi_config_set_env(config, 1, names, values) ||
      !wasi_config_preopen_dir(config, dir, "/work", true))
    fail("configuration", NULL);
  return config;
}

static wasm_byte_vec_t file_bytes(const char *path) {
  wasm_byte_vec_t bytes;
  FILE *f = fopen(path, "rb");
  if (f == NULL || fseek(f, 0, SEEK_END) != 0) fail(path, NULL);
  wasm_byte_vec_new_uninitialized(&bytes, (size_t)ftell(f));
  rewind(f);
  if (fread(bytes.data, 1, bytes.size, f) != bytes.size) fail(path, NULL);
  fclose(f);
  return bytes;
}

int main(int argc, char **argv) {
  if (argc < 3) fail("usage: reference DIR FILE.wasm [ARGUMENT]...", NULL);
  wasm_engine_t *engine = wasm_engine_new();
  wasmtime_store_t *store = wasmtime_store_new(engine, NULL, NULL);
  wasmtime_context_t *context = wasmtime_store_context(store);
  wasmtime_linker_t *linker = wasmtime_linker_new(engine);
  wasmtime_module_t *module = NULL;
  wasmtime_instance_t instance;
  wasmtime_extern_t start;
  wasm_trap_t *trap = NULL;
  wasm_byte_vec_t bytes = file_bytes(argv[2]);
  wasmtime_error_t *error = wasmtime_linker_define_wasi(linker);
  if (error == NULL)
    error = wasmtime_context_set_wasi(context, configure(argv[1], (size_t)argc - 2, (const char **)argv + 2));
  if (error == NULL) error = wasmtime_module_new(engine, (const uint8_t *)bytes.data, bytes.size, &module);
  if (error == NULL) error = wasmtime_linker_instantiate(linker, context, module, &instance, &trap);
  if (error != NULL) fail("start", error);
  if (!wasmtime_instance_export_get(context, &instance, "_start", 6, &start)) fail("no _start", NULL);
  error = wasmtime_func_call(context, &start.of.func, NULL, 0, NULL, 0, &trap);
  if (error != NULL) fail("call", error);
  return trap != NULL;
}
