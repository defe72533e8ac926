/* notebook_cell.c - what a cell writes and displays, as outputs of nbformat. */
#include "base/alloc.h"
#include "base/buf.h"
#include "base/utf8.h"
#include "cli/notebook.h"

#include <pthread.h>
#include <string.h>

struct notebook_ids {
  struct {
    char *id;
    yyjson_mut_val *output;
  } *items;
  size_t count, cap;
};

struct notebook_cell {
  pthread_mutex_t mu;
  yyjson_mut_doc *doc;
  notebook_ids *ids;
  yyjson_mut_val *outputs;
  buf text; /* of the stream that is being written */
  int fd;   /* of it; 0: none */
  bool bundles, clear_next, failed;
};

notebook_ids *notebook_ids_new(void) { return mem_zalloc(sizeof(notebook_ids)); }

void notebook_ids_free(notebook_ids *ids) {
  if (ids == NULL) return;
  for (size_t i = 0; i < ids->count; i++) mem_free(ids->items[i].id);
  mem_free(ids->items);
  mem_free(ids);
}

static bool ids_add(notebook_ids *ids, const char *id, yyjson_mut_val *output) {
  if (ids->count == ids->cap) {
    size_t cap = ids->cap != 0 ? 2 * ids->cap : 16;
    void *grown = mem_realloc(ids->items, cap * sizeof *ids->items);
    if (grown == NULL) return false;
    ids->items = grown;
    ids->cap = cap;
  }
  char *copy = mem_strndup(id, strlen(id));
  if (copy == NULL) return false;
  ids->items[ids->count].id = copy;
  ids->items[ids->count++].output = output;
  return true;
}

notebook_cell *notebook_cell_new(yyjson_mut_doc *doc, notebook_ids *ids, bool bundles) {
  notebook_cell *c = mem_zalloc(sizeof *c);
  if (c == NULL) return NULL;
  *c = (notebook_cell){
    .doc = doc, .ids = ids, .bundles = bundles, .outputs = yyjson_mut_arr(doc), .text = BUF_INIT(64 << 20)
  };
  c->failed = c->outputs == NULL;
  (void)pthread_mutex_init(&c->mu, NULL);
  return c;
}

/* ---- streams ---- */

static yyjson_mut_val *output_new(notebook_cell *c, const char *type) {
  yyjson_mut_val *output = yyjson_mut_obj(c->doc);
  if (!yyjson_mut_obj_add_str(c->doc, output, "output_type", type) ||
      !yyjson_mut_arr_append(c->outputs, output))
    c->failed = true;
  return c->failed ? NULL : output;
}

static void stream_end(notebook_cell *c) {
  if (c->fd == 0 || c->failed) return;
  if (c->text.len != 0) utf8_copy_clean((char *)c->text.data, c->text.data, c->text.len);
  yyjson_mut_val *output = output_new(c, "stream");
  if (output == NULL || !yyjson_mut_obj_add_str(c->doc, output, "name", c->fd == 1 ? "stdout" : "stderr") ||
      !yyjson_mut_obj_add_strncpy(c->doc, output, "text", c->text.data != NULL ? (char *)c->text.data : "",
                                  c->text.len))
    c->failed = true;
  c->text.len = 0;
  c->fd = 0;
}

static void outputs_clear(notebook_cell *c) {
  c->text.len = 0;
  c->fd = 0;
  (void)yyjson_mut_arr_clear(c->outputs);
}

/* Something comes: what waited for it is taken back. */
static void outputs_begin(notebook_cell *c) {
  if (c->clear_next) outputs_clear(c);
  c->clear_next = false;
}

void notebook_cell_output(void *ctx, int fd, cay_slice bytes) {
  notebook_cell *c = ctx;
  pthread_mutex_lock(&c->mu);
  outputs_begin(c);
  if (c->fd != fd) stream_end(c);
  c->fd = fd;
  size_t room = c->text.max - c->text.len;
  if (buf_append(&c->text, bytes.data, bytes.len < room ? bytes.len : room) != CAY_OK) c->failed = true;
  pthread_mutex_unlock(&c->mu);
}

/* ---- displays ---- */

/* `name` of `from`, if it is an object, else an empty one. */
static bool put_object(notebook_cell *c, yyjson_mut_val *to, const char *name, yyjson_val *from) {
  yyjson_val *found = yyjson_obj_get(from, name);
  yyjson_mut_val *copy = yyjson_is_obj(found) ? yyjson_val_mut_copy(c->doc, found) : yyjson_mut_obj(c->doc);
  yyjson_mut_val *key = yyjson_mut_strcpy(c->doc, name);
  return copy != NULL && key != NULL && yyjson_mut_obj_put(to, key, copy);
}

static bool put_bundle(notebook_cell *c, yyjson_mut_val *to, yyjson_val *bundle) {
  return put_object(c, to, "data", bundle) && put_object(c, to, "metadata", bundle);
}

static void display_update(notebook_cell *c, yyjson_val *bundle, const char *id) {
  for (size_t i = 0; id != NULL && i < c->ids->count; i++)
    if (strcmp(c->ids->items[i].id, id) == 0 && !put_bundle(c, c->ids->items[i].output, bundle))
      c->failed = true;
}

