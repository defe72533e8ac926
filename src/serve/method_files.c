/* method_files.c - files.*: the sandbox's files, contents in base64. */
#include "base/alloc.h"
#include "serve/server.h"
#include "serve/text.h"

#include <string.h>

method_fn rpc_files_write, rpc_files_read, rpc_files_list, rpc_files_mkdir, rpc_files_rm, rpc_files_stat,
    rpc_files_rename;

static enum answer ok(call *c) {
  yyjson_mut_obj_add_bool(c->result, result_root(c), "ok", true);
  return ANSWER_RESULT;
}

static enum answer done(call *c, cay_status status, const cay_error *err) {
  return status == CAY_OK ? ok(c) : fail_status(c, err);
}

/* ---- contents ---- */

enum answer rpc_files_write(call *c) {
  const char *path, *data;
  size_t len;
  uint64_t mode = 0, offset = UINT64_MAX;
  bool append = false;
  if (!param_text(c, "path", true, &path) || !param_text_len(c, "data", true, &data, &len) ||
      !param_number(c, "mode", 0, 07777, &mode) || !param_number(c, "offset", 0, INT64_MAX, &offset) ||
      !param_bool(c, "append", &append))
    return ANSWER_ERROR;
  cay_buf bytes = { 0 };
  cay_status status = text_from_base64(data, len, &bytes);
  if (status == CAY_NO_MEMORY) return fail(c, RPC_INTERNAL, "out of memory");
  if (status != CAY_OK) return fail(c, RPC_INVALID_PARAMS, "data: is not base64");
  cay_error err;
  cay_slice slice = { bytes.data, bytes.len };
  if (append || offset != UINT64_MAX)
    status = cay_file_write_at(c->box->sandbox, path, append ? UINT64_MAX : offset, slice, &err);
  else
    status = cay_file_write(c->box->sandbox, path, slice, (uint32_t)mode, &err);
  mem_free(bytes.data);
  return done(c, status, &err);
}

static enum answer put_data(call *c, const void *data, size_t len) {
  buf text = BUF_INIT(BUF_UNLIMITED);
  bool fine = text_put_base64(&text, data, len) &&
              yyjson_mut_obj_add_strncpy(c->result, result_root(c), "data", buf_text(&text), text.len);
  buf_free(&text);
  return fine ? ANSWER_RESULT : fail(c, RPC_INTERNAL, "out of memory");
}

static enum answer read_part(call *c, const char *path, uint64_t offset, uint64_t length) {
  uint8_t *bytes = mem_alloc((size_t)length);
  if (bytes == NULL) return fail(c, RPC_INTERNAL, "out of memory");
  size_t got = 0;
  cay_error err;
  cay_status status = cay_file_read_at(c->box->sandbox, path, offset, bytes, (size_t)length, &got, &err);
  enum answer a = status == CAY_OK ? put_data(c, bytes, got) : fail_status(c, &err);
  mem_free(bytes);
  return a;
}

enum answer rpc_files_read(call *c) {
  const char *path;
  uint64_t offset = 0, length = UINT64_MAX;
  if (!param_text(c, "path", true, &path) || !param_number(c, "offset", 0, INT64_MAX, &offset) ||
      !param_number(c, "length", 0, 32 << 20, &length))
    return ANSWER_ERROR;
  if (length != UINT64_MAX) return read_part(c, path, offset, length);
  cay_buf bytes;
  cay_error err;
  if (cay_file_read(c->box->sandbox, path, &bytes, &err) != CAY_OK) return fail_status(c, &err);
  size_t skip = offset < bytes.len ? (size_t)offset : bytes.len;
  enum answer a = put_data(c, (const char *)bytes.data + skip, bytes.len - skip);
  cay_buf_free(&bytes);
  return a;
}

/* ---- names ---- */

static const char *type_of(cay_kind kind) {
  switch (kind) {
  case CAY_FILE: return "file";
  case CAY_DIR: return "dir";
  case CAY_LINK: return "link";
  case CAY_OTHER: break;
  }
  return "other";
}

static bool put_name(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *name) {
  buf text = BUF_INIT(BUF_UNLIMITED);
  size_t used;
  bool fine = text_put_utf8(&text, name, strlen(name), false, &used) &&
              yyjson_mut_obj_add_strncpy(doc, object, "name", buf_text(&text), text.len);
  buf_free(&text);
  return fine;
}

static bool put_stat(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *name, const cay_stat *st) {
  return put_name(doc, object, name) && yyjson_mut_obj_add_str(doc, object, "type", type_of(st->kind)) &&
         yyjson_mut_obj_add_uint(doc, object, "size", st->len) &&
         yyjson_mut_obj_add_uint(doc, object, "mode", st->mode) &&
         yyjson_mut_obj_add_int(doc, object, "mtimeMs", st->mtime_ns / 1000000);
}

