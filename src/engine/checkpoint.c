/* A checkpoint is an image and, for each page that differs from it, a copy. The image is the one that the
 * memory is mapped from, so pages the guest never wrote need no thought: they are the image's.
 *
 * Pages written since the last time are found by write protection that the kernel lifts by itself at the
 * first write (pages.c). Such a write costs 0.8 us, ten times as much as comparing a page, so pages that are
 * written time and again, the stack and the interpreter's counters, stay unprotected ("hot") and are simply
 * looked at each time. Everything is compared before it is copied: "written" may be said too often, never too
 * seldom.
 *
 * An instance that alone holds its image (`own`, one reference) keeps its checkpoint in the image
 * itself. That is safe although the memory is mapped from it: a page is changed there only when the instance
 * has a private one in its place. */
#include "engine/checkpoint.h"

#include "base/alloc.h"
#include "base/error.h"
#include "engine/image_inner.h"
#include "engine/saved.h"

#include <string.h>
#include <sys/mman.h>

enum {
  REBASE_FRESH = 16 << 20,      /* bytes of new copies from which on an image of its own is made instead, */
  REBASE_COPIES = 64 << 20,     /* or bytes of all copies. Below, copies take half of the time */
  SETTLE_MIN = 1 << 18,         /* bytes of all copies, when there is time */
  DROP_MIN = 64 * MEM_PAGE,     /* a run so long is dropped at a rollback, not copied back, */
  DROP_TOTAL = 1024 * MEM_PAGE, /* if there is so much in all */
};

static const uint8_t zeros[MEM_PAGE];

/* ---- the checkpoint of one page ---- */

static bool in_image(const eng_instance *i, size_t page) {
  return i->image != NULL && page < i->image->len / MEM_PAGE;
}

/* Whether that page of the image may be written: no other instance has the image, nor can get it. */
static bool image_is_ours(const eng_instance *i, size_t page) {
  return in_image(i, page) && i->image->own && atomic_load(&i->image->refs) == 1;
}

static const uint8_t *saved_page(const eng_instance *i, size_t page) {
  if (eng_has_copy(i->saved, page)) return i->saved->copies + page * MEM_PAGE;
  return in_image(i, page) ? i->image->master + page * MEM_PAGE : zeros;
}

static void save_page(eng_instance *i, size_t page, const uint8_t *now) {
  struct eng_saved *s = i->saved;
  uint8_t *to = s->copies + page * MEM_PAGE;
  if (!eng_has_copy(s, page) && image_is_ours(i, page)) {
    to = i->image->own + page * MEM_PAGE;
    if (eng_page_is_zero(to)) i->image->stored += MEM_PAGE;
  } else if (!eng_has_copy(s, page)) {
    eng_set_copy(s, page);
  }
  memcpy(to, now, MEM_PAGE);
}

/* ---- one walk over what may have been written ---- */

enum way { SAVE, RESTORE, COMPARE };

struct walk {
  eng_instance *i;
  enum way way;
  bool may_drop;
  size_t cold_from, cold_to; /* pages to be protected again, with none that is hot in between */
};

static void protect_cold(struct walk *w) {
  const eng_instance *i = w->i;
  if (w->cold_to > w->cold_from && i->watched)
    eng_pages_protect(i->module->engine, i->head.base + w->cold_from * MEM_PAGE,
                      (w->cold_to - w->cold_from) * MEM_PAGE);
  w->cold_from = w->cold_to = 0;
}

static void leave_page(struct walk *w, size_t page) {
  if (eng_is_hot(w->i->saved, page)) {
    protect_cold(w);
    return;
  }
  if (w->cold_to == 0) w->cold_from = page;
  w->cold_to = page + 1;
}

static bool visit_page(struct walk *w, size_t page) {
  uint8_t *now = w->i->head.base + page * MEM_PAGE;
  const uint8_t *saved = saved_page(w->i, page);
  bool changed = memcmp(now, saved, MEM_PAGE) != 0;
  if (w->way == COMPARE) return !changed;
  if (changed && w->way == SAVE) save_page(w->i, page, now);
  if (changed && w->way == RESTORE) memcpy(now, saved, MEM_PAGE);
  if (page < w->i->saved->pages) eng_warm(w->i->saved, page, changed, !w->i->watched);
  leave_page(w, page);
  return true;
}

/* After a guest that ran wild, memory is given back. The pages without a copy need none: the mapping under
 * them holds their contents. */
static bool drop_run(struct walk *w, size_t page, size_t end) {
  const struct eng_saved *s = w->i->saved;
  for (size_t from; page < end; page++) {
    for (from = page; page < end && !eng_has_copy(s, page);) page++;
    if (page > from &&
        madvise(w->i->head.base + from * MEM_PAGE, (page - from) * MEM_PAGE, MADV_DONTNEED) != 0)
      return false;
    if (page < end && !visit_page(w, page)) return false;
  }
  return true;
}

