/* saved.h - what a checkpoint keeps: copies of pages, and which pages are hot. For checkpoint.c alone.
 *
 * Room is made for a whole memory at once (eng_saved_grow), so nothing fails while a checkpoint is being
 * made: the copies are a sparse mapping, of which only copied pages exist. */
#pragma once

#include "engine/internal.h"

struct eng_saved {
  uint8_t *copies;    /* sparse, as long as the memory; NULL when pages is 0 */
  uint64_t *has_copy; /* one bit a page */
  uint8_t *heat;      /* one byte a page: saved.c */
  size_t pages;       /* how far these three reach */
  size_t copy_count, hot_count;
  unsigned round;           /* walks so far */
  wasmtime_val_t globals[]; /* in the order of globals.c */
};

/* CAY_NO_MEMORY. */
cay_status eng_saved_grow(struct eng_saved *saved, size_t pages, cay_error *err) CHECKED;
void eng_saved_forget(struct eng_saved *saved); /* all copies, and the set of hot pages */

static inline bool eng_has_copy(const struct eng_saved *s, size_t page) {
  return s != NULL && page < s->pages && (s->has_copy[page / 64] >> page % 64 & 1) != 0;
}

static inline void eng_set_copy(struct eng_saved *s, size_t page) {
  s->has_copy[page / 64] |= UINT64_C(1) << page % 64;
  s->copy_count++;
}

/* A page that may have been written was looked at in this round, and had changed or not. `own`: it is not
 * only read, so it was written some time. */
void eng_warm(struct eng_saved *saved, size_t page, bool changed, bool own);
bool eng_is_hot(const struct eng_saved *saved, size_t page);
