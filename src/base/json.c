#include "base/json.h"

#include "base/alloc.h"

static void *json_alloc(void *ctx, size_t len) {
  (void)ctx;
  return mem_alloc(len);
}

static void *json_grow(void *ctx, void *old, size_t old_len, size_t len) {
  (void)ctx, (void)old_len;
  return mem_realloc(old, len);
}

static void json_release(void *ctx, void *old) {
  (void)ctx;
  mem_free(old);
}

const yyjson_alc JSON_ALLOC = { json_alloc, json_grow, json_release, NULL };