static bool visit_run(void *ctx, size_t offset, size_t len) {
  struct walk *w = ctx;
  size_t page = offset / MEM_PAGE, end = page + len / MEM_PAGE;
  if (w->may_drop && len >= DROP_MIN && drop_run(w, page, end)) return true;
  for (; page < end; page++)
    if (!visit_page(w, page)) return false;
  return true;
}

/* ---- what may have been written ---- */

/* Usually few: then the kernel is asked once for a checkpoint, which looks at them twice. */
struct runs {
  eng_instance *i;
  size_t count, len;
  struct {
    size_t offset, len;
  } list[256]; /* the first of them */
};

static bool checkpoint_add_run(void *ctx, size_t offset, size_t len) {
  struct runs *r = ctx;
  if (r->count < COUNT_OF(r->list)) {
    r->list[r->count].offset = offset;
    r->list[r->count].len = len;
  }
  r->count++;
  r->len += len;
  return true;
}

static bool checkpoint_ask(eng_instance *i, eng_pages_fn *visit, void *ctx) {
  eng_pages_ask *pages = i->watched ? eng_pages_written : eng_pages_changed;
  return pages(i, eng_memory_len(i), visit, ctx);
}

static void find_runs(eng_instance *i, struct runs *r) {
  r->i = i;
  r->count = r->len = 0;
  (void)checkpoint_ask(i, checkpoint_add_run, r);
}

static bool each_run(const struct runs *r, eng_pages_fn *visit, void *ctx) {
  if (r->count > COUNT_OF(r->list)) return checkpoint_ask(r->i, visit, ctx);
  for (size_t n = 0; n < r->count; n++)
    if (!visit(ctx, r->list[n].offset, r->list[n].len)) return false;
  return true;
}

/* True: all of it was as it was saved (COMPARE), or is now. */
static bool walk(const struct runs *r, enum way way) {
  struct walk w = { .i = r->i, .way = way, .may_drop = way == RESTORE && r->len >= DROP_TOTAL };
  if (way != COMPARE) r->i->saved->round++;
  bool same = each_run(r, visit_run, &w);
  protect_cold(&w);
  return same;
}

/* ---- room, made before anything is changed, so that nothing can fail afterwards ---- */

static cay_status checkpoint_prepare(eng_instance *i, cay_error *err) {
  if (i->saved == NULL)
    i->saved = mem_zalloc(sizeof *i->saved + eng_globals_count(i->module) * sizeof *i->saved->globals);
  if (i->saved == NULL) return err_no_memory(err);
  return eng_saved_grow(i->saved, eng_memory_len(i) / MEM_PAGE, err);
}

/* ---- an image of its own ---- */

struct fresh {
  const eng_instance *i;
  size_t pages;
};

/* How many copies a checkpoint would have to make, at most. */
static bool count_fresh(void *ctx, size_t offset, size_t len) {
  struct fresh *f = ctx;
  for (size_t page = offset / MEM_PAGE, end = page + len / MEM_PAGE; page < end; page++)
    f->pages += !eng_has_copy(f->i->saved, page) && !image_is_ours(f->i, page);
  return true;
}

static uint64_t copies_with(const eng_instance *i, size_t fresh) {
  return (fresh + i->saved->copy_count) * MEM_PAGE;
}

/* Once the copies are about half of everything, an image costs no more memory than they do. */
static bool worth_an_image(const eng_instance *i, size_t fresh) {
  return copies_with(i, fresh) >= (i->image != NULL ? i->image->stored : 0) / 2;
}

static bool needs_an_image(const eng_instance *i, size_t fresh) {
  if (i->image == NULL) return true; /* unwritten pages are the module's data, which cannot be read there */
  if (fresh * MEM_PAGE < REBASE_FRESH && copies_with(i, fresh) < REBASE_COPIES) return false;
  return fresh > 0 && worth_an_image(i, fresh);
}

static cay_status checkpoint_rebase(eng_instance *i, cay_error *err) {
  OWNED(eng_image_unref) eng_image *image = NULL;
  S_TRY(eng_freeze(i, true, &image, err));
  S_TRY(eng_overlay(i, image, err));
  eng_saved_forget(i->saved);
  return CAY_OK;
}

/* ---- the calls ---- */

/* Memory that was mapped lately is watched from now on: later writes of the guest are reported. A page it
 * has written before is hot, and stays as it is. */
static void checkpoint_watch(eng_instance *i) {
  const eng_engine *engine = i->module->engine;
  if (i->watched || !eng_pages_watch(engine, i->head.base, ENG_RESERVED)) return;
  i->watched = true;
  eng_pages_protect_shared(engine, i->head.base, eng_memory_len(i));
}

/* The first checkpoint delays callers more often than later ones: it finds written pages without
 * watching. */