struct listing {
  call *c;
  yyjson_mut_val *entries;
  const char *root;  /* the directory asked for */
  const char *below; /* relative to it, with a '/' at the end, or "" */
  buf later;         /* directories still to be listed: names relative to root, each with a NUL */
  bool recursive, no_memory;
};

static bool add_entry(void *ctx, const char *name, const cay_stat *st) {
  struct listing *l = ctx;
  char relative[4096];
  snprintf(relative, sizeof relative, "%s%s", l->below, name);
  yyjson_mut_val *entry = yyjson_mut_arr_add_obj(l->c->result, l->entries);
  bool fine = entry != NULL && put_stat(l->c->result, entry, relative, st);
  if (fine && l->recursive && st->kind == CAY_DIR)
    fine = buf_append(&l->later, relative, strlen(relative) + 1) == CAY_OK;
  l->no_memory = !fine;
  return fine;
}

/* Breadth first, without recursion: the list of what is left grows with the directories, not with their
 * depth. */
static enum answer list_below(struct listing *l) {
  char relative[4096] = "", path[8192];
  size_t next = 0;
  for (;;) {
    cay_error err;
    l->below = relative;
    snprintf(path, sizeof path, "%s%s%s", l->root, relative[0] != '\0' ? "/" : "", relative);
    cay_status status = cay_file_list(l->c->box->sandbox, path, add_entry, l, &err);
    if (l->no_memory) return fail(l->c, RPC_INTERNAL, "out of memory");
    if (status != CAY_OK && (relative[0] == '\0' || status != CAY_NOT_FOUND)) return fail_status(l->c, &err);
    if (next >= l->later.len) return ANSWER_RESULT;
    const char *name = (const char *)l->later.data + next;
    next += strlen(name) + 1;
    if (strlen(name) + 2 > sizeof relative)
      return fail(l->c, RPC_SANDBOX_ERROR, "ENAMETOOLONG: %.100s: file name too long", name);
    snprintf(relative, sizeof relative, "%s/", name);
  }
}

enum answer rpc_files_list(call *c) {
  const char *path;
  bool recursive = false;
  if (!param_text(c, "path", true, &path) || !param_bool(c, "recursive", &recursive)) return ANSWER_ERROR;
  if (strlen(path) >= 4096)
    return fail(c, RPC_SANDBOX_ERROR, "ENAMETOOLONG: %.100s...: file name too long", path);
  struct listing l = { .c = c, .root = path, .recursive = recursive, .later = BUF_INIT(BUF_UNLIMITED) };
  l.entries = yyjson_mut_obj_add_arr(c->result, result_root(c), "entries");
  enum answer a = l.entries != NULL ? list_below(&l) : fail(c, RPC_INTERNAL, "out of memory");
  buf_free(&l.later);
  return a;
}

enum answer rpc_files_stat(call *c) {
  const char *path;
  if (!param_text(c, "path", true, &path)) return ANSWER_ERROR;
  cay_stat st;
  cay_error err;
  if (cay_file_stat(c->box->sandbox, path, &st, &err) != CAY_OK) return fail_status(c, &err);
  char name[256];
  size_t end = strlen(path);
  while (end > 1 && path[end - 1] == '/') end--;
  size_t start = end;
  while (start > 0 && path[start - 1] != '/') start--;
  snprintf(name, sizeof name, "%.*s", (int)(end - start), path + start);
  if (name[0] == '\0') snprintf(name, sizeof name, "/");
  return put_stat(c->result, result_root(c), name, &st) ? ANSWER_RESULT
                                                        : fail(c, RPC_INTERNAL, "out of memory");
}

enum answer rpc_files_mkdir(call *c) {
  const char *path;
  bool parents = false;
  cay_error err;
  if (!param_text(c, "path", true, &path) || !param_bool(c, "parents", &parents)) return ANSWER_ERROR;
  return done(c, cay_file_mkdir(c->box->sandbox, path, parents, &err), &err);
}

enum answer rpc_files_rm(call *c) {
  const char *path;
  bool recursive = false;
  cay_error err;
  if (!param_text(c, "path", true, &path) || !param_bool(c, "recursive", &recursive)) return ANSWER_ERROR;
  return done(c, cay_file_remove(c->box->sandbox, path, recursive, &err), &err);
}

enum answer rpc_files_rename(call *c) {
  const char *from, *to;
  cay_error err;
  if (!param_text(c, "from", true, &from) || !param_text(c, "to", true, &to)) return ANSWER_ERROR;
  return done(c, cay_file_rename(c->box->sandbox, from, to, &err), &err);
}
