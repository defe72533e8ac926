/* tree.c - a sandbox's files written to a store as a list with contents, and read back (tree.h). */
#include "workspace/tree.h"

#include "base/alloc.h"
#include "base/error.h"

#include <string.h>

#define TREE_MAGIC "cayws1\n"
enum { ROW_REMOVED = 1, ROW_SAME_AS = 2, ROW_HOLES = 4, CHUNK = 1 << 20, HOLE = 4096 };

/* ---- numbers ---- */

static cay_status row_put_number(buf *b, uint64_t value, size_t len) {
  uint8_t bytes[8];
  for (size_t i = 0; i < len; i++) bytes[i] = (uint8_t)(value >> (8 * i));
  return buf_append(b, bytes, len);
}

static cay_status row_put_text(buf *b, const char *text) {
  size_t len = text != NULL ? strlen(text) : 0;
  S_TRY(row_put_number(b, len, 2));
  return buf_append(b, text != NULL ? text : "", len);
}

static bool row_take(cay_slice *list, void *out, size_t len) {
  if (list->len < len) return false;
  memcpy(out, list->data, len);
  *list = (cay_slice){ (const char *)list->data + len, list->len - len };
  return true;
}

static bool row_take_number(cay_slice *list, size_t len, uint64_t *out) {
  uint8_t bytes[8];
  *out = 0;
  if (!row_take(list, bytes, len)) return false;
  for (size_t i = 0; i < len; i++) *out |= (uint64_t)bytes[i] << (8 * i);
  return true;
}

static bool row_take_text(cay_slice *list, char *out, size_t cap) {
  uint64_t len;
  if (!row_take_number(list, 2, &len) || len >= cap || !row_take(list, out, (size_t)len)) return false;
  out[len] = '\0';
  return strlen(out) == len;
}

/* ---- writing ---- */

typedef struct tree_writer {
  ws_store *store;
  const cay_snapshot *snapshot;
  buf list;
  digest *contents;
  size_t count, cap;
  uint64_t len, files;
  cay_status status;
  cay_error *err;
} tree_writer;

typedef struct file_source {
  const cay_snapshot *snapshot;
  const char *path;
  uint64_t at;
} file_source;

static cay_status file_source_read(void *ctx, void *to, size_t cap, size_t *len, cay_error *err) {
  file_source *f = ctx;
  S_TRY(cay_snapshot_read(f->snapshot, f->path, f->at, to, cap, len, err));
  f->at += *len;
  return CAY_OK;
}

static cay_status tree_writer_name(tree_writer *w, const digest *name) {
  if (w->count == w->cap) {
    size_t cap = w->cap == 0 ? 256 : 2 * w->cap;
    digest *grown = mem_realloc_array(w->contents, cap, sizeof *grown);
    if (grown == NULL) return err_no_memory(w->err);
    w->contents = grown;
    w->cap = cap;
  }
  w->contents[w->count++] = *name;
  return CAY_OK;
}

static cay_status tree_writer_file(tree_writer *w, const cay_entry *e) {
  digest name;
  file_source source = { w->snapshot, e->path, 0 };
  S_TRY(cay_snapshot_digest(w->snapshot, e->path, name.bytes, w->err));
  S_TRY(w->store->ops->put(w->store, &name, e->len, file_source_read, &source, w->err));
  S_TRY(tree_writer_name(w, &name));
  w->len += e->len;
  return buf_append(&w->list, name.bytes, sizeof name.bytes) == CAY_OK ? CAY_OK : err_no_memory(w->err);
}

static bool entry_has_contents(const cay_entry *e) {
  return e->kind == CAY_FILE && e->same_as == NULL && !e->removed;
}

