/* config.c - the settings of tools and secret providers, read from the JSON of a configuration (config.h). */
#include "tool/policy/config.h"

#include "base/alloc.h"
#include "base/error.h"
#include "tool/run/call.h"

#include <stdio.h>
#include <string.h>

enum { PATH_MAX_LEN = 160 };

struct tool_config {
  yyjson_doc *doc; /* the texts point into it */
  yyjson_val *sandbox;
  tool_settings *tools;
  const char ***lists; /* the allowlists, by tool */
  size_t count;
  tool_provider *providers;
  const char ***argvs; /* by provider */
  tool_secrets secrets;
};

/* What every reader needs: where it is, and whom to tell. */
typedef struct place {
  char path[PATH_MAX_LEN];
  tool_warn_fn *warn;
  void *warn_ctx;
  cay_error *err;
} place;

static place below(const place *p, const char *name) {
  place inner = *p;
  size_t len = strlen(p->path);
  (void)snprintf(inner.path + len, sizeof inner.path - len, "%s%.64s", len != 0 ? "." : "", name);
  return inner;
}

static place element(const place *p, size_t index) {
  place inner = *p;
  size_t len = strlen(p->path);
  (void)snprintf(inner.path + len, sizeof inner.path - len, "[%zu]", index);
  return inner;
}

static cay_status config_wrong(const place *p, const char *want) {
  return err_set(p->err, CAY_INVALID, "%s: %s", p->path, want);
}

/* The members of an object are `known` (NULL ended); others are warned of. Absent is fine. */
static cay_status check_object(const place *p, yyjson_val *object, const char *const *known) {
  if (object == NULL) return CAY_OK;
  if (!yyjson_is_obj(object)) return config_wrong(p, "must be an object");
  yyjson_obj_iter it = yyjson_obj_iter_with(object);
  for (yyjson_val *key; (key = yyjson_obj_iter_next(&it)) != NULL;) {
    place inner = below(p, yyjson_get_str(key));
    size_t i = 0;
    while (known != NULL && known[i] != NULL && !yyjson_equals_str(key, known[i])) i++;
    yyjson_obj_iter rest = it;
    for (yyjson_val *other; known != NULL && (other = yyjson_obj_iter_next(&rest)) != NULL;)
      if (yyjson_equals(key, other)) return config_wrong(&inner, "stands twice");
    if (known == NULL || known[i] != NULL || p->warn == NULL) continue;
    char line[PATH_MAX_LEN + 40];
    (void)snprintf(line, sizeof line, "%s: unknown member", inner.path);
    p->warn(p->warn_ctx, line);
  }
  return CAY_OK;
}

static cay_status read_text(const place *p, yyjson_val *object, const char *name, const char **out) {
  yyjson_val *value = yyjson_obj_get(object, name);
  if (value == NULL) return CAY_OK;
  place at = below(p, name);
  const char *text = yyjson_get_str(value);
  if (text == NULL || text[0] == '\0' || strlen(text) != yyjson_get_len(value))
    return config_wrong(&at, "must be a text that is not empty");
  *out = text;
  return CAY_OK;
}

static cay_status config_read_count(const place *p, yyjson_val *object, const char *name, uint64_t max,
                                    uint64_t *out) {
  yyjson_val *value = yyjson_obj_get(object, name);
  if (value == NULL) return CAY_OK;
  if (yyjson_is_uint(value) && yyjson_get_uint(value) <= max) {
    *out = yyjson_get_uint(value);
    return CAY_OK;
  }
  place at = below(p, name);
  return err_set(p->err, CAY_INVALID, "%s: must be a whole number from 0 to %llu", at.path,
                 (unsigned long long)max);
}

/* An array of texts as a NULL-ended list of its own. */
static cay_status config_read_list(const place *p, yyjson_val *array, bool (*fits)(const char *),
                                   const char *want, const char ***out) {
  if (!yyjson_is_arr(array)) return config_wrong(p, "must be an array of texts");
  const char **list = *out = mem_zalloc_array(yyjson_arr_size(array) + 1, sizeof *list);
  if (list == NULL) return err_no_memory(p->err);
  yyjson_arr_iter it = yyjson_arr_iter_with(array);
  for (yyjson_val *value; (value = yyjson_arr_iter_next(&it)) != NULL; list++) {
    place at = element(p, (size_t)(list - *out));
    *list = yyjson_get_str(value);
    if (*list == NULL || strlen(*list) != yyjson_get_len(value) || !fits(*list))
      return config_wrong(&at, want);
  }
  return CAY_OK;
}

/* ---- one tool ---- */

static cay_status read_wasm(const place *p, yyjson_val *wasm, tool_settings *out) {
  static const char *const known[] = { "module", "entrypoint", "timeout_ms", "fuel", NULL };
  uint64_t timeout = 0;
  S_TRY(check_object(p, wasm, known));
  S_TRY(read_text(p, wasm, "module", &out->module));
  S_TRY(read_text(p, wasm, "entrypoint", &out->entrypoint));
  S_TRY(config_read_count(p, wasm, "timeout_ms", TOOL_TIMEOUT_MAX_MS, &timeout));
  S_TRY(config_read_count(p, wasm, "fuel", INT64_MAX, &out->fuel));
  out->timeout_ms = (uint32_t)timeout;
  return CAY_OK;
}

