/* method_box.c - sandboxes and what surrounds them: protocol, create, destroy, kill, usage, mount, env. */
#include "base/alloc.h"
#include "serve/server.h"
#include "serve/text.h"

#include <string.h>

method_fn rpc_protocol, rpc_create, rpc_destroy, rpc_kill, rpc_usage, rpc_mount, rpc_unmount, rpc_env_set,
    rpc_env_get;

static enum answer ok(call *c) {
  yyjson_mut_obj_add_bool(c->result, result_root(c), "ok", true);
  return ANSWER_RESULT;
}

/* ---- the protocol itself ---- */

enum answer rpc_protocol(call *c) {
  yyjson_mut_val *root = result_root(c);
  yyjson_mut_obj_add_str(c->result, root, "name", "cay");
  yyjson_mut_obj_add_str(c->result, root, "version", cay_version());
  yyjson_mut_obj_add_int(c->result, root, "protocol", 1);
  yyjson_mut_val *methods = yyjson_mut_obj_add_arr(c->result, root, "methods");
  size_t count;
  const method *table = method_table(&count);
  for (size_t i = 0; methods != NULL && i < count; i++)
    yyjson_mut_arr_add_str(c->result, methods, table[i].name);
  return ANSWER_RESULT;
}

enum answer rpc_kill(call *c) {
  ok(c);
  return ANSWER_QUIT;
}

/* ---- create and destroy: on the reading thread only, so the lists change under nobody but it ---- */

static cay_status engine_for(server *s, const char *guest_dir, cay_engine **out, cay_error *err) {
  LIST_EACH (e, &s->engines, serve_engine, in_server) {
    if (strcmp(e->guest_dir, guest_dir) == 0) {
      *out = e->engine;
      return CAY_OK;
    }
  }
  serve_engine *e = mem_zalloc(sizeof *e);
  char *dir = mem_strdup(guest_dir);
  cay_engine_options options =
      CAY_INIT(cay_engine_options, .guest_dir = guest_dir[0] != '\0' ? guest_dir : s->options.guest_dir,
               .cache_dir = s->options.cache_dir, .log = s->options.log, .log_ctx = s->options.log_ctx);
  cay_status status = e != NULL && dir != NULL ? cay_engine_new(&options, &e->engine, err) : CAY_NO_MEMORY;
  if (status != CAY_OK) {
    if (e == NULL || dir == NULL) *err = (cay_error){ CAY_NO_MEMORY, 0, "out of memory" };
    mem_free(e);
    mem_free(dir);
    return status;
  }
  e->guest_dir = dir;
  list_push(&s->engines, &e->in_server);
  *out = e->engine;
  return CAY_OK;
}

static serve_box *box_named(server *s, const char *name) {
  LIST_EACH (b, &s->boxes, serve_box, in_server) {
    if (strcmp(b->name, name) == 0) return b;
  }
  return NULL;
}

static cay_status new_sandbox(server *s, const char *wasm_dir, const cay_limits *limits, char **env,
                              cay_sandbox **out, cay_error *err) {
  cay_engine *engine;
  cay_status status = engine_for(s, wasm_dir, &engine, err);
  if (status != CAY_OK) return status;
  cay_sandbox_options options =
      CAY_INIT(cay_sandbox_options, .limits = limits, .env = (const char *const *)env);
  return cay_sandbox_new(engine, &options, out, err);
}

static enum answer add_box(call *c, const char *name, const char *wasm_dir, const cay_limits *limits,
                           char **env) {
  serve_box *box = mem_zalloc(sizeof *box);
  char *copy = mem_strdup(name);
  if (box == NULL || copy == NULL) {
    mem_free(box);
    mem_free(copy);
    return fail(c, RPC_INTERNAL, "out of memory");
  }
  cay_error err;
  if (new_sandbox(c->server, wasm_dir, limits, env, &box->sandbox, &err) != CAY_OK) {
    mem_free(box);
    mem_free(copy);
    return fail_status(c, &err);
  }
  box->name = copy;
  pthread_mutex_lock(&c->server->mu);
  list_push(&c->server->boxes, &box->in_server);
  pthread_mutex_unlock(&c->server->mu);
  return ok(c);
}

