/* module_load.c - any bytes become a module and perhaps an instance, or an error with a message; nothing
 * else. */
#include "engine/instance.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static eng_engine *engine;
static const eng_imports nothing = { NULL, 0 };

static void instantiate(eng_module *module) {
  eng_instance *instance = NULL;
  cay_error err = { 0 };
  eng_instance_options options = { .memory_max = 4 << 20, .table_max = 1000, .fuel = 10000 };
  cay_status status = eng_instance_new(module, &options, &instance, &err);
  if ((status == CAY_OK) != (instance != NULL) || (status != CAY_OK && err.message[0] == '\0')) abort();
  eng_instance_free(instance);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  cay_error err = { 0 };
  if (engine == NULL && eng_engine_new(&(eng_options){ 0 }, &engine, &err) != CAY_OK) abort();
  eng_module *module = NULL;
  cay_status status = eng_module_load(engine, data, len, NULL, ENG_STOP_FUEL, &nothing, &module, &err);
  if (status != CAY_OK && err.message[0] == '\0') abort();
  if (status == CAY_OK) instantiate(module);
  eng_module_unref(module);
  return 0;
}