static void display_new(notebook_cell *c, yyjson_val *bundle, const char *id) {
  stream_end(c);
  yyjson_mut_val *output = output_new(c, "display_data");
  if (output == NULL || !put_bundle(c, output, bundle) || (id != NULL && !ids_add(c->ids, id, output)))
    c->failed = true;
}

static void display_take(notebook_cell *c, yyjson_val *bundle) {
  const char *kind = yyjson_get_str(yyjson_obj_get(bundle, "kind"));
  const char *id = yyjson_get_str(yyjson_obj_get(bundle, "id"));
  if (kind == NULL) return;
  if (strcmp(kind, "clear") == 0) {
    c->clear_next = yyjson_get_bool(yyjson_obj_get(bundle, "wait"));
    if (!c->clear_next) outputs_clear(c);
    return;
  }
  outputs_begin(c);
  if (strcmp(kind, "update") == 0)
    display_update(c, bundle, id);
  else
    display_new(c, bundle, id);
}

static yyjson_doc *bundle_read(cay_slice text) {
  return text.len == 0 ? NULL
                       : yyjson_read_opts((char *)(uintptr_t)text.data, text.len, YYJSON_READ_BIGNUM_AS_RAW,
                                          &JSON_ALLOC, NULL);
}

void notebook_cell_display(void *ctx, cay_slice text) {
  notebook_cell *c = ctx;
  yyjson_doc *bundle = bundle_read(text);
  if (bundle == NULL) return; /* the guest made it */
  pthread_mutex_lock(&c->mu);
  display_take(c, yyjson_doc_get_root(bundle));
  pthread_mutex_unlock(&c->mu);
  yyjson_doc_free(bundle);
}

/* ---- the end ---- */

static bool put_text(notebook_cell *c, yyjson_mut_val *to, const char *name, cay_slice text) {
  return yyjson_mut_obj_add_strncpy(c->doc, to, name, text.len != 0 ? text.data : "", text.len);
}

/* A value without a bundle is text. */
static bool put_repr(notebook_cell *c, yyjson_mut_val *output, const cay_value *v) {
  yyjson_mut_val *data = yyjson_mut_obj_add_obj(c->doc, output, "data");
  return data != NULL && put_text(c, data, "text/plain", v->repr) &&
         yyjson_mut_obj_add_obj(c->doc, output, "metadata") != NULL;
}

static bool value_put(notebook_cell *c, const cay_value *v, unsigned count) {
  yyjson_doc *bundle = bundle_read(v->bundle);
  bool displayed_itself = c->bundles && bundle == NULL && !v->bundle_too_large;
  if (v->repr.len == 0 || displayed_itself) {
    yyjson_doc_free(bundle);
    return true;
  }
  outputs_begin(c);
  yyjson_mut_val *output = output_new(c, "execute_result");
  bool fine = output != NULL && yyjson_mut_obj_add_uint(c->doc, output, "execution_count", count) &&
              (bundle != NULL ? put_bundle(c, output, yyjson_doc_get_root(bundle)) : put_repr(c, output, v));
  yyjson_doc_free(bundle);
  return fine;
}

static bool put_lines(notebook_cell *c, yyjson_mut_val *list, cay_slice text) {
  const char *at = text.data, *end = at != NULL ? at + text.len : NULL;
  while (at < end) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    const char *stop = newline != NULL ? newline : end;
    if (!yyjson_mut_arr_add_strncpy(c->doc, list, at, (size_t)(stop - at))) return false;
    at = stop + 1;
  }
  return true;
}

static cay_slice slice_of(const char *text) { return (cay_slice){ text, strlen(text) }; }

static bool error_put(notebook_cell *c, const cay_value *v) {
  cay_slice name = v->error_type, text = v->error_text, trace = v->traceback;
  if (v->outcome == CAY_OUTCOME_VALUE || (v->outcome == CAY_OUTCOME_EXIT && v->exit_code == 0)) return true;
  if (v->outcome == CAY_OUTCOME_EXIT) name = slice_of("SystemExit");
  if (v->outcome == CAY_OUTCOME_STOPPED) {
    name = slice_of("Stopped");
    text = v->detail.len != 0 ? v->detail : slice_of(cay_end_name(v->end));
  }
  if (trace.len == 0) trace = text;
  outputs_begin(c);
  yyjson_mut_val *output = output_new(c, "error");
  yyjson_mut_val *lines =
      output != NULL && put_text(c, output, "ename", name) && put_text(c, output, "evalue", text)
          ? yyjson_mut_obj_add_arr(c->doc, output, "traceback")
          : NULL;
  return lines != NULL && put_lines(c, lines, trace);
}

void notebook_cell_free(notebook_cell *c) {
  if (c == NULL) return;
  (void)pthread_mutex_destroy(&c->mu);
  buf_free(&c->text);
  mem_free(c);
}

bool notebook_cell_end(notebook_cell *c, yyjson_mut_val *target, const cay_value *v, unsigned count) {
  stream_end(c);
  bool fine =
      !c->failed && value_put(c, v, count) && error_put(c, v) &&
      yyjson_mut_obj_put(target, yyjson_mut_str(c->doc, "outputs"), c->outputs) &&
      yyjson_mut_obj_put(target, yyjson_mut_str(c->doc, "execution_count"), yyjson_mut_uint(c->doc, count));
  notebook_cell_free(c);
  return fine;
}