static cay_status tree_writer_row(tree_writer *w, const cay_entry *e) {
  buf *b = &w->list;
  unsigned flags = (e->removed ? ROW_REMOVED : 0u) | (e->same_as != NULL ? ROW_SAME_AS : 0u) |
                   (entry_has_contents(e) && e->held < e->len ? ROW_HOLES : 0u);
  const uint64_t numbers[][2] = {
    { e->kind, 1 }, { flags, 1 },  { e->mode, 4 }, { e->type, 4 },
    { e->uid, 4 },  { e->gid, 4 }, { e->len, 8 },  { (uint64_t)e->mtime_ns, 8 }
  };
  for (size_t i = 0; i < COUNT_OF(numbers); i++)
    S_TRY(row_put_number(b, numbers[i][0], (size_t)numbers[i][1]));
  S_TRY(row_put_text(b, e->path));
  return row_put_text(b, e->same_as != NULL ? e->same_as : e->target);
}

static bool tree_writer_each(void *ctx, const cay_entry *e) {
  tree_writer *w = ctx;
  w->files++;
  w->status = tree_writer_row(w, e) == CAY_OK ? CAY_OK : err_no_memory(w->err);
  if (w->status == CAY_OK && entry_has_contents(e)) {
    w->status = tree_writer_file(w, e);
    if (w->status != CAY_OK) err_prefix(w->err, w->status, "%s", e->path);
  }
  return w->status == CAY_OK;
}

typedef struct list_source {
  cay_slice left;
} list_source;

static cay_status list_source_read(void *ctx, void *to, size_t cap, size_t *len, cay_error *err) {
  list_source *l = ctx;
  (void)err;
  *len = l->left.len < cap ? l->left.len : cap;
  (void)row_take(&l->left, to, *len);
  return CAY_OK;
}

cay_status ws_tree_write(ws_store *store, const cay_snapshot *snapshot, ws_record *record, digest **contents,
                         size_t *count, cay_error *err) {
  tree_writer w = { .store = store, .snapshot = snapshot, .list = BUF_INIT(WS_TREE_MAX), .err = err };
  cay_status status = buf_append_text(&w.list, TREE_MAGIC) == CAY_OK ? CAY_OK : err_no_memory(err);
  if (status == CAY_OK) status = cay_snapshot_walk(snapshot, NULL, tree_writer_each, &w, err);
  if (status == CAY_OK) status = w.status;
  if (status == CAY_OK) {
    list_source source = { { w.list.data, w.list.len } };
    record->tree = digest_of(w.list.data, w.list.len);
    status = store->ops->put(store, &record->tree, w.list.len, list_source_read, &source, err);
  }
  if (status == CAY_OK) status = tree_writer_name(&w, &record->tree);
  buf_free(&w.list);
  if (status != CAY_OK) {
    mem_free(w.contents);
    return status;
  }
  record->files = w.files;
  record->len = w.len;
  *contents = w.contents;
  *count = w.count;
  return CAY_OK;
}

/* ---- reading ---- */

cay_status ws_row_read(cay_slice *list, ws_row *out, cay_error *err) {
  uint64_t kind, flags, mode, type, uid, gid, len, mtime;
  cay_entry *e = &out->entry;
  bool fine =
      row_take_number(list, 1, &kind) && row_take_number(list, 1, &flags) &&
      row_take_number(list, 4, &mode) && row_take_number(list, 4, &type) && row_take_number(list, 4, &uid) &&
      row_take_number(list, 4, &gid) && row_take_number(list, 8, &len) && row_take_number(list, 8, &mtime) &&
      row_take_text(list, out->path, sizeof out->path) && row_take_text(list, out->other, sizeof out->other);
  if (!fine || kind > CAY_OTHER || flags > 7) return err_set(err, CAY_CORRUPT, "a damaged list of files");
  *e = (cay_entry){ .path = out->path,
                    .kind = (cay_kind)kind,
                    .mode = (uint32_t)mode,
                    .type = (uint32_t)type,
                    .uid = (uint32_t)uid,
                    .gid = (uint32_t)gid,
                    .len = len,
                    .mtime_ns = (int64_t)mtime,
                    .removed = (flags & ROW_REMOVED) != 0 };
  if ((flags & ROW_SAME_AS) != 0) e->same_as = out->other;
  if (e->kind == CAY_LINK) e->target = out->other;
  out->holes = (flags & ROW_HOLES) != 0;
  out->has_digest = entry_has_contents(e);
  if (out->has_digest && !row_take(list, out->name.bytes, sizeof out->name.bytes))
    return err_set(err, CAY_CORRUPT, "a list of files that was cut");
  return CAY_OK;
}

