/* method_env_mount.c - the methods env.*, mount and unmount. */
#include "serve/server.h"

method_fn rpc_mount, rpc_unmount, rpc_env_set, rpc_env_get;

enum answer rpc_mount(call *c) {
  char host[SERVE_PATH_MAX], path[SERVE_PATH_MAX];
  bool writable = false, copy = false;
  cay_error err;
  if (!param_file(c, "hostPath", true, host) || !param_path(c, "path", path) ||
      !param_bool(c, "writable", &writable) || !param_bool(c, "copyOnWrite", &copy))
    return ANSWER_ERROR;
  cay_mount_options options = CAY_INIT(cay_mount_options, .host_path = host, .path = path,
                                       .writable = writable, .copy_on_write = copy);
  return answer_done(c, cay_mount(c->box->sandbox, &options, &err), &err);
}

enum answer rpc_unmount(call *c) {
  char path[SERVE_PATH_MAX];
  cay_error err;
  if (!param_path(c, "path", path)) return ANSWER_ERROR;
  return answer_done(c, cay_unmount(c->box->sandbox, path, &err), &err);
}

enum answer rpc_env_set(call *c) {
  const char *name = NULL, *value = NULL;
  cay_error err;
  bool unset = yyjson_is_null(yyjson_obj_get(c->params, "value"));
  if (!param_text(c, "name", true, &name) || !param_text(c, "value", !unset, &value)) return ANSWER_ERROR;
  return answer_done(c, cay_sandbox_setenv(c->box->sandbox, name, value, &err), &err);
}

enum answer rpc_env_get(call *c) {
  const char *name = NULL;
  cay_buf value = { 0 };
  cay_error err;
  if (!param_text(c, "name", true, &name)) return ANSWER_ERROR;
  bool fine;
  switch (cay_sandbox_getenv(c->box->sandbox, name, &value, &err)) {
  case CAY_OK:
    fine = put_text(c->doc, c->result, "value", value.data, value.len);
    cay_buf_free(&value);
    break;
  case CAY_NOT_FOUND: fine = yyjson_mut_obj_add_null(c->doc, c->result, "value"); break;
  default: return fail_status(c, &err);
  }
  return fine ? ANSWER_RESULT : fail_memory(c);
}
