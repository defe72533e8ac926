/* capability.c - capabilities by name, and the handlers of clock, log and secrets (capability.h). */
#include "tool/capability/capability.h"

#include "base/clock.h"
#include "base/text.h"
#include "base/utf8.h"

#include <string.h>

tool_handler *tool_capability_find(const char *name) {
  static const struct {
    const char *name;
    tool_handler *fn;
  } rows[] = {
#define CAPABILITY(name, fn) { name, fn },
#include "tool/capability/capabilities.def"
#undef CAPABILITY
  };
  for (size_t i = 0; i < COUNT_OF(rows); i++)
    if (strcmp(rows[i].name, name) == 0) return rows[i].fn;
  return NULL;
}

int64_t tool_world_now(const tool_world *world) {
  int64_t ns = world->clock != NULL ? world->clock(world->clock_ctx) : clock_real_ns();
  return ns > 0 ? ns / NS_PER_SEC : 0;
}

static void check_memory(bool fine, tool_end *end) {
  if (!fine) tool_end_set(end, TOOL_INTERNAL, "out of memory");
}

/* A string without NUL; NULL: it is none. */
static const char *capability_text_of(yyjson_val *value) {
  const char *text = yyjson_get_str(value);
  return text != NULL && strlen(text) == yyjson_get_len(value) ? text : NULL;
}

void clock_now_unix(const tool_world *world, yyjson_val *args, yyjson_mut_doc *doc, yyjson_mut_val *result,
                    tool_end *end) {
  (void)args;
  check_memory(yyjson_mut_obj_add_int(doc, result, "unix", tool_world_now(world)), end);
}

/* ---- log.emit ---- */

static bool level_from(yyjson_val *value, enum tool_level *out) {
  static const struct {
    const char *name;
    enum tool_level level;
  } names[] = { { "error", TOOL_LOG_ERROR }, { "warn", TOOL_LOG_WARN },   { "warning", TOOL_LOG_WARN },
                { "info", TOOL_LOG_INFO },   { "debug", TOOL_LOG_DEBUG }, { "trace", TOOL_LOG_DEBUG } };
  *out = TOOL_LOG_INFO;
  if (value == NULL) return true;
  for (size_t i = 0; i < COUNT_OF(names); i++) {
    if (!yyjson_equals_str(value, names[i].name)) continue;
    *out = names[i].level;
    return true;
  }
  return false;
}

/* A log is read line by line and on terminals: control characters do not get through. */
static void make_plain(char *line) {
  for (char *at = line; *at != '\0'; at++)
    if ((unsigned char)*at < 0x20 || *at == 0x7f) *at = ' ';
  text_clean(line, false);
}

void log_emit(const tool_world *world, yyjson_val *args, yyjson_mut_doc *doc, yyjson_mut_val *result,
              tool_end *end) {
  enum tool_level level;
  yyjson_val *event = yyjson_obj_get(args, "event");
  const char *text = capability_text_of(event);
  if (!level_from(yyjson_obj_get(args, "level"), &level)) {
    tool_end_set(end, TOOL_INVALID_ARGS, "level must be error, warn, info, debug or trace");
  } else if (text == NULL || text[0] == '\0') {
    tool_end_set(end, TOOL_INVALID_ARGS, "event must be a text");
  } else if (yyjson_get_len(event) > TOOL_EVENT_MAX) {
    tool_end_set(end, TOOL_INVALID_ARGS, "event may have %d bytes", TOOL_EVENT_MAX);
  } else {
    char line[TOOL_EVENT_MAX + 1];
    memcpy(line, text, strlen(text) + 1);
    make_plain(line);
    if (world->log != NULL) world->log(world->log_ctx, level, world->tool, line);
    check_memory(yyjson_mut_obj_add_bool(doc, result, "logged", true), end);
  }
}

/* ---- secrets.get ---- */

static bool add_secret(yyjson_mut_doc *doc, yyjson_mut_val *result, const char *name, const buf *value) {
  if (!yyjson_mut_obj_add_strcpy(doc, result, "name", name) ||
      !yyjson_mut_obj_add_bool(doc, result, "found", value != NULL))
    return false;
  if (value == NULL) return yyjson_mut_obj_add_null(doc, result, "value");
  return yyjson_mut_obj_add_strncpy(doc, result, "value", buf_text(value), value->len);
}

void secrets_get(const tool_world *world, yyjson_val *args, yyjson_mut_doc *doc, yyjson_mut_val *result,
                 tool_end *end) {
  const char *name = capability_text_of(yyjson_obj_get(args, "name"));
  if (name == NULL || !tool_secret_is_name(name)) {
    tool_end_set(end, TOOL_INVALID_ARGS,
                 "name must be 1 to %d letters, digits, '_', '-' or '.', beginning with none of the last two",
                 TOOL_SECRET_NAME_MAX);
    return;
  }
  buf value = BUF_INIT(TOOL_SECRET_MAX);
  cay_error err = { 0 };
  tool_secrets secrets = world->secrets;
  secrets.deadline_ns = world->deadline_ns;
  secrets.stop = world->stop;
  cay_status status = tool_secret_get(&secrets, name, &value, &err);
  if (status != CAY_OK && status != CAY_NOT_FOUND)
    tool_end_set(end, TOOL_INTERNAL, "secret %.60s: %.120s", name, err.message);
  else if (status == CAY_OK && value.len != 0 && !utf8_is_valid(value.data, value.len))
    tool_end_set(end, TOOL_INTERNAL, "secret %.60s: not UTF-8", name);
  else
    check_memory(add_secret(doc, result, name, status == CAY_OK ? &value : NULL), end);
  tool_secret_wipe(&value);
}
