/* patch_hunk.c - finds the places of hunks and makes the new bytes.
 *
 * Lines of the old file are counted from 1, as in headers. `done` is the last one that is copied or removed; the context at the
 * end of a hunk is not, so that the next one may begin in it. */
#include "base/alloc.h"
#include "base/error.h"
#include "workspace/patch.h"

#include <string.h>

/* Comparisons of lines in one call: a hostile patch of a hostile file could take hours. */
#define PATCH_COMPARISONS_MAX (INT64_C(200) * 1000 * 1000)

typedef struct hunk_pattern {
  const ws_patch_line **lines; /* those of the old file */
  long count, before, after;   /* all; context at the beginning and at the end */
} hunk_pattern;

typedef struct patch_run {
  const ws_patch *patch;
  cay_slice *old; /* lines */
  long old_count;
  long done, moved;
  int64_t comparisons;
  hunk_pattern pattern;
} patch_run;

static cay_status run_split(patch_run *run, cay_slice text, cay_error *err) {
  const char *at = text.data != NULL ? text.data : "", *end = at + text.len;
  size_t count = 0;
  for (const char *p = at; p < end; count++) {
    const char *stop = memchr(p, '\n', (size_t)(end - p));
    p = stop != NULL ? stop + 1 : end;
  }
  run->old = mem_zalloc_array(count + 1, sizeof *run->old);
  if (run->old == NULL) return err_no_memory(err);
  for (; at < end; run->old_count++) {
    const char *stop = memchr(at, '\n', (size_t)(end - at)), *next = stop != NULL ? stop + 1 : end;
    run->old[run->old_count] = (cay_slice){ at, (size_t)(next - at) };
    at = next;
  }
  return CAY_OK;
}

/* ---- places ---- */

static void pattern_fill(patch_run *run, const ws_hunk *h) {
  hunk_pattern *p = &run->pattern;
  const ws_patch_line *lines = run->patch->lines + h->first;
  p->count = p->before = p->after = 0;
  for (size_t i = 0; i < h->count; i++)
    if (lines[i].kind != '+') p->lines[p->count++] = &lines[i];
  while ((size_t)p->before < h->count && lines[p->before].kind == ' ') p->before++;
  while ((size_t)p->after < h->count && lines[h->count - 1 - (size_t)p->after].kind == ' ') p->after++;
}

/* Whether the pattern, without `head` lines at its beginning and `tail` at its end, stands at line `where`. */
static bool run_matches(patch_run *run, long where, long head, long tail) {
  const hunk_pattern *p = &run->pattern;
  for (long i = head; i < p->count - tail; i++) {
    long line = where + i;
    if (line < 1 || line > run->old_count || --run->comparisons < 0) return false;
    cay_slice have = run->old[line - 1], want = p->lines[i]->text;
    if (have.len != want.len || memcmp(have.data, want.data, have.len) != 0) return false;
  }
  return true;
}

/* Outwards from `guess`, after it first, or from the nearest line that can be; 0: nowhere. */
static long run_search(patch_run *run, long guess, long head, long tail) {
  long least = run->done + 1, most = run->old_count - (run->pattern.count - tail) + 1;
  long below = guess - least, above = most - guess;
  if (below >= guess) below = guess - 1;
  long from = above < 0 ? -above : below < 0 ? -below : 0;
  for (long off = from; (off <= above || off <= below) && run->comparisons >= 0; off++) {
    if (off <= above && guess + off >= 1 && run_matches(run, guess + off, head, tail)) return guess + off;
    if (off > 0 && off <= below && run_matches(run, guess - off, head, tail)) return guess - off;
  }
  return 0;
}

/* With `fuzz` lines of the longer context left out. Where one context is shorter by more, that end is the file's. */
static long run_find(patch_run *run, long first, long fuzz) {
  const hunk_pattern *p = &run->pattern;
  long longer = p->before > p->after ? p->before : p->after;
  long head = fuzz + p->before - longer, tail = fuzz + p->after - longer;
  if (p->count == 0) return first + run->moved;
  if (head < 0 && first <= 1) {
    if (tail < 0 && p->count != run->old_count) return 0;
    bool free = run->done == 0;
    long most = run->old_count - (p->count - (tail > 0 ? tail : 0)) + 1;
    return free && most >= 1 && run_matches(run, 1, 0, tail > 0 ? tail : 0) ? 1 : 0;
  }
  if (head < 0) head = 0;
  if (tail >= 0) return run_search(run, first + run->moved, head, tail);
  long last = run->old_count - p->count + 1;
  return last > run->done && last >= 1 && run_matches(run, last, head, 0) ? last : 0;
}