enum answer rpc_create(call *c) {
  const char *name = "", *wasm_dir = "";
  uint64_t timeout = 30000, disk = UINT64_C(256) << 20, memory = 0, output = 0, processes = 0;
  char **env = NULL;
  if (!param_text(c, "id", false, &name) || !param_text(c, "wasmDir", false, &wasm_dir) ||
      !param_number(c, "timeoutMs", 1, UINT32_MAX - 1, &timeout) ||
      !param_number(c, "fsLimitBytes", 1, UINT64_C(1) << 46, &disk) ||
      !param_number(c, "memoryLimitBytes", 1 << 20, UINT64_C(1) << 40, &memory) ||
      !param_number(c, "outputLimitBytes", 1, UINT64_C(1) << 30, &output) ||
      !param_number(c, "processLimit", 1, 10000, &processes) || !param_env(c, "env", &env))
    return ANSWER_ERROR;
  enum answer a;
  if (box_named(c->server, name) != NULL) {
    a = fail(c, RPC_SANDBOX_ERROR,
             name[0] != '\0' ? "EEXIST: there is a sandbox of that id"
                             : "EEXIST: the sandbox was created already");
  } else {
    cay_limits limits = CAY_INIT(cay_limits, .wall_ms = (uint32_t)timeout, .disk = disk, .memory = memory,
                                 .output = output, .processes = (uint32_t)processes);
    a = add_box(c, name, wasm_dir, &limits, env);
  }
  param_env_free(env);
  return a;
}

enum answer rpc_destroy(call *c) {
  serve_box *box = c->box;
  runs_end(c->server, box);
  pthread_mutex_lock(&c->server->mu);
  list_remove(&box->in_server);
  pthread_mutex_unlock(&c->server->mu);
  cay_sandbox_free(box->sandbox);
  mem_free(box->name);
  mem_free(box);
  c->box = NULL;
  return ok(c);
}

/* ---- around a sandbox ---- */

enum answer rpc_usage(call *c) {
  cay_usage u;
  cay_sandbox_usage(c->box->sandbox, &u);
  const struct {
    const char *name;
    uint64_t value;
  } fields[] = {
    { "memoryBytes", u.memory },
    { "memoryPeakBytes", u.memory_peak },
    { "fsBytes", u.disk },
    { "fsPeakBytes", u.disk_peak },
    { "files", u.files },
    { "processes", u.processes },
    { "syscalls", u.syscalls },
    { "unknownSyscalls", u.unknown_syscalls },
    { "processesPeak", u.processes_peak },
    { "forks", u.forks },
    { "execs", u.execs },
  };
  for (size_t i = 0; i < COUNT_OF(fields); i++)
    yyjson_mut_obj_add_uint(c->result, result_root(c), fields[i].name, fields[i].value);
  return ANSWER_RESULT;
}

enum answer rpc_mount(call *c) {
  const char *host, *path;
  bool writable = false;
  cay_error err;
  if (!param_text(c, "hostPath", true, &host) || !param_text(c, "path", true, &path) ||
      !param_bool(c, "writable", &writable))
    return ANSWER_ERROR;
  cay_mount_options options =
      CAY_INIT(cay_mount_options, .host_path = host, .path = path, .writable = writable);
  return cay_mount(c->box->sandbox, &options, &err) == CAY_OK ? ok(c) : fail_status(c, &err);
}

enum answer rpc_unmount(call *c) {
  const char *path;
  cay_error err;
  if (!param_text(c, "path", true, &path)) return ANSWER_ERROR;
  return cay_unmount(c->box->sandbox, path, &err) == CAY_OK ? ok(c) : fail_status(c, &err);
}

enum answer rpc_env_set(call *c) {
  const char *name, *value = NULL;
  cay_error err;
  bool unset = yyjson_is_null(yyjson_obj_get(c->params, "value"));
  if (!param_text(c, "name", true, &name) || !param_text(c, "value", !unset, &value)) return ANSWER_ERROR;
  return cay_sandbox_setenv(c->box->sandbox, name, value, &err) == CAY_OK ? ok(c) : fail_status(c, &err);
}

static bool put_value(call *c, const cay_buf *value) {
  buf text = BUF_INIT(BUF_UNLIMITED);
  size_t used;
  bool fine = text_put_utf8(&text, value->data, value->len, false, &used) &&
              yyjson_mut_obj_add_strncpy(c->result, result_root(c), "value", buf_text(&text), text.len);
  buf_free(&text);
  return fine;
}

enum answer rpc_env_get(call *c) {
  const char *name;
  cay_buf value;
  cay_error err;
  if (!param_text(c, "name", true, &name)) return ANSWER_ERROR;
  switch (cay_sandbox_getenv(c->box->sandbox, name, &value, &err)) {
  case CAY_OK: break;
  case CAY_NOT_FOUND: yyjson_mut_obj_add_null(c->result, result_root(c), "value"); return ANSWER_RESULT;
  default: return fail_status(c, &err);
  }
  bool fine = put_value(c, &value);
  cay_buf_free(&value);
  return fine ? ANSWER_RESULT : fail(c, RPC_INTERNAL, "out of memory");
}
