/* config.c - the configuration of a session written as JSON, and its network rules (config.h). */
#include "workspace/config.h"

#include "base/json.h"

#include <string.h>

typedef struct limit_row {
  const char *name;
  uint64_t value;
} limit_row;

static bool config_put_limits(yyjson_mut_doc *doc, yyjson_mut_val *root, const cay_limits *given) {
  cay_limits l = { 0 };
  if (given == NULL) return true;
  memcpy(&l, given, given->size < sizeof l ? given->size : sizeof l);
  const limit_row rows[] = {
    { "memory", l.memory },     { "disk", l.disk },
    { "fuel", l.fuel },         { "code", l.code },
    { "timeoutMs", l.wall_ms }, { "processes", l.processes },
    { "files", l.files },       { "openFiles", l.open_files },
    { "cpuMs", l.cpu_ms },      { "backgroundMs", l.background_ms },
  };
  yyjson_mut_val *object = yyjson_mut_obj_add_obj(doc, root, "limits");
  bool fine = object != NULL;
  for (size_t i = 0; i < COUNT_OF(rows); i++)
    if (rows[i].value != 0) fine = fine && yyjson_mut_obj_add_uint(doc, object, rows[i].name, rows[i].value);
  return fine;
}

static bool config_put_env(yyjson_mut_doc *doc, yyjson_mut_val *root, const char *const *env) {
  if (env == NULL) return true;
  yyjson_mut_val *object = yyjson_mut_obj_add_obj(doc, root, "env");
  bool fine = object != NULL;
  for (size_t i = 0; fine && env[i] != NULL; i++) {
    const char *sign = strchr(env[i], '=');
    yyjson_mut_val *name = yyjson_mut_strn(doc, env[i], (size_t)(sign - env[i]));
    fine = name != NULL && yyjson_mut_obj_add(object, name, yyjson_mut_str(doc, sign + 1));
  }
  return fine;
}

static bool config_put_network(yyjson_mut_doc *doc, yyjson_mut_val *root, cay_slice network) {
  if (network.len == 0) return true;
  yyjson_doc *rules = yyjson_read_opts((char *)(uintptr_t)network.data, network.len, 0, &JSON_ALLOC, NULL);
  yyjson_mut_val *copy = rules != NULL ? yyjson_val_mut_copy(doc, yyjson_doc_get_root(rules)) : NULL;
  yyjson_doc_free(rules);
  return copy != NULL && yyjson_mut_obj_add_val(doc, root, "network", copy);
}

cay_status ws_config_write(const cay_ws_manifest *m, char **json, cay_ws_error *err) {
  yyjson_mut_doc *doc = yyjson_mut_doc_new(&JSON_ALLOC);
  yyjson_mut_val *root = doc != NULL ? yyjson_mut_obj(doc) : NULL;
  yyjson_write_err why = { 0 };
  if (root == NULL) {
    yyjson_mut_doc_free(doc);
    return ws_no_memory(err);
  }
  yyjson_mut_doc_set_root(doc, root);
  bool fine = config_put_env(doc, root, m->env) && config_put_limits(doc, root, m->limits);
  bool network = config_put_network(doc, root, m->network);
  char *text = fine && network ? yyjson_mut_write_opts(doc, 0, &JSON_ALLOC, NULL, &why) : NULL;
  yyjson_mut_doc_free(doc);
  if (text == NULL && why.code == YYJSON_WRITE_ERROR_INVALID_STRING)
    return ws_fail(err, CAY_WS_INVALID_REQUEST, CAY_INVALID, NULL, "env: a text that is not UTF-8");
  if (text == NULL && fine && !network)
    return ws_fail(err, CAY_WS_INVALID_REQUEST, CAY_INVALID, NULL, "network: not JSON");
  if (text == NULL) return ws_no_memory(err);
  *json = text;
  return CAY_OK;
}

cay_status ws_config_rules(cay_slice network, char **rules, cay_ws_error *err) {
  if (network.len == 0) return CAY_OK;
  yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)network.data, network.len, 0, &JSON_ALLOC, NULL);
  yyjson_val *list = yyjson_obj_get(yyjson_doc_get_root(doc), "rules");
  char *text = yyjson_is_arr(list) ? yyjson_val_write_opts(list, 0, &JSON_ALLOC, NULL, NULL) : NULL;
  bool wrong = doc != NULL && !yyjson_is_arr(list);
  yyjson_doc_free(doc);
  if (wrong)
    return ws_fail(err, CAY_WS_INVALID_REQUEST, CAY_INVALID, NULL, "network: an object with rules is needed");
  if (text == NULL) return ws_no_memory(err);
  *rules = text;
  return CAY_OK;
}