typedef struct file_sink {
  cay_snapshot_maker *maker;
  uint64_t left; /* bytes that the list announces */
  bool holes;
} file_sink;

static bool bytes_are_zero(const uint8_t *at, size_t len) {
  return len > 0 && at[0] == 0 && memcmp(at, at + 1, len - 1) == 0;
}

static cay_status file_sink_write(void *ctx, cay_slice bytes, cay_error *err) {
  file_sink *f = ctx;
  if (bytes.len > f->left) return err_set(err, CAY_CORRUPT, "longer than the list of files says");
  f->left -= bytes.len;
  if (!f->holes) return cay_snapshot_maker_write(f->maker, bytes, err);
  for (size_t at = 0; at < bytes.len; at += HOLE) {
    const uint8_t *part = (const uint8_t *)bytes.data + at;
    size_t len = bytes.len - at < HOLE ? bytes.len - at : HOLE;
    if (bytes_are_zero(part, len))
      S_TRY(cay_snapshot_maker_skip(f->maker, len, err));
    else
      S_TRY(cay_snapshot_maker_write(f->maker, (cay_slice){ part, len }, err));
  }
  return CAY_OK;
}

static cay_status tree_make_row(ws_store *store, cay_snapshot_maker *maker, const ws_row *row,
                                cay_error *err) {
  S_TRY(cay_snapshot_maker_put(maker, &row->entry, err));
  if (!row->has_digest) return CAY_OK;
  file_sink sink = { maker, row->entry.len, row->holes };
  S_TRY(store->ops->get(store, &row->name, file_sink_write, &sink, err));
  return sink.left == 0 ? CAY_OK : err_set(err, CAY_CORRUPT, "shorter than the list of files says");
}

static cay_status tree_make(ws_store *store, cay_snapshot_maker *maker, cay_slice list, cay_error *err) {
  ws_row *row = mem_alloc(sizeof *row);
  char magic[sizeof TREE_MAGIC - 1];
  cay_status status = CAY_OK;
  if (row == NULL) return err_no_memory(err);
  if (!row_take(&list, magic, sizeof magic) || memcmp(magic, TREE_MAGIC, sizeof magic) != 0)
    status = err_set(err, CAY_CORRUPT, "not a list of files");
  while (status == CAY_OK && list.len > 0) {
    status = ws_row_read(&list, row, err);
    if (status != CAY_OK) break;
    status = tree_make_row(store, maker, row, err);
    if (status != CAY_OK) err_prefix(err, status, "%s", row->path);
  }
  mem_free(row);
  return status;
}

static cay_status list_sink_write(void *ctx, cay_slice bytes, cay_error *err) {
  return buf_append(ctx, bytes.data, bytes.len) == CAY_OK ? CAY_OK : err_no_memory(err);
}

cay_status ws_tree_read(ws_store *store, cay_engine *engine, const ws_record *record, cay_snapshot **out,
                        cay_error *err) {
  OWNED(buf_free) buf list = BUF_INIT(WS_TREE_MAX);
  cay_snapshot_maker *maker = NULL;
  cay_snapshot_maker_options options =
      CAY_INIT(cay_snapshot_maker_options, .files_max = WS_TREE_FILES_MAX, .bytes_max = record->len + 1);
  S_TRY(store->ops->get(store, &record->tree, list_sink_write, &list, err));
  S_TRY(cay_snapshot_maker_new(engine, &options, &maker, err));
  cay_status status = tree_make(store, maker, (cay_slice){ list.data, list.len }, err);
  if (status != CAY_OK) {
    cay_snapshot_maker_free(maker);
    return status;
  }
  return cay_snapshot_maker_finish(maker, NULL, out, err);
}
