/* handler.c - deadlines, errors and arguments of the network handlers (handler.h). */
#include "tool/capability/net/handler.h"

#include "base/clock.h"

#include <string.h>

reach_limit reach_limit_of(const tool_world *world, uint64_t ms) {
  int64_t until = clock_mono_ns() + (int64_t)ms * NS_PER_MS;
  if (world->deadline_ns != 0 && world->deadline_ns < until) until = world->deadline_ns;
  return (reach_limit){ until, world->stop };
}

tool_secrets reach_secrets(const tool_reach *reach, reach_limit limit) {
  tool_secrets secrets = reach->secrets;
  secrets.deadline_ns = limit.deadline_ns;
  secrets.stop = limit.stop;
  return secrets;
}

void reach_fail(tool_end *end, cay_status status, const char *what, const cay_error *err) {
  enum tool_code code = status == CAY_DENIED      ? TOOL_FORBIDDEN
                        : status == CAY_INVALID   ? TOOL_INVALID_ARGS
                        : status == CAY_CANCELLED ? TOOL_CANCELLED
                                                  : TOOL_INTERNAL;
  if (status == CAY_NO_MEMORY)
    tool_end_set(end, TOOL_INTERNAL, "out of memory");
  else
    tool_end_set(end, code, "%s%s%.180s", what, what[0] != '\0' ? ": " : "", err->message);
}

void reach_check_memory(bool fine, tool_end *end) {
  if (!fine && end->code == TOOL_OK) tool_end_set(end, TOOL_INTERNAL, "out of memory");
}

yyjson_val *reach_arg(yyjson_val *args, const char *name) {
  yyjson_val *value = yyjson_obj_get(args, name);
  return yyjson_is_null(value) ? NULL : value;
}

const char *reach_arg_text(yyjson_val *args, const char *name, size_t max, bool required, tool_end *end) {
  yyjson_val *value = reach_arg(args, name);
  if (end->code != TOOL_OK || (value == NULL && !required)) return NULL;
  const char *text = reach_text_of(value);
  if (text != NULL && text[0] != '\0' && strlen(text) <= max) return text;
  tool_end_set(end, TOOL_INVALID_ARGS, "%.40s must be a text of 1 to %zu bytes", name, max);
  return NULL;
}

uint64_t reach_arg_count(yyjson_val *args, const char *name, uint64_t min, uint64_t max, uint64_t by_default,
                         tool_end *end) {
  yyjson_val *value = reach_arg(args, name);
  if (end->code != TOOL_OK || value == NULL) return by_default;
  if (yyjson_is_uint(value) && yyjson_get_uint(value) >= min && yyjson_get_uint(value) <= max)
    return yyjson_get_uint(value);
  tool_end_set(end, TOOL_INVALID_ARGS, "%.40s must be a whole number from %llu to %llu", name,
               (unsigned long long)min, (unsigned long long)max);
  return by_default;
}

bool reach_arg_bool(yyjson_val *args, const char *name, bool by_default, tool_end *end) {
  yyjson_val *value = reach_arg(args, name);
  if (end->code != TOOL_OK || value == NULL) return by_default;
  if (yyjson_is_bool(value)) return yyjson_get_bool(value);
  tool_end_set(end, TOOL_INVALID_ARGS, "%.40s must be true or false", name);
  return by_default;
}
