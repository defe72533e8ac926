/* files.c - files of a session. */
#include "base/alloc.h"
#include "base/error.h"
#include "workspace/client.h"

#include <stdlib.h>
#include <string.h>

static cay_status file_fail(const char *path, const cay_error *cause, cay_ws_error *err) {
  return ws_fail_from(err, cause->status == CAY_LIMIT ? CAY_WS_POLICY_VIOLATION : CAY_WS_EXECUTION_FAILED,
                      path, cause);
}

cay_status cay_ws_read_file(cay_ws_session *s, const char *path, cay_buf *out, cay_ws_error *err) {
  ws_path place;
  cay_error cause;
  S_TRY(ws_session_enter(s, WS_USE, err));
  cay_status status = ws_path_resolve(s->box, path, true, &place, err);
  if (status == CAY_OK && (status = cay_file_read(s->box, place.text, out, &cause)) != CAY_OK)
    (void)file_fail(path, &cause, err);
  ws_session_leave(s);
  return status;
}

cay_status cay_ws_write_file(cay_ws_session *s, const char *path, cay_slice content, uint32_t mode,
                             cay_ws_error *err) {
  ws_path place;
  cay_error cause;
  cay_stat stat;
  S_TRY(ws_session_enter(s, WS_USE, err));
  cay_status status = ws_path_resolve(s->box, path, true, &place, err);
  if (status == CAY_OK) {
    if (mode == 0 && cay_file_stat(s->box, place.text, &stat, NULL) == CAY_OK && stat.kind == CAY_FILE)
      mode = stat.mode;
    status = cay_file_write(s->box, place.text, content, mode, &cause);
    if (status != CAY_OK) (void)file_fail(path, &cause, err);
  }
  ws_session_leave(s);
  return status;
}

/* ---- directories ---- */

typedef struct dir_entry {
  char *name;
  cay_stat stat;
} dir_entry;

typedef struct dir_list {
  dir_entry *items;
  size_t count, cap;
  bool no_memory;
} dir_list;

static bool dir_add(void *ctx, const char *name, const cay_stat *stat) {
  dir_list *l = ctx;
  if (l->count == l->cap) {
    size_t cap = l->cap == 0 ? 64 : 2 * l->cap;
    dir_entry *grown = mem_realloc_array(l->items, cap, sizeof *grown);
    if (grown == NULL) return !(l->no_memory = true);
    l->items = grown;
    l->cap = cap;
  }
  char *copy = mem_strdup(name);
  if (copy == NULL) return !(l->no_memory = true);
  l->items[l->count++] = (dir_entry){ copy, *stat };
  return true;
}

static int dir_compare(const void *a, const void *b) {
  return strcmp(((const dir_entry *)a)->name, ((const dir_entry *)b)->name);
}

static cay_status dir_collect(cay_ws_session *s, const char *path, dir_list *l, cay_ws_error *err) {
  ws_path place;
  cay_error cause;
  S_TRY(ws_path_resolve(s->box, path, true, &place, err));
  if (cay_file_list(s->box, place.text, dir_add, l, &cause) != CAY_OK) return file_fail(path, &cause, err);
  return l->no_memory ? ws_no_memory(err) : CAY_OK;
}

cay_status cay_ws_list_dir(cay_ws_session *s, const char *path, cay_list_fn *each, void *ctx,
                           cay_ws_error *err) {
  dir_list l = { 0 };
  S_TRY(ws_session_enter(s, WS_USE, err));
  cay_status status = dir_collect(s, path, &l, err);
  ws_session_leave(s);
  if (status == CAY_OK && l.count > 1) qsort(l.items, l.count, sizeof *l.items, dir_compare);
  for (size_t i = 0; status == CAY_OK && i < l.count; i++)
    if (!each(ctx, l.items[i].name, &l.items[i].stat)) break;
  for (size_t i = 0; i < l.count; i++) mem_free(l.items[i].name);
  mem_free(l.items);
  return status;
}
