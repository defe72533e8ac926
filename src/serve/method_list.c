/* method_list.c - files.list and files.stat. */
#include "serve/server.h"

#include <stdio.h>
#include <string.h>

method_fn rpc_files_list, rpc_files_stat;

enum { NAME_ROOM = 4096 };

static const char *list_type_of(cay_kind kind) {
  switch (kind) {
  case CAY_FILE: return "file";
  case CAY_DIR: return "dir";
  case CAY_LINK: return "link";
  case CAY_OTHER: break;
  }
  return "other";
}

static bool put_stat(call *c, yyjson_mut_val *object, const char *name, const cay_stat *st) {
  return put_file_name(c->doc, object, "name", name, strlen(name)) &&
         yyjson_mut_obj_add_str(c->doc, object, "type", list_type_of(st->kind)) &&
         yyjson_mut_obj_add_uint(c->doc, object, "size", st->len) &&
         yyjson_mut_obj_add_uint(c->doc, object, "mode", st->mode) &&
         yyjson_mut_obj_add_int(c->doc, object, "mtimeMs", st->mtime_ns / 1000000);
}

/* ---- listing ---- */

struct listing {
  call *c;
  yyjson_mut_val *entries;
  const char *root;  /* the directory asked for */
  const char *below; /* relative to it, with a '/' at the end, or "" */
  buf later;         /* directories still to be listed: names relative to root, each with a NUL */
  buf links;         /* of the directory being listed: names, likewise */
  bool recursive, no_memory;
};

static bool list_add_entry(void *ctx, const char *name, const cay_stat *st) {
  struct listing *l = ctx;
  char relative[2 * NAME_ROOM];
  (void)snprintf(relative, sizeof relative, "%s%s", l->below, name);
  yyjson_mut_val *entry = yyjson_mut_arr_add_obj(l->c->doc, l->entries);
  bool fine = entry != NULL && put_stat(l->c, entry, relative, st);
  if (fine && l->recursive && st->kind == CAY_DIR)
    fine = buf_append(&l->later, relative, strlen(relative) + 1) == CAY_OK;
  if (fine && st->kind == CAY_LINK) {
    fine = buf_append(&l->links, &entry, sizeof entry) == CAY_OK &&
           buf_append(&l->links, relative, strlen(relative) + 1) == CAY_OK;
  }
  l->no_memory = !fine;
  return fine;
}

/* Targets are read after the listing: its callback is not the place to ask for more. One that went away
 * meanwhile has none. */
static bool add_targets(struct listing *l) {
  char path[SERVE_PATH_MAX + 2 * NAME_ROOM];
  for (size_t at = 0; at < l->links.len;) {
    yyjson_mut_val *entry;
    memcpy(&entry, l->links.data + at, sizeof entry);
    at += sizeof entry;
    const char *name = (const char *)l->links.data + at;
    at += strlen(name) + 1;
    (void)snprintf(path, sizeof path, "%s/%s", l->root, name);
    cay_buf target = { 0 };
    if (cay_file_readlink(l->c->box->sandbox, path, &target, NULL) != CAY_OK) continue;
    bool fine = put_file_name(l->c->doc, entry, "target", target.data, target.len);
    cay_buf_free(&target);
    if (!fine) return false;
  }
  buf_clear(&l->links);
  return true;
}

static enum answer serve_list_one(struct listing *l, bool is_root) {
  char path[SERVE_PATH_MAX + NAME_ROOM + 1];
  cay_error err;
  (void)snprintf(path, sizeof path, "%s%s%s", l->root, is_root ? "" : "/", l->below);
  cay_status status = cay_file_list(l->c->box->sandbox, path, list_add_entry, l, &err);
  if (l->no_memory || (status == CAY_OK && !add_targets(l))) return fail_memory(l->c);
  if (status == CAY_OK || (!is_root && status == CAY_NOT_FOUND)) return ANSWER_RESULT;
  return fail_status(l->c, &err);
}

/* Breadth first, without recursion: the list of pending directories grows with their number, not with their
 * depth. */
static enum answer serve_list_all(struct listing *l) {
  char relative[NAME_ROOM] = "";
  l->below = relative;
  enum answer a = serve_list_one(l, true);
  for (size_t next = 0; a == ANSWER_RESULT && next < l->later.len;) {
    const char *name = (const char *)l->later.data + next;
    next += strlen(name) + 1;
    if (strlen(name) + 2 > sizeof relative)
      return fail(l->c, RPC_SANDBOX_ERROR, "ENAMETOOLONG: %.100s: the path is too long", name);
    (void)snprintf(relative, sizeof relative, "%s/", name);
    a = serve_list_one(l, false);
  }
  return a;
}

enum answer rpc_files_list(call *c) {
  char path[SERVE_PATH_MAX];
  bool recursive = false;
  if (!param_path(c, "path", path) || !param_bool(c, "recursive", &recursive)) return ANSWER_ERROR;
  struct listing l = { .c = c,
                       .root = path,
                       .recursive = recursive,
                       .later = BUF_INIT(BUF_UNLIMITED),
                       .links = BUF_INIT(BUF_UNLIMITED) };
  l.entries = yyjson_mut_obj_add_arr(c->doc, c->result, "entries");
  enum answer a = l.entries != NULL ? serve_list_all(&l) : fail_memory(c);
  buf_free(&l.later);
  buf_free(&l.links);
  return a;
}

/* ---- one ---- */

static void last_part(const char *path, char *out, size_t cap) {
  size_t end = strlen(path);
  while (end > 1 && path[end - 1] == '/') end--;
  size_t start = end;
  while (start > 0 && path[start - 1] != '/') start--;
  if (start == end) start = 0; /* "/" */
  (void)snprintf(out, cap, "%.*s", (int)(end - start), path + start);
}

enum answer rpc_files_stat(call *c) {
  char path[SERVE_PATH_MAX], name[NAME_ROOM];
  cay_stat st;
  cay_error err;
  if (!param_path(c, "path", path)) return ANSWER_ERROR;
  if (cay_file_stat(c->box->sandbox, path, &st, &err) != CAY_OK) return fail_status(c, &err);
  last_part(path, name, sizeof name);
  return put_stat(c, c->result, name, &st) ? ANSWER_RESULT : fail_memory(c);
}
