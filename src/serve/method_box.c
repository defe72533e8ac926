/* method_box.c - sandboxes: protocol, create, destroy, kill, usage. */
#include "base/alloc.h"
#include "base/error.h"
#include "serve/net.h"
#include "serve/python.h"
#include "serve/snapshot.h"

#include <string.h>
#include <unistd.h>

method_fn rpc_protocol, rpc_create, rpc_destroy, rpc_kill, rpc_usage;

enum { PROTOCOL = 1, OUTPUT_KEPT = 16 << 20, DISK_DEFAULT = 256 << 20 };

/* ---- the protocol itself ---- */

static bool put_methods(call *c) {
  yyjson_mut_val *names = yyjson_mut_obj_add_arr(c->doc, c->result, "methods");
  size_t count;
  const method *table = method_table(&count);
  for (size_t i = 0; i < count; i++)
    if (!yyjson_mut_arr_add_str(c->doc, names, table[i].name)) return false;
  return true;
}

enum answer rpc_protocol(call *c) {
  bool fine = yyjson_mut_obj_add_str(c->doc, c->result, "name", "cay") &&
              yyjson_mut_obj_add_str(c->doc, c->result, "version", cay_version()) &&
              yyjson_mut_obj_add_int(c->doc, c->result, "protocol", PROTOCOL) &&
              yyjson_mut_obj_add_uint(c->doc, c->result, "lineMax", c->server->options.line_max) &&
              put_methods(c);
  return fine ? ANSWER_RESULT : fail_memory(c);
}

enum answer rpc_kill(call *c) { return answer_ok(c) == ANSWER_RESULT ? ANSWER_QUIT : ANSWER_ERROR; }

/* ---- engines: one for each folder of guests and each installed image ---- */

void engine_free(serve_engine *e) {
  cay_engine_free(e->engine);
  mem_free(e->guest_dir);
  mem_free(e->image);
  mem_free(e);
}

static cay_status engine_new(server *s, const char *guest_dir, const char *image, serve_engine **out,
                             cay_error *err) {
  serve_engine *e = mem_zalloc(sizeof *e);
  if (e == NULL) return err_no_memory(err);
  e->guest_dir = mem_strdup(guest_dir);
  e->image = mem_strdup(image);
  cay_engine_options options =
      CAY_INIT(cay_engine_options, .guest_dir = guest_dir[0] != '\0' ? guest_dir : s->options.guest_dir,
               .cache_dir = s->options.cache_dir, .log = s->options.log, .log_ctx = s->options.log_ctx,
               .image = image[0] != '\0' ? image : NULL);
  cay_status status = e->guest_dir != NULL && e->image != NULL ? cay_engine_new(&options, &e->engine, err)
                                                               : err_no_memory(err);
  if (status != CAY_OK) {
    engine_free(e);
    return status;
  }
  *out = e;
  return CAY_OK;
}

cay_status engine_for(server *s, const char *guest_dir, const char *image, cay_engine **out, cay_error *err) {
  serve_engine *e = NULL;
  LIST_EACH (known, &s->engines, serve_engine, in_server) {
    if (strcmp(known->guest_dir, guest_dir) == 0 && strcmp(known->image, image) == 0) e = known;
  }
  if (e == NULL) {
    S_TRY(engine_new(s, guest_dir, image, &e, err));
    list_push(&s->engines, &e->in_server);
  }
  *out = e->engine;
  return CAY_OK;
}

/* ---- create and destroy: on the reading thread only, so no other thread changes the lists ---- */

serve_box *box_named(server *s, const char *name) {
  LIST_EACH (b, &s->boxes, serve_box, in_server) {
    if (strcmp(b->name, name) == 0) return b;
  }
  return NULL;
}

void box_free(serve_box *box) {
  cay_sandbox_free(box->sandbox);
  cay_image_free(box->image);
  sinks_free(box);
  mem_free(box->name);
  mem_free(box);
}

struct wanted {
  const char *name, *wasm_dir;
  cay_limits limits;
  uint64_t timeout;
  char **env;
  const char **packages;      /* NULL ended; NULL: none */
  const char *snapshot;       /* the name of one of the server's; NULL: none */
  char image[SERVE_PATH_MAX]; /* "": the standard one */
  net_wanted net;
};

