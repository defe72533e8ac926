/* read.c - members of a configuration by type, with the JSON path in each error (read.h). */
#include "tool/capability/net/read.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

reach_place reach_below(const reach_place *p, const char *name) {
  reach_place inner = *p;
  size_t len = strlen(p->path);
  (void)snprintf(inner.path + len, sizeof inner.path - len, "%s%.64s", len != 0 ? "." : "", name);
  return inner;
}

cay_status reach_wrong(const reach_place *p, const char *want) {
  return err_set(p->err, CAY_INVALID, "%s: %s", p->path, want);
}

cay_status reach_object(const reach_place *p, yyjson_val *object, const char *const *known) {
  if (object == NULL) return CAY_OK;
  if (!yyjson_is_obj(object)) return reach_wrong(p, "must be an object");
  if (tool_json_has_twin(object)) return reach_wrong(p, "a member stands twice, or there are more than 64");
  yyjson_obj_iter it = yyjson_obj_iter_with(object);
  for (yyjson_val *key; known != NULL && (key = yyjson_obj_iter_next(&it)) != NULL;) {
    size_t i = 0;
    while (known[i] != NULL && !yyjson_equals_str(key, known[i])) i++;
    if (known[i] != NULL || p->log == NULL) continue;
    reach_place inner = reach_below(p, yyjson_get_str(key));
    char line[220];
    (void)snprintf(line, sizeof line, "%s: unknown member", inner.path);
    p->log(p->log_ctx, TOOL_LOG_WARN, "config", line);
  }
  return CAY_OK;
}

const char *reach_text_of(yyjson_val *value) {
  const char *text = yyjson_get_str(value);
  return text != NULL && strlen(text) == yyjson_get_len(value) ? text : NULL;
}

cay_status reach_text(const reach_place *p, yyjson_val *object, const char *name, const char **out) {
  yyjson_val *value = yyjson_obj_get(object, name);
  if (value == NULL) return CAY_OK;
  const char *text = reach_text_of(value);
  reach_place at = reach_below(p, name);
  if (text == NULL || text[0] == '\0') return reach_wrong(&at, "must be a text that is not empty");
  *out = text;
  return CAY_OK;
}

cay_status reach_count(const reach_place *p, yyjson_val *object, const char *name, uint64_t min, uint64_t max,
                       uint64_t *out) {
  yyjson_val *value = yyjson_obj_get(object, name);
  if (value == NULL) return CAY_OK;
  reach_place at = reach_below(p, name);
  if (!yyjson_is_uint(value) || yyjson_get_uint(value) < min || yyjson_get_uint(value) > max)
    return err_set(p->err, CAY_INVALID, "%s: must be a whole number from %llu to %llu", at.path,
                   (unsigned long long)min, (unsigned long long)max);
  *out = yyjson_get_uint(value);
  return CAY_OK;
}

cay_status reach_bool(const reach_place *p, yyjson_val *object, const char *name, bool *out) {
  yyjson_val *value = yyjson_obj_get(object, name);
  if (value == NULL) return CAY_OK;
  reach_place at = reach_below(p, name);
  if (!yyjson_is_bool(value)) return reach_wrong(&at, "must be true or false");
  *out = yyjson_get_bool(value);
  return CAY_OK;
}
