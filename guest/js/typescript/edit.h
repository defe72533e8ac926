/* edit.h - a list of changes of a text, and the text that results. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bytes from `start` to `end` become `text`, which the list owns: its lines are added behind it. NULL: they
 * become spaces; `mark` (0: none) stands in the place of the first. An insertion has start == end. */
typedef struct {
  uint32_t start, end;
  char mark;
  bool moved; /* the lines are somewhere else */
  char *text;
} ts_edit;

typedef struct {
  ts_edit *items;
  size_t count, cap;
  bool failed; /* for lack of memory */
} ts_edits;

void ts_edits_free(ts_edits *e);
void ts_edits_cut(ts_edits *e, size_t count); /* forgets all but the first `count` */
void ts_edit_blank(ts_edits *e, uint32_t start, uint32_t end, char mark);
/* In both, `format` is that of printf(3). */
void ts_edit_insert(ts_edits *e, uint32_t at, const char *format, ...) __attribute__((format(printf, 3, 4)));
void ts_edit_replace(ts_edits *e, uint32_t start, uint32_t end, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

void ts_edit_move(ts_edits *e, uint32_t start, uint32_t end); /* gone, with its lines */

/* A part of the text with the edits in it, which are taken out of the list from `first` on: to be put elsewhere. The caller frees it. NULL
 * without memory. */
char *ts_edits_take(ts_edits *e, size_t first, const char *text, uint32_t start, uint32_t end);

/* The text with all edits, ended with a zero; NULL without memory. Edits inside of one that replaces more are lost.
 * Of insertions at one place the one that was noted first comes first. */
char *ts_edits_apply(ts_edits *e, const char *text, uint32_t len, size_t *out_len);