static cay_status box_restore(server *s, const char *name, const cay_sandbox_options *options, serve_box *box,
                              cay_error *err) {
  const serve_snapshot *one = snapshot_named(s, name);
  if (one == NULL) return err_set(err, CAY_NOT_FOUND, "there is no snapshot \"%.100s\"", name);
  S_TRY(cay_snapshot_restore(one->snapshot, options, &box->sandbox, err));
  return sessions_resume(box, one->snapshot, err);
}

static cay_status box_image_try(serve_box *box, const char *language, const char *path, cay_error *err) {
  box->image_language = language;
  return cay_image_load(box->engine, language, path, &box->image, err);
}

/* The image is Python's or JavaScript's; the error is that of Python. */
static cay_status box_image_load(serve_box *box, const char *path, cay_error *err) {
  cay_error other;
  cay_status status = box_image_try(box, "python", path, err);
  if (status != CAY_UNSUPPORTED) return status;
  return box_image_try(box, "javascript", path, &other) == CAY_OK ? CAY_OK : CAY_UNSUPPORTED;
}

/* The image of a file fits the standard interpreter or that of an installed image. */
static cay_status box_image_file(server *s, const struct wanted *w, serve_box *box, cay_error *err) {
  static const char *const bases[] = { "science" };
  cay_error other;
  S_TRY(engine_for(s, w->wasm_dir, "", &box->engine, err));
  cay_status status = box_image_load(box, w->image, err);
  for (size_t i = 0; i < COUNT_OF(bases) && status == CAY_UNSUPPORTED; i++)
    if (engine_for(s, w->wasm_dir, bases[i], &box->engine, &other) == CAY_OK &&
        box_image_load(box, w->image, &other) == CAY_OK)
      return CAY_OK;
  return status;
}

/* A name is that of an installed image, or else of a file in the working directory. */
static cay_status box_engine(server *s, const struct wanted *w, serve_box *box, cay_error *err) {
  if (w->image[0] == '\0') return engine_for(s, w->wasm_dir, "", &box->engine, err);
  if (!cay_image_is_name(w->image)) return box_image_file(s, w, box, err);
  cay_status status = engine_for(s, w->wasm_dir, w->image, &box->engine, err);
  return status == CAY_NOT_FOUND && access(w->image, F_OK) == 0 ? box_image_file(s, w, box, err) : status;
}

static cay_status new_sandbox(server *s, const struct wanted *w, serve_box *box, cay_error *err) {
  S_TRY(box_engine(s, w, box, err));
  cay_packages *packages = NULL;
  if (w->packages != NULL) S_TRY(cay_packages_open(box->engine, w->packages, &packages, err));
  cay_sandbox_options options = CAY_INIT(cay_sandbox_options, .limits = &w->limits,
                                         .env = (const char *const *)w->env, .packages = packages);
  cay_net_options net = net_wanted_options(&w->net, box);
  if (w->net.given) options.net = &net;
  cay_status status = w->snapshot != NULL ? box_restore(s, w->snapshot, &options, box, err)
                                          : cay_sandbox_new(box->engine, &options, &box->sandbox, err);
  cay_packages_free(packages);
  return status;
}

static cay_status add_box(server *s, const struct wanted *w, cay_error *err) {
  serve_box *box = mem_zalloc(sizeof *box);
  if (box == NULL) return err_no_memory(err);
  list_init(&box->sinks);
  list_init(&box->sessions);
  box->server = s;
  box->timeout_ms = (uint32_t)w->timeout;
  box->output_max = (size_t)w->limits.output;
  box->disk_max = w->limits.disk;
  box->name = mem_strdup(w->name);
  cay_status status = box->name != NULL ? new_sandbox(s, w, box, err) : err_no_memory(err);
  if (status != CAY_OK) {
    sessions_end(s, box);
    box_free(box);
    return status;
  }
  list_push(&s->boxes, &box->in_server);
  server_log(s, CAY_LOG_INFO, "a sandbox was made, id \"%.60s\"", w->name);
  return CAY_OK;
}

