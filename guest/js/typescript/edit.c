#include "edit.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ts_edits_cut(ts_edits *e, size_t count) {
  while (e->count > count) free(e->items[--e->count].text);
}

void ts_edits_free(ts_edits *e) {
  ts_edits_cut(e, 0);
  free(e->items);
  *e = (ts_edits){ 0 };
}

static void edit_add(ts_edits *e, ts_edit edit) {
  if (e->count == e->cap) {
    size_t cap = e->cap ? 2 * e->cap : 64;
    ts_edit *items = realloc(e->items, cap * sizeof *items);
    if (!items) {
      free(edit.text);
      e->failed = true;
      return;
    }
    e->items = items;
    e->cap = cap;
  }
  e->items[e->count++] = edit;
}

void ts_edit_blank(ts_edits *e, uint32_t start, uint32_t end, char mark) {
  if (start < end) edit_add(e, (ts_edit){ .start = start, .end = end, .mark = mark });
}

static void edit_format(ts_edits *e, uint32_t start, uint32_t end, const char *format, va_list arguments) {
  char *text;
  if (vasprintf(&text, format, arguments) < 0)
    e->failed = true;
  else
    edit_add(e, (ts_edit){ .start = start, .end = end, .text = text });
}

void ts_edit_move(ts_edits *e, uint32_t start, uint32_t end) {
  edit_add(e, (ts_edit){ .start = start, .end = end, .moved = true });
}

void ts_edit_insert(ts_edits *e, uint32_t at, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  edit_format(e, at, at, format, arguments);
  va_end(arguments);
}

void ts_edit_replace(ts_edits *e, uint32_t start, uint32_t end, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  edit_format(e, start, end, format, arguments);
  va_end(arguments);
}

/* ---- the result ---- */

typedef struct {
  char *data;
  size_t len, cap;
  bool failed;
} output;

static void output_put(output *o, const char *data, size_t len) {
  if (o->failed) return;
  if (len >= o->cap - o->len) {
    size_t cap = o->cap;
    while (len >= cap - o->len) cap *= 2;
    char *grown = realloc(o->data, cap);
    if (!grown) {
      o->failed = true;
      return;
    }
    o->data = grown;
    o->cap = cap;
  }
  memcpy(o->data + o->len, data, len);
  o->len += len;
}

/* The bytes that end a line stay; of what else is written in several bytes only the first becomes a space. */
static void output_blank(output *o, const char *text, uint32_t start, uint32_t end, char mark, bool lines) {
  for (uint32_t at = start; at < end; at++) {
    char c = text[at];
    bool ends = c == '\n' || c == '\r';
    if (ends)
      output_put(o, &c, 1);
    else if (at == start && mark)
      output_put(o, &mark, 1);
    else if (!lines && (c & 0xc0) != 0x80)
      output_put(o, c == '\t' ? "\t" : " ", 1);
  }
}

static void output_edit(output *o, const ts_edit *e, const char *text) {
  if (e->text) output_put(o, e->text, strlen(e->text));
  if (!e->moved) output_blank(o, text, e->start, e->end, e->mark, e->text != NULL);
}

/* By place, then as they were noted; of two that begin at one place the insertion comes first, the wider next. */
static int edit_order(const void *a, const void *b) {
  const ts_edit *x = a, *y = b;
  if (x->start != y->start) return x->start < y->start ? -1 : 1;
  bool x_inserts = x->end == x->start, y_inserts = y->end == y->start;
  if (x_inserts != y_inserts) return x_inserts ? -1 : 1;
  if (x->end != y->end) return x->end > y->end ? -1 : 1;
  return 0;
}

static bool edits_sorted(const ts_edits *e) {
  for (size_t i = 1; i < e->count; i++)
    if (edit_order(&e->items[i - 1], &e->items[i]) > 0) return false;
  return true;
}

static void edits_merge(const ts_edit *a, size_t a_count, const ts_edit *b, size_t b_count, ts_edit *out) {
  while (a_count || b_count) {
    bool first = a_count && (!b_count || edit_order(a, b) <= 0);
    *out++ = first ? *a++ : *b++;
    first ? a_count-- : b_count--;
  }
}

/* Stable, without a depth that the text could choose. */
static bool edits_sort(ts_edits *e) {
  if (edits_sorted(e)) return true;
  ts_edit *other = malloc(e->count * sizeof *other);
  if (!other) return false;
  for (size_t width = 1; width < e->count; width *= 2) {
    for (size_t at = 0; at < e->count; at += 2 * width) {
      size_t left = e->count - at < width ? e->count - at : width;
      size_t right = e->count - at - left < width ? e->count - at - left : width;
      edits_merge(e->items + at, left, e->items + at + left, right, other + at);
    }
    memcpy(e->items, other, e->count * sizeof *other);
  }
  free(other);
  return true;
}

char *ts_edits_apply(ts_edits *e, const char *text, uint32_t len, size_t *out_len) {
  output o = { .data = malloc((size_t)len + 64), .cap = (size_t)len + 64 };
  if (!o.data || e->failed || !edits_sort(e)) {
    free(o.data);
    return NULL;
  }
  uint32_t at = 0;
  for (size_t i = 0; i < e->count; i++) {
    const ts_edit *edit = &e->items[i];
    if (edit->start < at) continue;
    output_put(&o, text + at, edit->start - at);
    output_edit(&o, edit, text);
    at = edit->end;
  }
  output_put(&o, text + at, len - at);
  output_put(&o, "", 1);
  *out_len = o.len - 1;
  if (!o.failed) return o.data;
  free(o.data);
  return NULL;
}

char *ts_edits_take(ts_edits *e, size_t first, const char *text, uint32_t start, uint32_t end) {
  size_t len;
  ts_edits part = { .items = e->items ? e->items + first : NULL,
                    .count = e->count - first,
                    .failed = e->failed };
  for (size_t i = 0; i < part.count; i++) {
    part.items[i].start -= start;
    part.items[i].end -= start;
  }
  char *result = ts_edits_apply(&part, text + start, end - start, &len);
  if (!result) e->failed = true;
  ts_edits_cut(e, first);
  return result;
}
