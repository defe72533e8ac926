/* saved.c - memory for the copies of a checkpoint, and the rounds after which a page becomes hot or cold
 * (saved.h). */
#include "engine/saved.h"

#include "base/alloc.h"
#include "base/error.h"
#include "engine/image_inner.h"

#include <string.h>
#include <sys/mman.h>

enum {
  HOT_MAX = 1024, /* pages */
  HOT_IDLE = 64,  /* a hot page that did not change so often in a row is protected again, */
  HOT_TRIAL = 2,  /* and one that is seen for the first time, after so few */
  HOT = 0x80,    /* in `heat`: hot, and how often it did not change. Else the round in which it was written */
  ROUNDS = 0x7f, /* last, as 1 to ROUNDS; 0: never */
};

/* ---- room ---- */

static void *map_copies(const struct eng_saved *s, size_t pages) {
  if (mem_fault_here()) return MAP_FAILED;
  if (s->copies != NULL) return mremap(s->copies, s->pages * MEM_PAGE, pages * MEM_PAGE, MREMAP_MAYMOVE);
  return mmap(NULL, pages * MEM_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
              0);
}

static cay_status grow_copies(struct eng_saved *s, size_t pages, cay_error *err) {
  void *copies = map_copies(s, pages);
  if (copies == MAP_FAILED) return err_no_memory(err);
  (void)madvise(copies, pages * MEM_PAGE, MADV_NOHUGEPAGE);
  s->copies = copies;
  return CAY_OK;
}

cay_status eng_saved_grow(struct eng_saved *s, size_t pages, cay_error *err) {
  if (pages <= s->pages) return CAY_OK;
  uint64_t *bits = mem_realloc_array(s->has_copy, pages / 64 + 1, sizeof *bits);
  if (bits == NULL) return err_no_memory(err);
  s->has_copy = bits;
  uint8_t *heat = mem_realloc(s->heat, pages);
  if (heat == NULL) return err_no_memory(err);
  s->heat = heat;
  S_TRY(grow_copies(s, pages, err));
  size_t words = s->pages == 0 ? 0 : s->pages / 64 + 1;
  memset(bits + words, 0, (pages / 64 + 1 - words) * sizeof *bits);
  memset(heat + s->pages, 0, pages - s->pages);
  s->pages = pages;
  return CAY_OK;
}

void eng_saved_forget(struct eng_saved *s) {
  if (s->pages == 0) return;
  (void)madvise(s->copies, s->pages * MEM_PAGE, MADV_DONTNEED);
  memset(s->has_copy, 0, (s->pages / 64 + 1) * sizeof *s->has_copy);
  memset(s->heat, 0, s->pages);
  s->copy_count = s->hot_count = 0;
  s->round = 0;
}

void eng_saved_drop(eng_instance *i) {
  struct eng_saved *s = i->saved;
  if (s == NULL) return;
  if (s->copies != NULL) (void)munmap(s->copies, s->pages * MEM_PAGE);
  mem_free(s->has_copy);
  mem_free(s->heat);
  mem_free(s);
  i->saved = NULL;
  i->asleep = false;
}

/* ---- hot pages ---- */

bool eng_is_hot(const struct eng_saved *s, size_t page) {
  return page < s->pages && (s->heat[page] & HOT) != 0;
}

static uint8_t saved_stamp(unsigned round) { return (uint8_t)(1 + round % ROUNDS); }

static bool becomes_hot(const struct eng_saved *s, size_t page, bool own) {
  if (s->hot_count == HOT_MAX) return false;
  return s->heat[page] == 0 ? own : s->heat[page] == saved_stamp(s->round + ROUNDS - 1);
}

/* Written in two rounds one after the other, also when it was the same again afterwards, as the stack often
 * is; or written for the first time. Of a hot page only a change is seen. */
void eng_warm(struct eng_saved *s, size_t page, bool changed, bool own) {
  uint8_t *heat = &s->heat[page];
  if ((*heat & HOT) != 0) {
    *heat = changed ? HOT : (uint8_t)(*heat + 1);
    if (*heat < HOT + HOT_IDLE) return;
    s->hot_count--;
    *heat = saved_stamp(s->round);
  } else if (becomes_hot(s, page, changed || own)) {
    s->hot_count++;
    *heat = *heat == 0 ? HOT + HOT_IDLE - HOT_TRIAL : HOT;
  } else {
    *heat = saved_stamp(s->round);
  }
}
