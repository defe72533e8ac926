/* method_snapshot.c - snapshot.* and sandbox.fork: whole sandboxes, kept in the server under names. */
#include "base/alloc.h"
#include "base/error.h"
#include "serve/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

method_fn rpc_snapshot_take, rpc_snapshot_save, rpc_snapshot_load, rpc_snapshot_info, rpc_snapshot_list,
    rpc_snapshot_remove, rpc_snapshot_diff, rpc_sandbox_fork, rpc_sandbox_park, rpc_mount_changes,
    rpc_mount_patch, rpc_mount_apply;

enum { NAME_MAX_LEN = 128, SNAPSHOTS_MAX = 10000, PATCH_MAX = 64 << 20 };

/* ---- names ---- */

static void snapshot_forget(server *s, serve_snapshot *one) {
  list_remove(&one->in_server);
  s->snapshot_count--;
  cay_snapshot_free(one->snapshot);
  mem_free(one->name);
  mem_free(one);
}

typedef enum snapshot_state { SNAPSHOT_WAITS, SNAPSHOT_THERE, SNAPSHOT_FAILED } snapshot_state;

static snapshot_state snapshot_look(server *s, const serve_snapshot *one) {
  pthread_mutex_lock(&s->mu);
  snapshot_state state = one->failed             ? SNAPSHOT_FAILED
                         : one->snapshot == NULL ? SNAPSHOT_WAITS
                                                 : SNAPSHOT_THERE;
  pthread_mutex_unlock(&s->mu);
  return state;
}

/* In that state. Those that waited in vain are forgotten. */
static serve_snapshot *snapshot_find(server *s, const char *name, snapshot_state wanted) {
  serve_snapshot *found = NULL;
  LIST_EACH_SAFE (one, &s->snapshots, serve_snapshot, in_server) {
    snapshot_state state = snapshot_look(s, one);
    if (state == SNAPSHOT_FAILED)
      snapshot_forget(s, one);
    else if (state == wanted && strcmp(one->name, name) == 0)
      found = one;
  }
  return found;
}

serve_snapshot *snapshot_named(server *s, const char *name) { return snapshot_find(s, name, SNAPSHOT_THERE); }

void snapshots_free(server *s) {
  LIST_EACH_SAFE (one, &s->snapshots, serve_snapshot, in_server) snapshot_forget(s, one);
}

/* In the list; `snapshot` is set by the caller. NULL: no memory. */
static serve_snapshot *snapshot_reserve(server *s, const char *name) {
  serve_snapshot *one = mem_zalloc(sizeof *one);
  if (one != NULL) one->name = mem_strdup(name);
  if (one == NULL || one->name == NULL) {
    mem_free(one);
    return NULL;
  }
  list_push(&s->snapshots, &one->in_server);
  s->snapshot_count++;
  return one;
}

/* Takes the snapshot over, also on failure. One of this name is replaced. */
static cay_status snapshot_add(server *s, const char *name, cay_snapshot *snapshot, cay_error *err) {
  serve_snapshot *old = snapshot_named(s, name), *one = snapshot_reserve(s, name);
  if (one == NULL) {
    cay_snapshot_free(snapshot);
    return err_no_memory(err);
  }
  if (old != NULL) snapshot_forget(s, old);
  one->snapshot = snapshot;
  return CAY_OK;
}

/* A new name for a snapshot. The failure is written. */
static bool param_new_name(call *c, const char *member, const char **out) {
  *out = "";
  if (!param_text(c, member, true, out)) return false;
  if (**out == '\0' || strlen(*out) > NAME_MAX_LEN) {
    fail(c, RPC_INVALID_PARAMS, "%s: must have 1 to %d bytes", member, NAME_MAX_LEN);
    return false;
  }
  if (snapshot_find(c->server, *out, SNAPSHOT_WAITS) != NULL) {
    fail(c, RPC_SANDBOX_ERROR, "EEXIST: the snapshot \"%.100s\" is being taken", *out);
    return false;
  }
  if (snapshot_named(c->server, *out) != NULL || c->server->snapshot_count < SNAPSHOTS_MAX) return true;
  fail(c, RPC_SANDBOX_ERROR, "EDQUOT: the server keeps %d snapshots already", SNAPSHOTS_MAX);
  return false;
}

