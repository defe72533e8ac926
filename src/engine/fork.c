/* fork.c - an instance copied for fork(2): memory and globals, copy-on-write. */
#include "base/error.h"
#include "engine/image_inner.h"

#include <string.h>
#include <sys/mman.h>

enum { REBASE_MIN = 64 * MEM_PAGE }; /* below this a new image is not worth its price */

static bool fork_count_bytes(void *ctx, size_t offset, size_t len) {
  (void)offset;
  *(size_t *)ctx += len;
  return true;
}

/* A parent that forks again, and has made most of its pages its own, is worth freezing: that costs about
 * twice a copy of those pages, and afterwards parent and children map the image and copy only what either of
 * them writes. */
static bool worth_rebasing(const eng_instance *parent) {
  if (parent->forks == 0 || parent->saved != NULL) return false; /* the saved pages refer to its image */
  size_t changed = 0;
  (void)eng_pages_changed(parent, parent->head.len, fork_count_bytes, &changed);
  uint64_t stored = parent->image != NULL ? parent->image->stored : 0;
  return changed >= REBASE_MIN && changed >= stored / 2;
}

static cay_status fork_rebase(eng_instance *parent, cay_error *err) {
  OWNED(eng_image_unref) eng_image *image = NULL;
  S_TRY(eng_freeze(parent, false, &image, err));
  return eng_overlay(parent, image, err);
}

struct copy_over {
  uint8_t *to;
  const uint8_t *from;
};

static bool copy_over(void *ctx, size_t offset, size_t len) {
  struct copy_over *c = ctx;
  if (len >= POPULATE_MIN) (void)madvise(c->to + offset, len, MADV_POPULATE_WRITE);
  memcpy(c->to + offset, c->from + offset, len);
  return true;
}

/* Where the host cannot say exactly which pages changed, those that differ. */
static bool copy_differing(void *ctx, size_t offset, size_t len) {
  struct copy_over *c = ctx;
  for (size_t at = offset; at < offset + len; at += MEM_PAGE)
    if (memcmp(c->to + at, c->from + at, MEM_PAGE) != 0) memcpy(c->to + at, c->from + at, MEM_PAGE);
  return true;
}

/* To the same places as in the parent. */
static void copy_memory(uint8_t *to, eng_instance *parent) {
  struct copy_over c = { .to = to, .from = parent->head.base };
  eng_pages_fn *copy = !parent->module->engine->scans ? copy_differing : copy_over;
  (void)eng_pages_changed(parent, parent->head.len, copy, &c);
}

/* The child's memory is complete before its instance is made, whose start function then finds it so. Pages that were
 * never written are zero in both, or the image's. */
static cay_status fork_shared(eng_instance *parent, const eng_instance_options *options, eng_instance **out,
                              cay_error *err) {
  OWNED(eng_shared_unref) eng_shared *shared = NULL;
  S_TRY(eng_shared_from(parent->module, eng_memory_len(parent), parent->image, &shared, err));
  copy_memory(wasmtime_sharedmemory_data(shared->memory), parent);
  S_TRY(eng_instance_make(parent->module, MOVE(shared), options, 0, out, err));
  if (parent->image != NULL) (*out)->image = eng_image_ref(parent->image);
  eng_globals_copy(*out, parent);
  return CAY_OK;
}

cay_status eng_instance_fork(eng_instance *parent, const eng_instance_options *options, eng_instance **out,
                             cay_error *err) {
  if (!parent->module->forkable)
    return err_set(err, CAY_UNSUPPORTED, "the module cannot be forked: %s", parent->module->why_not);
  if (parent->shared != NULL) return fork_shared(parent, options, out, err);
  OWNED(eng_instance_free) eng_instance *child = NULL;
  S_TRY(eng_instance_build(parent->module, options, parent->head.closed, &child, err));
  S_TRY(eng_grow_to(child, eng_memory_len(parent), err));
  if (worth_rebasing(parent)) S_TRY(fork_rebase(parent, err));
  if (parent->image != NULL) S_TRY(eng_overlay(child, parent->image, err));
  copy_memory(child->head.base, parent);
  eng_globals_copy(child, parent);
  parent->forks++;
  *out = MOVE(child);
  return CAY_OK;
}
