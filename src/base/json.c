/* json.c - the allocator that yyjson is given, and the search for a key that stands twice in an object
 * (json.h). */
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

bool json_has_twin(yyjson_val *object) {
  yyjson_obj_iter a = yyjson_obj_iter_with(object);
  for (yyjson_val *key; (key = yyjson_obj_iter_next(&a)) != NULL;) {
    yyjson_obj_iter b = a;
    for (yyjson_val *other; (other = yyjson_obj_iter_next(&b)) != NULL;)
      if (yyjson_equals_strn(other, yyjson_get_str(key), yyjson_get_len(key))) return true;
  }
  return false;
}