/* Called when all parameters were read. The failure is written. */
static serve_snapshot *find_snapshot(call *c, const char *name) {
  serve_snapshot *one = snapshot_named(c->server, name);
  if (one == NULL) fail(c, RPC_SANDBOX_ERROR, "ENOENT: there is no snapshot \"%.100s\"", name);
  return one;
}

static serve_snapshot *param_snapshot(call *c) {
  const char *name = "";
  return param_text(c, "name", true, &name) ? find_snapshot(c, name) : NULL;
}

/* ---- info ---- */

static bool put_id_in(call *c, yyjson_mut_val *to, const char *name, const uint8_t id[32]) {
  char hex[65];
  for (size_t i = 0; i < 32; i++) (void)snprintf(hex + 2 * i, 3, "%02x", id[i]);
  return yyjson_mut_obj_add_strcpy(c->doc, to, name, hex);
}

static bool put_id(call *c, const char *name, const uint8_t id[32]) {
  return put_id_in(c, c->result, name, id);
}

/* What makes a tree of the snapshots: each with its parent. */
static bool put_branch(call *c, yyjson_mut_val *to, const serve_snapshot *one) {
  static const uint8_t none[32];
  cay_snapshot_info info;
  cay_snapshot_info_get(one->snapshot, &info);
  return to != NULL && yyjson_mut_obj_add_strcpy(c->doc, to, "name", one->name) &&
         put_id_in(c, to, "id", info.id) &&
         (memcmp(info.parent, none, sizeof none) == 0 || put_id_in(c, to, "parent", info.parent)) &&
         yyjson_mut_obj_add_strcpy(c->doc, to, "label", info.label) &&
         yyjson_mut_obj_add_sint(c->doc, to, "createdMs", info.created_ns / 1000000);
}

static bool put_sessions(call *c, const cay_snapshot *s, size_t count) {
  yyjson_mut_val *list = yyjson_mut_obj_add_arr(c->doc, c->result, "sessions");
  for (size_t i = 0; i < count; i++) {
    cay_snapshot_session session;
    yyjson_mut_val *one = yyjson_mut_arr_add_obj(c->doc, list);
    (void)cay_snapshot_sessions(s, i, &session);
    if (!yyjson_mut_obj_add_strcpy(c->doc, one, "session", session.name) ||
        !yyjson_mut_obj_add_str(c->doc, one, "language", session.language))
      return false;
  }
  return true;
}

enum answer snapshot_answer(call *c, const cay_snapshot *s) {
  static const uint8_t none[32];
  cay_snapshot_info info;
  cay_snapshot_info_get(s, &info);
  bool fine = put_id(c, "id", info.id) &&
              (memcmp(info.parent, none, sizeof none) == 0 || put_id(c, "parent", info.parent)) &&
              yyjson_mut_obj_add_strcpy(c->doc, c->result, "label", info.label) &&
              yyjson_mut_obj_add_sint(c->doc, c->result, "createdMs", info.created_ns / 1000000) &&
              yyjson_mut_obj_add_uint(c->doc, c->result, "files", info.files) &&
              yyjson_mut_obj_add_uint(c->doc, c->result, "bytes", info.bytes) &&
              put_sessions(c, s, info.sessions);
  return fine ? ANSWER_RESULT : fail_memory(c);
}

/* ---- take, fork ---- */

/* A running process is refused, left out, or waited for by another thread: its end may depend on the next request. */
static bool read_how(call *c, cay_snapshot_options *how) {
  bool leave_out = false, sessions = true;
  *how = CAY_INIT(cay_snapshot_options);
  if (!param_bool(c, "leaveOut", &leave_out) || !param_bool(c, "sessions", &sessions) ||
      !param_text(c, "label", false, &how->label))
    return false;
  how->running = leave_out ? CAY_RUNNING_LEAVE_OUT : CAY_RUNNING_REFUSE;
  how->no_sessions = !sessions;
  return true;
}