cay_status box_fork(const serve_box *from, const char *to, cay_snapshot *snapshot, cay_error *err) {
  server *s = from->server;
  serve_box *box = mem_zalloc(sizeof *box);
  if (box == NULL) return err_no_memory(err);
  *box = (serve_box){ .server = s,
                      .engine = from->engine,
                      .timeout_ms = from->timeout_ms,
                      .output_max = from->output_max,
                      .disk_max = from->disk_max };
  list_init(&box->sinks);
  list_init(&box->sessions);
  box->name = mem_strdup(to);
  cay_status status =
      box->name != NULL ? cay_snapshot_restore(snapshot, NULL, &box->sandbox, err) : err_no_memory(err);
  if (status == CAY_OK) status = sessions_resume(box, snapshot, err);
  if (status != CAY_OK) {
    sessions_end(s, box);
    box_free(box);
    return status;
  }
  list_push(&s->boxes, &box->in_server);
  server_log(s, CAY_LOG_INFO, "a sandbox was forked, id \"%.60s\"", to);
  return CAY_OK;
}

static bool box_read_wanted(call *c, struct wanted *w) {
  /* The server keeps the deadline of each run, which may be later than that of create. */
  w->limits = CAY_INIT(cay_limits, .wall_ms = UINT32_MAX, .output = OUTPUT_KEPT, .disk = DISK_DEFAULT);
  w->name = w->wasm_dir = "";
  w->timeout = 30000;
  uint64_t processes = 0, background = 0;
  bool fine = param_text(c, "id", false, &w->name) && param_text(c, "wasmDir", false, &w->wasm_dir) &&
              param_number(c, "timeoutMs", 1, UINT32_MAX - 1, &w->timeout) &&
              param_number(c, "fsLimitBytes", 1, UINT64_C(1) << 46, &w->limits.disk) &&
              param_number(c, "memoryLimitBytes", 1, UINT64_C(1) << 40, &w->limits.memory) &&
              param_number(c, "outputLimitBytes", 1, UINT64_C(1) << 30, &w->limits.output) &&
              param_number(c, "fuelLimit", 1, UINT64_MAX / 2, &w->limits.fuel) &&
              param_number(c, "codeLimitBytes", 1, UINT64_C(1) << 46, &w->limits.code) &&
              param_number(c, "cpuMs", 1, UINT64_MAX / 2, &w->limits.cpu_ms) &&
              param_number(c, "backgroundMs", 1, UINT32_MAX - 1, &background) &&
              param_number(c, "processLimit", 1, 10000, &processes) && param_env(c, "env", &w->env) &&
              param_file(c, "image", false, w->image) && param_texts(c, "packages", &w->packages) &&
              param_text(c, "snapshot", false, &w->snapshot) && net_wanted_read(c, &w->net);
  w->limits.processes = (uint32_t)processes;
  w->limits.background_ms = (uint32_t)background;
  return fine;
}

enum answer rpc_create(call *c) {
  struct wanted w = { 0 };
  cay_error err;
  if (!box_read_wanted(c, &w)) {
    param_env_free(w.env);
    net_wanted_free(&w.net);
    return ANSWER_ERROR;
  }
  enum answer a;
  if (box_named(c->server, w.name) == NULL)
    a = answer_done(c, add_box(c->server, &w, &err), &err);
  else if (w.name[0] == '\0')
    a = fail(c, RPC_SANDBOX_ERROR, "EEXIST: the sandbox was created already");
  else
    a = fail(c, RPC_SANDBOX_ERROR, "EEXIST: there is a sandbox of the id \"%.100s\" already", w.name);
  param_env_free(w.env);
  net_wanted_free(&w.net);
  mem_free(w.packages);
  return a;
}

enum answer rpc_destroy(call *c) {
  serve_box *box = c->box;
  runs_end(c->server, box, -1);
  sessions_end(c->server, box);
  snapshot_takes_end(c->server, box);
  list_remove(&box->in_server);
  box_free(box);
  return answer_ok(c);
}

/* ---- usage ---- */

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
    { "processesPeak", u.processes_peak },
    { "syscalls", u.syscalls },
    { "unknownSyscalls", u.unknown_syscalls },
    { "forks", u.forks },
    { "execs", u.execs },
    { "codeBytes", u.code },
    { "cpuMs", u.cpu_ms },
  };
  for (size_t i = 0; i < COUNT_OF(fields); i++)
    if (!yyjson_mut_obj_add_uint(c->doc, c->result, fields[i].name, fields[i].value)) return fail_memory(c);
  return ANSWER_RESULT;
}