/* ---- the new bytes ---- */

/* A line without an end gets one when another comes behind it. */
static cay_status new_line(buf *new, cay_slice line) {
  if (new->len > 0 && new->data[new->len - 1] != '\n') S_TRY(buf_append_byte(new, '\n'));
  return buf_append(new, line.data, line.len);
}

static cay_status run_copy_to(patch_run *run, long line, buf *new) {
  for (; run->done < line && run->done < run->old_count; run->done++)
    S_TRY(new_line(new, run->old[run->done]));
  return CAY_OK;
}

/* Context comes from the old file, since it may differ from the hunk's where fuzz was needed; at the end of the file there
 * may be less of it. */
static cay_status run_write(patch_run *run, const ws_hunk *h, long where, buf *new) {
  long at = where - 1;
  for (size_t i = h->first; i < h->first + h->count; i++) {
    const ws_patch_line *l = &run->patch->lines[i];
    if (l->kind != ' ') S_TRY(run_copy_to(run, at, new));
    if (l->kind == '+') S_TRY(new_line(new, l->text));
    if (l->kind == '-') run->done++;
    if (l->kind != '+') at++;
  }
  return CAY_OK;
}

static long run_place(patch_run *run, const ws_hunk *h, const ws_fuzz *how) {
  long first = (long)h->old_start + (h->old_count == 0), where = 0;
  const hunk_pattern *p = &run->pattern;
  if (how->strict) return first > run->done && run_matches(run, first, 0, 0) ? first : 0;
  long most = p->before > p->after ? p->before : p->after;
  if (most > (long)how->fuzz) most = (long)how->fuzz;
  for (long fuzz = 0; fuzz <= most && where == 0; fuzz++) where = run_find(run, first, fuzz);
  return where;
}

static cay_status run_hunk(patch_run *run, const ws_hunk *h, size_t number, const ws_fuzz *how, buf *new,
                           cay_error *err) {
  pattern_fill(run, h);
  long first = (long)h->old_start + (h->old_count == 0);
  long where = run_place(run, h, how);
  if (run->comparisons < 0)
    return err_set(err, CAY_LIMIT,
                   "hunk %zu (line %zu of the patch): its place cannot be found in reasonable time", number,
                   h->at);
  bool anywhere = run->pattern.count == 0 && !how->strict; /* without context, behind the end is at the end */
  bool inside = where > run->done && (where - 1 <= run->old_count || anywhere);
  if (!inside)
    return err_set(err, CAY_INVALID, "hunk %zu (line %zu of the patch) does not fit near line %zu", number,
                   h->at, h->old_start);
  run->moved = where - first;
  return run_write(run, h, where, new) == CAY_OK ? CAY_OK : err_no_memory(err);
}

cay_status ws_patch_hunks(const ws_patch *patch, const ws_patch_file *file, cay_slice old, const ws_fuzz *how,
                          buf *new, cay_error *err) {
  patch_run run = { .patch = patch, .comparisons = PATCH_COMPARISONS_MAX };
  size_t longest = 0;
  for (size_t i = 0; i < file->hunk_count; i++)
    if (patch->hunks[file->first_hunk + i].count > longest)
      longest = patch->hunks[file->first_hunk + i].count;
  run.pattern.lines = mem_zalloc_array(longest + 1, sizeof *run.pattern.lines);
  cay_status status = run.pattern.lines != NULL ? run_split(&run, old, err) : err_no_memory(err);
  for (size_t i = 0; status == CAY_OK && i < file->hunk_count; i++)
    status = run_hunk(&run, &patch->hunks[file->first_hunk + i], i + 1, how, new, err);
  if (status == CAY_OK && run_copy_to(&run, run.old_count, new) != CAY_OK) status = err_no_memory(err);
  mem_free(run.old);
  mem_free((void *)run.pattern.lines);
  return status;
}