static bool read_wait(call *c, cay_snapshot_options *how) {
  uint64_t wait_ms = 0;
  if (!param_number(c, "waitMs", 0, UINT32_MAX - 1, &wait_ms)) return false;
  if (wait_ms == 0) return true;
  if (how->running == CAY_RUNNING_LEAVE_OUT) {
    fail(c, RPC_INVALID_PARAMS, "waitMs: not with leaveOut");
    return false;
  }
  how->running = CAY_RUNNING_WAIT;
  how->wait_ms = (uint32_t)wait_ms;
  return true;
}

static enum answer snapshot_take_waiting(call *c, const char *name, const cay_snapshot_options *how) {
  cay_error err;
  if (snapshot_named(c->server, name) != NULL)
    return fail(c, RPC_SANDBOX_ERROR, "EEXIST: there is a snapshot \"%.100s\"; with waitMs none is replaced",
                name);
  serve_snapshot *one = snapshot_reserve(c->server, name);
  if (one == NULL) return fail_memory(c);
  return snapshot_take_later(c, one, how, &err) == CAY_OK ? ANSWER_LATER : fail_status(c, &err);
}

enum answer rpc_snapshot_take(call *c) {
  const char *name;
  cay_snapshot_options how;
  cay_snapshot *snapshot = NULL;
  cay_error err;
  if (!param_new_name(c, "name", &name) || !read_how(c, &how) || !read_wait(c, &how)) return ANSWER_ERROR;
  if (how.running == CAY_RUNNING_WAIT) return snapshot_take_waiting(c, name, &how);
  if (cay_snapshot_take(c->box->sandbox, &how, &snapshot, &err) != CAY_OK ||
      snapshot_add(c->server, name, snapshot, &err) != CAY_OK)
    return fail_status(c, &err);
  return snapshot_answer(c, snapshot);
}

enum answer rpc_sandbox_fork(call *c) {
  const char *to = NULL;
  cay_snapshot_options how;
  cay_snapshot *snapshot = NULL;
  cay_error err;
  if (!param_text(c, "to", true, &to) || !read_how(c, &how)) return ANSWER_ERROR;
  if (box_named(c->server, to) != NULL)
    return fail(c, RPC_SANDBOX_ERROR, "EEXIST: there is a sandbox of the id \"%.100s\" already", to);
  cay_status status = cay_snapshot_take(c->box->sandbox, &how, &snapshot, &err);
  if (status == CAY_OK) status = box_fork(c->box, to, snapshot, &err);
  cay_snapshot_free(snapshot);
  return answer_done(c, status, &err);
}

enum answer rpc_sandbox_park(call *c) {
  char path[SERVE_PATH_MAX] = "";
  cay_error err;
  if (!param_file(c, "path", false, path)) return ANSWER_ERROR;
  cay_status status = path[0] != '\0' ? cay_sandbox_park_to(c->box->sandbox, path, &err)
                                      : cay_sandbox_park(c->box->sandbox, &err);
  return answer_done(c, status, &err);
}

/* ---- save, load: files of this machine ---- */

static cay_status save_beside(const cay_snapshot *s, const cay_snapshot_save_options *how, const char *path,
                              char *beside, cay_error *err) {
  int fd = mkostemp(beside, O_CLOEXEC);
  if (fd < 0) return err_errno(err, errno, "%.150s", path);
  cay_status status = cay_snapshot_save_fd(s, how, fd, err);
  if (status == CAY_OK && fsync(fd) != 0) status = err_errno(err, errno, "%.150s", path);
  (void)close(fd);
  if (status == CAY_OK && rename(beside, path) != 0) status = err_errno(err, errno, "%.150s", path);
  if (status != CAY_OK) (void)unlink(beside);
  return status;
}

enum answer rpc_snapshot_save(call *c) {
  char path[SERVE_PATH_MAX], beside[SERVE_PATH_MAX + 8];
  cay_error err;
  const char *name = "", *dir = NULL;
  bool tar = false;
  if (!param_text(c, "name", true, &name) || !param_file(c, "path", true, path) ||
      !param_bool(c, "tar", &tar) || !param_text(c, "dir", false, &dir))
    return ANSWER_ERROR;
  if (dir != NULL && !tar) return fail(c, RPC_INVALID_PARAMS, "dir: is for archives (tar)");
  const serve_snapshot *one = find_snapshot(c, name);
  if (one == NULL) return ANSWER_ERROR;
  (void)snprintf(beside, sizeof beside, "%s.XXXXXX", path);
  const cay_snapshot_save_options how = CAY_INIT(
      cay_snapshot_save_options, .format = tar ? CAY_SNAPSHOT_TAR : CAY_SNAPSHOT_NATIVE, .path = dir);
  return answer_done(c, save_beside(one->snapshot, &how, path, beside, &err), &err);
}