static cay_status read_capabilities(const place *p, yyjson_val *value, const char ***list,
                                    tool_settings *out) {
  static const char *const known[] = { "abi_version", "allow", NULL };
  S_TRY(check_object(p, value, known));
  yyjson_val *version = yyjson_obj_get(value, "abi_version"), *allow = yyjson_obj_get(value, "allow");
  place version_at = below(p, "abi_version"), allow_at = below(p, "allow");
  if (version != NULL && !(yyjson_is_uint(version) && yyjson_get_uint(version) == 1))
    return config_wrong(&version_at, "must be 1, the only version there is");
  if (allow == NULL) return CAY_OK;
  S_TRY(config_read_list(&allow_at, allow, tool_allow_is_entry,
                         "must be the name of a capability, or a family such as mcp.*", list));
  out->allow = (tool_allow){ *list, yyjson_arr_size(allow) };
  return CAY_OK;
}

static cay_status read_tool(const place *p, yyjson_val *value, const char ***list, tool_settings *out) {
  static const char *const known[] = { "wasm", "capabilities", "runtime", NULL };
  S_TRY(check_object(p, value, known));
  place wasm = below(p, "wasm"), capabilities = below(p, "capabilities");
  S_TRY(read_wasm(&wasm, yyjson_obj_get(value, "wasm"), out));
  return read_capabilities(&capabilities, yyjson_obj_get(value, "capabilities"), list, out);
}

static cay_status read_tools(const place *p, yyjson_val *tools, tool_config *c) {
  S_TRY(check_object(p, tools, NULL));
  size_t count = yyjson_obj_size(tools);
  c->tools = mem_zalloc_array(count + 1, sizeof *c->tools);
  c->lists = mem_zalloc_array(count + 1, sizeof *c->lists);
  if (c->tools == NULL || c->lists == NULL) return err_no_memory(p->err);
  yyjson_obj_iter it = yyjson_obj_iter_with(tools);
  for (yyjson_val *key; (key = yyjson_obj_iter_next(&it)) != NULL; c->count++) {
    tool_settings *settings = &c->tools[c->count], twin;
    const char *name = yyjson_get_str(key);
    place at = below(p, name);
    if (strlen(name) != yyjson_get_len(key) || !tool_is_name(name))
      return config_wrong(&at, "a tool's name is 1 to 64 small letters, digits, '_' and '-'");
    if (tool_config_find(c, name, &twin)) return config_wrong(&at, "stands twice");
    settings->name = name;
    S_TRY(read_tool(&at, yyjson_obj_iter_get_val(key), &c->lists[c->count], settings));
  }
  return CAY_OK;
}

/* ---- secrets ---- */

static bool is_argument(const char *text) { return text[0] != '\0'; }

static cay_status read_provider(const place *p, yyjson_val *value, const char ***argv, tool_provider *out) {
  static const char *const known[] = { "type", "prefix", "dir", "command", NULL };
  const char *type = NULL;
  if (!yyjson_is_obj(value)) return config_wrong(p, "must be an object");
  S_TRY(check_object(p, value, known));
  S_TRY(read_text(p, value, "type", &type));
  if (type != NULL && strcmp(type, "environment") == 0) {
    *out = (tool_provider){ .kind = TOOL_FROM_ENVIRONMENT, .where = "CAY_SECRET_" };
    return read_text(p, value, "prefix", &out->where);
  }
  if (type != NULL && strcmp(type, "file") == 0) {
    out->kind = TOOL_FROM_FILE;
    S_TRY(read_text(p, value, "dir", &out->where));
    return out->where != NULL ? CAY_OK : config_wrong(p, "a provider of type file has a `dir`");
  }
  place at = below(p, "command");
  if (type == NULL || strcmp(type, "command") != 0)
    return config_wrong(p, "`type` must be environment, file or command");
  yyjson_val *command = yyjson_obj_get(value, "command");
  S_TRY(config_read_list(&at, command, is_argument, "must be a text that is not empty", argv));
  *out = (tool_provider){ .kind = TOOL_FROM_COMMAND, .argv = *argv };
  size_t words = yyjson_arr_size(command);
  return words >= 1 && words <= TOOL_COMMAND_WORDS ? CAY_OK : config_wrong(&at, "must have 1 to 32 words");
}