static cay_status checkpoint_save(eng_instance *i, bool first, cay_error *err) {
  struct runs runs;
  struct fresh fresh = { .i = i };
  find_runs(i, &runs);
  (void)each_run(&runs, count_fresh, &fresh);
  if (needs_an_image(i, fresh.pages)) {
    S_TRY(checkpoint_rebase(i, err));
  } else {
    (void)walk(&runs, SAVE);
    if (runs.count > 0 && !first) checkpoint_watch(i);
  }
  eng_globals_read(i, i->saved->globals);
  return CAY_OK;
}

static cay_status checkpoint_check(eng_instance *i, cay_error *err) {
  const char *why_not = eng_module_why_not_imageable(i->module);
  if (why_not != NULL) return err_set(err, CAY_UNSUPPORTED, "the module has no checkpoints: %s", why_not);
  S_TRY(eng_need_alone(i, err));
  assert(i->depth == 0);
  eng_drop_trap(i);
  return CAY_OK;
}

cay_status eng_checkpoint(eng_instance *i, cay_error *err) {
  S_TRY(checkpoint_check(i, err));
  if (i->asleep) eng_wake(i);
  bool first = i->saved == NULL;
  cay_status status = checkpoint_prepare(i, err);
  if (status == CAY_OK) status = checkpoint_save(i, first, err);
  if (status != CAY_OK && first) eng_saved_drop(i);
  return status;
}

cay_status eng_rollback(eng_instance *i, cay_error *err) {
  if (i->saved == NULL) return eng_instance_reset(i, err);
  S_TRY(eng_need_alone(i, err));
  assert(i->depth == 0);
  eng_drop_trap(i);
  if (i->asleep) eng_wake(i);
  struct runs runs;
  find_runs(i, &runs);
  if (!walk(&runs, RESTORE)) return err_set(err, CAY_IO, "rolling an instance back");
  eng_globals_write(i, i->saved->globals);
  return CAY_OK;
}

/* ---- at rest for longer ---- */

static bool drop_double(void *ctx, size_t offset, size_t len) {
  eng_instance *i = ctx;
  for (size_t page = offset / MEM_PAGE, end = page + len / MEM_PAGE, from; page < end; page++) {
    for (from = page; page < end && !eng_has_copy(i->saved, page);) page++;
    if (page > from)
      eng_pages_drop(i->watched ? i->module->engine : NULL, i->head.base + from * MEM_PAGE,
                     (page - from) * MEM_PAGE);
  }
  return true;
}

/* Until the next call a rollback would go back to the instance's own pages, so their copies can go. */
static void sleep_until_called(eng_instance *i) {
  struct eng_saved *s = i->saved;
  if (s->copy_count == 0) return;
  (void)madvise(s->copies, s->pages * MEM_PAGE, MADV_DONTNEED);
  i->asleep = true;
}

void eng_wake(eng_instance *i) {
  struct eng_saved *s = i->saved;
  i->asleep = false;
  for (size_t page = i->head.closed / MEM_PAGE, from; page < s->pages; page++) {
    if (s->has_copy[page / 64] == 0) page |= 63;
    for (from = page; page < s->pages && eng_has_copy(s, page);) page++;
    size_t len = (page - from) * MEM_PAGE;
    if (len == 0) continue;
    if (len >= POPULATE_MIN) (void)madvise(s->copies + from * MEM_PAGE, len, MADV_POPULATE_WRITE);
    memcpy(s->copies + from * MEM_PAGE, i->head.base + from * MEM_PAGE, len);
  }
}

cay_status eng_instance_settle(eng_instance *i, cay_error *err) {
  assert(i->depth == 0);
  S_TRY(eng_linear_trim(i, err));
  S_TRY(eng_checkpoint(i, err));
  if (copies_with(i, 0) >= SETTLE_MIN && worth_an_image(i, 0)) return checkpoint_rebase(i, err);
  (void)eng_pages_changed(i, eng_memory_len(i), drop_double, i);
  sleep_until_called(i);
  return CAY_OK;
}

bool eng_is_its_image(eng_instance *i) {
  if (i->image == NULL || i->image->len != eng_memory_len(i)) return false;
  if (i->saved != NULL && i->saved->copy_count > 0) return false;
  struct runs runs;
  find_runs(i, &runs);
  if (!walk(&runs, COMPARE)) return false;
  if (image_is_ours(i, 0)) {
    eng_globals_read(i, i->image->globals);
    return true;
  }
  return eng_globals_equal(i, i->image->globals);
}

static bool checkpoint_count_bytes(void *ctx, size_t offset, size_t len) {
  (void)offset;
  *(uint64_t *)ctx += len;
  return true;
}

uint64_t eng_instance_private_len(eng_instance *i) {
  uint64_t bytes = 0;
  if (!eng_pages_changed(i, eng_memory_len(i), checkpoint_count_bytes, &bytes)) return 0;
  if (i->saved != NULL && !i->asleep) bytes += i->saved->copy_count * MEM_PAGE;
  return bytes + (image_is_ours(i, 0) ? i->image->stored : 0);
}
