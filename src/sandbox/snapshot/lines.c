/* lines.c - the line diff of two texts by Myers' algorithm (lines.h). */
#include "sandbox/snapshot/lines.h"

#include "base/alloc.h"
#include "base/error.h"

#include <string.h>

enum { EDITS_MAX = 1000 };

/* ---- lines ---- */

static size_t lines_count(cay_slice text) {
  size_t count = 0;
  if (text.len == 0) return 0;
  const char *at = text.data, *end = at + text.len;
  for (; at < end; count++) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    at = newline != NULL ? newline + 1 : end;
  }
  return count;
}

static bool lines_split(cay_slice text, sb_lines *out) {
  size_t count = lines_count(text);
  sb_lines l = { .at = mem_zalloc_array(count + 1, sizeof *l.at),
                 .changed = mem_zalloc_array(count + 1, sizeof *l.changed) };
  *out = l;
  if (l.at == NULL || l.changed == NULL) return false;
  const char *at = text.data, *end = count != 0 ? at + text.len : at;
  for (size_t i = 0; i < count; i++) {
    l.at[i] = at;
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    at = newline != NULL ? newline + 1 : end;
  }
  l.at[count] = end;
  l.count = count;
  *out = l;
  return true;
}

static bool lines_same(const sb_lines *a, size_t i, const sb_lines *b, size_t j) {
  size_t len = (size_t)(a->at[i + 1] - a->at[i]);
  return len == (size_t)(b->at[j + 1] - b->at[j]) && memcmp(a->at[i], b->at[j], len) == 0;
}

/* ---- the script ---- */

/* The lines [from, from + len) of each that are left when equal ones at both ends are taken away. */
typedef struct middle {
  const sb_lines *a, *b;
  size_t from, a_len, b_len;
} middle;

static middle lines_middle(const sb_lines *a, const sb_lines *b) {
  size_t least = a->count < b->count ? a->count : b->count, from = 0, tail = 0;
  while (from < least && lines_same(a, from, b, from)) from++;
  while (tail < least - from && lines_same(a, a->count - 1 - tail, b, b->count - 1 - tail)) tail++;
  return (middle){ a, b, from, a->count - from - tail, b->count - from - tail };
}

static bool middle_same(const middle *m, size_t x, size_t y) {
  return lines_same(m->a, m->from + x, m->b, m->from + y);
}

/* How far diagonal k reaches with d edits, from the rows of d - 1; `row` is indexed by k + d. */
static size_t myers_reach(const middle *m, const int32_t *before, int32_t d, int32_t k) {
  int32_t x = 0;
  if (d > 0) {
    /* before[] is indexed by k + d - 1 */
    bool down = k == -d || (k != d && before[k - 1 + d - 1] < before[k + 1 + d - 1]);
    x = down ? before[k + 1 + d - 1] : before[k - 1 + d - 1] + 1;
  }
  int32_t y = x - k;
  while (x >= 0 && y >= 0 && (size_t)x < m->a_len && (size_t)y < m->b_len &&
         middle_same(m, (size_t)x, (size_t)y)) {
    x++;
    y++;
  }
  return (size_t)x;
}

/* Walks back over the rows, marking the removed and the added lines. */
static void myers_mark(const middle *m, int32_t *const *rows, int32_t d) {
  int32_t x = (int32_t)m->a_len, y = (int32_t)m->b_len;
  for (; d > 0; d--) {
    const int32_t *before = rows[d - 1];
    int32_t k = x - y;
    bool down = k == -d || (k != d && before[k - 1 + d - 1] < before[k + 1 + d - 1]);
    int32_t from_k = down ? k + 1 : k - 1, from_x = before[from_k + d - 1], from_y = from_x - from_k;
    if (down)
      m->b->changed[m->from + (size_t)from_y] = true;
    else
      m->a->changed[m->from + (size_t)from_x] = true;
    x = from_x;
    y = from_y;
  }
}

/* Rows of 2d + 1 entries, one for each number of edits, until the end is reached. *d: that many; -1: too many. */
static bool myers_run(const middle *m, int32_t **rows, int32_t *edits) {
  *edits = -1;
  for (int32_t d = 0; d <= EDITS_MAX; d++) {
    rows[d] = mem_zalloc_array(2 * (size_t)d + 1, sizeof **rows);
    if (rows[d] == NULL) return false;
    for (int32_t k = -d; k <= d; k += 2) {
      size_t x = myers_reach(m, d > 0 ? rows[d - 1] : NULL, d, k);
      rows[d][k + d] = (int32_t)x;
      if (x < m->a_len || (int64_t)x - k < (int64_t)m->b_len) continue;
      if (x != m->a_len || (size_t)((int64_t)x - k) != m->b_len) continue;
      *edits = d;
      return true;
    }
  }
  return true;
}

static void middle_replace(const middle *m) {
  memset(m->a->changed + m->from, true, m->a_len * sizeof(bool));
  memset(m->b->changed + m->from, true, m->b_len * sizeof(bool));
}

static cay_status middle_compare(const middle *m, cay_error *err) {
  if (m->a_len == 0 || m->b_len == 0 || m->a_len > INT32_MAX / 4 || m->b_len > INT32_MAX / 4) {
    middle_replace(m);
    return CAY_OK;
  }
  int32_t **rows = mem_zalloc_array(EDITS_MAX + 1, sizeof *rows), edits = -1;
  if (rows == NULL) return err_no_memory(err);
  bool ok = myers_run(m, rows, &edits);
  if (ok && edits >= 0)
    myers_mark(m, rows, edits);
  else
    middle_replace(m);
  for (size_t i = 0; i <= EDITS_MAX; i++) mem_free(rows[i]);
  mem_free(rows);
  return ok ? CAY_OK : err_no_memory(err);
}

cay_status sb_lines_compare(cay_slice a, cay_slice b, sb_line_diff *out, cay_error *err) {
  sb_line_diff d = { 0 };
  cay_status status = lines_split(a, &d.a) && lines_split(b, &d.b) ? CAY_OK : err_no_memory(err);
  if (status == CAY_OK) {
    const middle m = lines_middle(&d.a, &d.b);
    status = middle_compare(&m, err);
  }
  if (status == CAY_OK)
    *out = d;
  else
    sb_lines_free(&d);
  return status;
}

void sb_lines_free(sb_line_diff *d) {
  mem_free(d->a.at);
  mem_free(d->a.changed);
  mem_free(d->b.at);
  mem_free(d->b.changed);
}