enum answer rpc_snapshot_load(call *c) {
  const char *name, *wasm_dir = "", *dir = NULL;
  bool sessions = true;
  char path[SERVE_PATH_MAX];
  cay_engine *engine = NULL;
  cay_snapshot *snapshot = NULL;
  cay_error err;
  if (!param_new_name(c, "name", &name) || !param_file(c, "path", true, path) ||
      !param_text(c, "wasmDir", false, &wasm_dir) || !param_bool(c, "sessions", &sessions) ||
      !param_text(c, "dir", false, &dir))
    return ANSWER_ERROR;
  const cay_snapshot_load_options how =
      CAY_INIT(cay_snapshot_load_options, .no_sessions = !sessions, .path = dir);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  cay_status status = fd >= 0           ? engine_for(c->server, wasm_dir, "", &engine, &err)
                      : errno == ENOENT ? err_set(&err, CAY_NOT_FOUND, "there is no file %.150s", path)
                                        : err_errno(&err, errno, "%.150s", path);
  if (status == CAY_OK) status = cay_snapshot_load_fd(engine, &how, fd, &snapshot, &err);
  if (fd >= 0) (void)close(fd);
  if (status == CAY_OK) status = snapshot_add(c->server, name, snapshot, &err);
  return status == CAY_OK ? snapshot_answer(c, snapshot) : fail_status(c, &err);
}

/* ---- the rest ---- */

enum answer rpc_snapshot_info(call *c) {
  const serve_snapshot *one = param_snapshot(c);
  return one != NULL ? snapshot_answer(c, one->snapshot) : ANSWER_ERROR;
}

enum answer rpc_snapshot_list(call *c) {
  yyjson_mut_val *names = yyjson_mut_obj_add_arr(c->doc, c->result, "names");
  LIST_EACH (one, &c->server->snapshots, serve_snapshot, in_server) {
    if (snapshot_look(c->server, one) != SNAPSHOT_THERE) continue;
    if (!yyjson_mut_arr_add_strcpy(c->doc, names, one->name)) return fail_memory(c);
  }
  yyjson_mut_val *tree = yyjson_mut_obj_add_arr(c->doc, c->result, "snapshots");
  LIST_EACH (one, &c->server->snapshots, serve_snapshot, in_server) {
    if (snapshot_look(c->server, one) != SNAPSHOT_THERE) continue;
    if (!put_branch(c, yyjson_mut_arr_add_obj(c->doc, tree), one)) return fail_memory(c);
  }
  return ANSWER_RESULT;
}

enum answer rpc_snapshot_remove(call *c) {
  serve_snapshot *one = param_snapshot(c);
  if (one == NULL) return ANSWER_ERROR;
  snapshot_forget(c->server, one);
  return answer_ok(c);
}

/* ---- diff ---- */

typedef struct diffing {
  call *c;
  yyjson_mut_val *changes;
  buf patch;
  bool fine, mount;
} diffing;

static bool diff_change(void *ctx, const cay_change *change) {
  static const char *const kinds[] = {
    [CAY_ADDED] = "added", [CAY_REMOVED] = "removed", [CAY_CHANGED] = "changed"
  };
  diffing *d = ctx;
  yyjson_mut_val *one = yyjson_mut_arr_add_obj(d->c->doc, d->changes);
  d->fine = put_file_name(d->c->doc, one, "path", change->path, strlen(change->path)) &&
            yyjson_mut_obj_add_str(d->c->doc, one, "kind", kinds[change->kind]) &&
            yyjson_mut_obj_add_bool(d->c->doc, one, "contents", change->contents) &&
            (!d->mount || yyjson_mut_obj_add_bool(d->c->doc, one, "hostChanged", change->host_changed));
  return d->fine;
}

static bool diff_patch(void *ctx, cay_slice bytes) {
  diffing *d = ctx;
  d->fine = buf_append(&d->patch, bytes.data, bytes.len) == CAY_OK;
  return d->fine;
}