static cay_status read_secrets(const place *p, yyjson_val *secrets, tool_config *c) {
  static const char *const known[] = { "providers", NULL };
  static const tool_provider environment = { .kind = TOOL_FROM_ENVIRONMENT, .where = "CAY_SECRET_" };
  c->secrets = (tool_secrets){ .list = &environment, .count = 1 };
  S_TRY(check_object(p, secrets, known));
  yyjson_val *list = yyjson_obj_get(secrets, "providers");
  place at = below(p, "providers");
  if (list == NULL) return CAY_OK;
  if (!yyjson_is_arr(list)) return config_wrong(&at, "must be an array");
  size_t count = yyjson_arr_size(list);
  c->providers = mem_zalloc_array(count + 1, sizeof *c->providers);
  c->argvs = mem_zalloc_array(count + 1, sizeof *c->argvs);
  if (c->providers == NULL || c->argvs == NULL) return err_no_memory(p->err);
  c->secrets = (tool_secrets){ .list = c->providers, .count = count };
  yyjson_arr_iter it = yyjson_arr_iter_with(list);
  for (size_t i = 0; i < count; i++) {
    place one = element(&at, i);
    S_TRY(read_provider(&one, yyjson_arr_iter_next(&it), &c->argvs[i], &c->providers[i]));
  }
  return CAY_OK;
}

/* ---- the whole ---- */

static bool stands_twice(yyjson_val *object, const char *name) {
  size_t count = 0;
  yyjson_obj_iter it = yyjson_obj_iter_with(object);
  for (yyjson_val *key; (key = yyjson_obj_iter_next(&it)) != NULL;) count += yyjson_equals_str(key, name);
  return count > 1;
}

/* Down to tools.settings.sandbox; what stands beside it on the way belongs to others. */
static cay_status find_sandbox(place *p, yyjson_val **at) {
  static const char *const names[] = { "tools", "settings", "sandbox" };
  if (!yyjson_is_obj(*at)) return err_set(p->err, CAY_INVALID, "the configuration must be an object");
  for (size_t i = 0; i < COUNT_OF(names) && *at != NULL; i++) {
    bool twice = stands_twice(*at, names[i]);
    *at = yyjson_obj_get(*at, names[i]);
    *p = below(p, names[i]);
    if (twice) return config_wrong(p, "stands twice");
    if (*at != NULL && !yyjson_is_obj(*at)) return config_wrong(p, "must be an object");
  }
  return CAY_OK;
}

static cay_status config_read_all(place *p, cay_slice text, tool_config *c) {
  static const char *const known[] = { "mode", "tools",  "secrets", "network", "http",
                                       "mcp",  "github", "search",  "coding",  NULL };
  tool_end end = { 0 };
  yyjson_val *at = NULL;
  if (text.len != 0) {
    S_TRY(tool_json_read(text.data, text.len, &c->doc, &end, p->err));
    if (end.code != TOOL_OK) return err_set(p->err, CAY_INVALID, "the configuration is %s", end.why);
    at = yyjson_doc_get_root(c->doc);
    S_TRY(find_sandbox(p, &at));
  }
  S_TRY(check_object(p, at, known));
  c->sandbox = at;
  place tools = below(p, "tools"), secrets = below(p, "secrets");
  S_TRY(read_tools(&tools, yyjson_obj_get(at, "tools"), c));
  return read_secrets(&secrets, yyjson_obj_get(at, "secrets"), c);
}

cay_status tool_config_read(cay_slice text, tool_warn_fn *warn, void *warn_ctx, tool_config **out,
                            cay_error *err) {
  OWNED(tool_config_free) tool_config *c = mem_zalloc(sizeof *c);
  if (c == NULL) return err_no_memory(err);
  place top = { .warn = warn, .warn_ctx = warn_ctx, .err = err };
  S_TRY(config_read_all(&top, text, c));
  *out = MOVE(c);
  return CAY_OK;
}

void tool_config_free(tool_config *c) {
  if (c == NULL) return;
  for (size_t i = 0; c->lists != NULL && c->tools != NULL && i <= c->count; i++)
    mem_free((void *)c->lists[i]);
  for (size_t i = 0; c->argvs != NULL && c->providers != NULL && i < c->secrets.count; i++)
    mem_free((void *)c->argvs[i]);
  mem_free(c->tools);
  mem_free((void *)c->lists);
  mem_free(c->providers);
  mem_free((void *)c->argvs);
  yyjson_doc_free(c->doc);
  mem_free(c);
}

size_t tool_config_count(const tool_config *config) { return config->count; }
const tool_settings *tool_config_at(const tool_config *config, size_t index) { return &config->tools[index]; }
tool_secrets tool_config_secrets(const tool_config *config) { return config->secrets; }
yyjson_val *tool_config_sandbox(const tool_config *config) { return config->sandbox; }

bool tool_config_find(const tool_config *config, const char *name, tool_settings *out) {
  for (size_t i = 0; i < config->count; i++) {
    if (strcmp(config->tools[i].name, name) != 0) continue;
    *out = config->tools[i];
    return true;
  }
  *out = (tool_settings){ .name = name };
  return false;
}

bool tool_is_name(const char *name) {
  size_t len = strlen(name);
  if (len == 0 || len > TOOL_NAME_MAX || name[0] == '_' || name[0] == '-') return false;
  return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == len;
}

cay_status tool_module_path(const tool_settings *settings, buf *out, cay_error *err) {
  cay_status status = settings->module != NULL ? buf_append_text(out, settings->module)
                                               : buf_appendf(out, "./wasm/%s_tool.wasm", settings->name);
  return status == CAY_OK ? status : err_set(err, status, "path of the module of %.64s", settings->name);
}
