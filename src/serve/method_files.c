/* method_files.c - files.*: one file at a time; contents in base64. */
#include "base/alloc.h"
#include "base/base64.h"
#include "serve/server.h"

#include <string.h>

method_fn rpc_files_write, rpc_files_read, rpc_files_mkdir, rpc_files_rm, rpc_files_rename, rpc_files_symlink,
    rpc_files_install;

enum { PART_MAX = 32 << 20 };

/* ---- contents ---- */

struct writing {
  char path[SERVE_PATH_MAX];
  uint64_t mode, offset;
  bool append, part;
};

static bool read_writing(call *c, struct writing *w) {
  w->offset = UINT64_MAX;
  if (!param_path(c, "path", w->path) || !param_number(c, "mode", 0, 07777, &w->mode) ||
      !param_number(c, "offset", 0, INT64_MAX, &w->offset) || !param_bool(c, "append", &w->append))
    return false;
  w->part = w->append || w->offset != UINT64_MAX;
  if (w->append && w->offset != UINT64_MAX) {
    fail(c, RPC_INVALID_PARAMS, "append and offset exclude each other");
    return false;
  }
  return true;
}

static cay_status write_part(cay_sandbox *box, const struct writing *w, cay_slice bytes, cay_error *err) {
  cay_status status = cay_file_write_at(box, w->path, w->offset, bytes, err);
  if (status != CAY_NOT_FOUND) return status;
  status = cay_file_write(box, w->path, (cay_slice){ 0 }, (uint32_t)w->mode, err);
  return status == CAY_OK ? cay_file_write_at(box, w->path, w->offset, bytes, err) : status;
}

enum answer rpc_files_write(call *c) {
  const char *data = NULL;
  size_t len = 0;
  struct writing w = { 0 };
  if (!read_writing(c, &w) || !param_text_len(c, "data", true, &data, &len)) return ANSWER_ERROR;
  cay_buf bytes = { 0 };
  cay_status status = base64_decode_new(data, len, &bytes);
  if (status == CAY_NO_MEMORY) return fail_memory(c);
  if (status != CAY_OK) return fail(c, RPC_INVALID_PARAMS, "data: is not base64");
  cay_error err;
  cay_slice slice = { bytes.data, bytes.len };
  status = w.part ? write_part(c->box->sandbox, &w, slice, &err)
                  : cay_file_write(c->box->sandbox, w.path, slice, (uint32_t)w.mode, &err);
  mem_free(bytes.data);
  return answer_done(c, status, &err);
}

static enum answer answer_data(call *c, const void *data, size_t len) {
  return put_base64(c->doc, c->result, "data", &c->kept, data, len) ? ANSWER_RESULT : fail_memory(c);
}

/* From *offset to the first data at or after it, and of *length what there is up to the next hole. The answer says where
 * that begins, and how long the file is. */
static bool files_skip_hole(call *c, const char *path, uint64_t *offset, uint64_t *length) {
  uint64_t start = 0, end = 0;
  cay_stat st;
  cay_error err;
  if (cay_file_stat(c->box->sandbox, path, &st, &err) != CAY_OK ||
      cay_file_next_data(c->box->sandbox, path, *offset, &start, &end, &err) != CAY_OK) {
    fail_status(c, &err);
    return false;
  }
  if (start > *offset) *offset = start;
  if (end > *offset && end - *offset < *length) *length = end - *offset;
  if (yyjson_mut_obj_add_uint(c->doc, c->result, "offset", *offset) &&
      yyjson_mut_obj_add_uint(c->doc, c->result, "size", st.len))
    return true;
  fail_memory(c);
  return false;
}

static enum answer read_part(call *c, const char *path, uint64_t offset, uint64_t length, bool skip_holes) {
  if (skip_holes && !files_skip_hole(c, path, &offset, &length)) return ANSWER_ERROR;
  uint8_t *bytes = mem_alloc((size_t)length);
  if (bytes == NULL) return fail_memory(c);
  size_t got = 0;
  cay_error err;
  cay_status status = cay_file_read_at(c->box->sandbox, path, offset, bytes, (size_t)length, &got, &err);
  enum answer a = status == CAY_OK ? answer_data(c, bytes, got) : fail_status(c, &err);
  mem_free(bytes);
  return a;
}

enum answer rpc_files_read(call *c) {
  char path[SERVE_PATH_MAX];
  uint64_t offset = 0, length = UINT64_MAX, limit = c->box->disk_max;
  bool skip_holes = false;
  if (!param_path(c, "path", path) || !param_number(c, "offset", 0, INT64_MAX, &offset) ||
      !param_number(c, "length", 0, PART_MAX, &length) || !param_number(c, "limit", 0, INT64_MAX, &limit) ||
      !param_bool(c, "skipHoles", &skip_holes))
    return ANSWER_ERROR;
  if (length != UINT64_MAX) return read_part(c, path, offset, length, skip_holes);
  if (skip_holes) return fail(c, RPC_INVALID_PARAMS, "skipHoles: only with length");
  cay_buf bytes = { 0 };
  cay_error err;
  if (cay_file_read_max(c->box->sandbox, path, limit, &bytes, &err) != CAY_OK) return fail_status(c, &err);
  cay_slice wanted = { bytes.data, bytes.len };
  if (offset >= bytes.len)
    wanted.len = 0;
  else if (offset != 0)
    wanted = (cay_slice){ (const char *)bytes.data + offset, bytes.len - (size_t)offset };
  enum answer a = answer_data(c, wanted.data, wanted.len);
  cay_buf_free(&bytes);
  return a;
}

/* ---- names ---- */

enum answer rpc_files_mkdir(call *c) {
  char path[SERVE_PATH_MAX];
  bool parents = false;
  cay_error err;
  if (!param_path(c, "path", path) || !param_bool(c, "parents", &parents)) return ANSWER_ERROR;
  return answer_done(c, cay_file_mkdir(c->box->sandbox, path, parents, &err), &err);
}

enum answer rpc_files_rm(call *c) {
  char path[SERVE_PATH_MAX];
  bool recursive = false;
  cay_error err;
  if (!param_path(c, "path", path) || !param_bool(c, "recursive", &recursive)) return ANSWER_ERROR;
  return answer_done(c, cay_file_remove(c->box->sandbox, path, recursive, &err), &err);
}

enum answer rpc_files_install(call *c) {
  char path[SERVE_PATH_MAX];
  cay_error err;
  if (!param_file(c, "hostPath", true, path)) return ANSWER_ERROR;
  return answer_done(c, cay_sandbox_install(c->box->sandbox, path, &err), &err);
}

enum answer rpc_files_rename(call *c) {
  char from[SERVE_PATH_MAX], to[SERVE_PATH_MAX];
  cay_error err;
  if (!param_path(c, "from", from) || !param_path(c, "to", to)) return ANSWER_ERROR;
  return answer_done(c, cay_file_rename(c->box->sandbox, from, to, &err), &err);
}

enum answer rpc_files_symlink(call *c) {
  char target[SERVE_PATH_MAX], path[SERVE_PATH_MAX];
  cay_error err;
  if (!param_file(c, "target", true, target) || !param_path(c, "path", path)) return ANSWER_ERROR;
  cay_status status = cay_file_symlink(c->box->sandbox, target, path, &err);
  return answer_done(c, status, &err);
}