static cay_status diff_run(diffing *d, const cay_snapshot *from, const cay_snapshot *to, const char *path,
                           bool patch, cay_error *err) {
  const cay_diff_options o = CAY_INIT(cay_diff_options, .path = path);
  if (patch) return cay_snapshot_patch(from, to, &o, diff_patch, d, err);
  d->changes = yyjson_mut_obj_add_arr(d->c->doc, d->c->result, "changes");
  return cay_snapshot_diff(from, to, &o, diff_change, d, err);
}

static enum answer diff_answer(diffing *d, cay_status status, bool patch, const cay_error *err) {
  call *c = d->c;
  if (!d->fine && patch)
    return fail(c, RPC_SANDBOX_ERROR, "EFBIG: the patch is larger than %d bytes", PATCH_MAX);
  if (!d->fine) return fail_memory(c);
  if (status != CAY_OK) return fail_status(c, err);
  if (!patch || put_text(c->doc, c->result, "patch", buf_text(&d->patch), d->patch.len)) return ANSWER_RESULT;
  return fail_memory(c);
}

enum answer rpc_snapshot_diff(call *c) {
  const char *path = NULL;
  bool patch = false;
  cay_error err;
  const char *before = "", *after = "";
  if (!param_text(c, "from", true, &before) || !param_text(c, "to", true, &after) ||
      !param_text(c, "path", false, &path) || !param_bool(c, "patch", &patch))
    return ANSWER_ERROR;
  const serve_snapshot *from = find_snapshot(c, before), *to = from != NULL ? find_snapshot(c, after) : NULL;
  if (to == NULL) return ANSWER_ERROR;
  diffing d = { .c = c, .patch = BUF_INIT(PATCH_MAX), .fine = true };
  cay_status status = diff_run(&d, from->snapshot, to->snapshot, path, patch, &err);
  enum answer a = diff_answer(&d, status, patch, &err);
  buf_free(&d.patch);
  return a;
}

/* ---- copy-on-write mounts ---- */

static enum answer mount_diff(call *c, bool patch) {
  char path[SERVE_PATH_MAX];
  cay_error err;
  if (!param_path(c, "path", path)) return ANSWER_ERROR;
  diffing d = { .c = c, .patch = BUF_INIT(PATCH_MAX), .fine = true, .mount = true };
  if (!patch) d.changes = yyjson_mut_obj_add_arr(c->doc, c->result, "changes");
  cay_status status = patch ? cay_mount_patch(c->box->sandbox, path, diff_patch, &d, &err)
                            : cay_mount_changes(c->box->sandbox, path, diff_change, &d, &err);
  enum answer a = diff_answer(&d, status, patch, &err);
  buf_free(&d.patch);
  return a;
}

enum answer rpc_mount_changes(call *c) { return mount_diff(c, false); }
enum answer rpc_mount_patch(call *c) { return mount_diff(c, true); }

/* `path` itself, or a directory that it is in. */
static bool apply_names(const char *name, size_t len, const char *path) {
  while (len > 0 && name[len - 1] == '/') len--;
  return strncmp(name, path, len) == 0 && (path[len] == '\0' || path[len] == '/' || len == 0);
}

static bool apply_agree(void *ctx, const cay_change *change) {
  for (const char **only = ctx; *only != NULL; only++)
    if (apply_names(*only, strlen(*only), change->path)) return true;
  return false;
}

enum answer rpc_mount_apply(call *c) {
  char path[SERVE_PATH_MAX];
  const char **only = NULL;
  cay_error err;
  size_t count = 0;
  if (!param_path(c, "path", path) || !param_texts(c, "only", &only)) return ANSWER_ERROR;
  const cay_apply_options options =
      CAY_INIT(cay_apply_options, .agree = only != NULL ? apply_agree : NULL, .ctx = only);
  cay_status status = cay_mount_apply(c->box->sandbox, path, &options, &count, &err);
  mem_free(only);
  if (status != CAY_OK) return fail_status(c, &err);
  return yyjson_mut_obj_add_uint(c->doc, c->result, "applied", count) ? ANSWER_RESULT : fail_memory(c);
}
