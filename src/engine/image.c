#include "base/alloc.h"
#include "base/error.h"
#include "engine/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
  PAGE = 4096,
  COPY_BACK_MAX =
      128 * PAGE, /* reset: beyond this many changed bytes the kernel drops pages faster than we copy */
  REBASE_MIN = 64 * PAGE,  /* fork: below this a new image is not worth its price */
  POPULATE_MIN = 8 * PAGE, /* one call for many faults */
};

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

struct eng_image {
  _Atomic size_t refs;
  eng_module *module;
  int fd;
  uint64_t len, stored;
  const uint8_t *master;    /* all of it, read-only */
  wasmtime_val_t globals[]; /* one for each exported mutable global, in the order of module->exports */
};

/* ---- globals ---- */

static void each_global(eng_instance *i, wasmtime_val_t *values, bool restore) {
  size_t count = 0;
  for (size_t n = 0; n < i->module->export_count; n++) {
    const struct export *e = &i->module->exports[n];
    wasmtime_extern_t item;
    if (e->kind != ENG_KIND_GLOBAL || !e->is_mutable) continue;
    if (!wasmtime_instance_export_get(i->cx, &i->wasm, e->name, e->len, &item)) continue;
    if (!restore) wasmtime_global_get(i->cx, &item.of.global, &values[count]);
    wasmtime_error_t *error = restore ? wasmtime_global_set(i->cx, &item.of.global, &values[count]) : NULL;
    if (error != NULL) wasmtime_error_delete(error);
    count++;
  }
}

static size_t global_count(const eng_module *m) {
  size_t count = 0;
  for (size_t n = 0; n < m->export_count; n++)
    count += m->exports[n].kind == ENG_KIND_GLOBAL && m->exports[n].is_mutable;
  return count;
}

/* ---- freezing ---- */

static bool is_zero(const uint8_t *page) {
  uint64_t word;
  memcpy(&word, page, sizeof word);
  return word == 0 && memcmp(page, page + sizeof word, PAGE - sizeof word) == 0;
}

static cay_status write_run(int fd, const uint8_t *base, uint64_t from, uint64_t to, cay_error *err) {
  while (from < to) {
    if (mem_fault_here()) return err_errno(err, EIO, "writing an image");
    ssize_t n = pwrite(fd, base + from, to - from, (off_t)from);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return err_errno(err, n < 0 ? errno : EIO, "writing an image");
    from += (uint64_t)n;
  }
  return CAY_OK;
}

/* Which pages may hold anything: one bit each. Reading the others would only make the kernel allocate them.
 */
struct page_set {
  uint64_t *bits;
  size_t count;
};

static bool add_pages(void *ctx, size_t offset, size_t len) {
  struct page_set *set = ctx;
  for (size_t page = offset / PAGE; page < set->count && page * PAGE < offset + len; page++)
    set->bits[page / 64] |= UINT64_C(1) << page % 64;
  return true;
}

/* What lies under pages that were never written: an image's data, or the module's. */
static void add_underneath(struct page_set *set, const eng_instance *i) {
  if (i->image == NULL) {
    uint64_t start = i->module->data_start & ~(uint64_t)(PAGE - 1);
    add_pages(set, start, i->module->data_end - start);
    return;
  }
  for (off_t start = 0, end; (start = lseek(i->image->fd, start, SEEK_DATA)) >= 0; start = end) {
    end = lseek(i->image->fd, start, SEEK_HOLE);
    if (end <= start) return;
    add_pages(set, (size_t)start, (size_t)(end - start));
  }
}

/* Zero pages stay holes. */
static cay_status write_pages(eng_image *image, const uint8_t *base, const struct page_set *set,
                              cay_error *err) {
  for (size_t page = 0, first; page < set->count; page++) {
    if (set->bits[page / 64] == 0) page |= 63;
    first = page;
    while (page < set->count && (set->bits[page / 64] >> page % 64 & 1) && !is_zero(base + page * PAGE))
      page++;
    if (first == page) continue;
    S_TRY(write_run(image->fd, base, first * PAGE, page * PAGE, err));
    image->stored += (page - first) * PAGE;
  }
  return CAY_OK;
}

static cay_status write_memory(eng_image *image, eng_instance *i, cay_error *err) {
  size_t count = image->len / PAGE;
  struct page_set set = { .bits = mem_zalloc_array(count / 64 + 1, sizeof(uint64_t)), .count = count };
  if (set.bits == NULL) return err_no_memory(err);
  add_underneath(&set, i);
  (void)eng_pages_changed(i->module->engine, i->head.base, image->len, add_pages, &set);
  cay_status status = write_pages(image, i->head.base, &set, err);
  mem_free(set.bits);
  return status;
}

static cay_status fill(eng_image *image, eng_instance *i, cay_error *err) {
  image->fd = memfd_create("cay-image", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (image->fd < 0) return err_errno(err, errno, "making an image");
  if (ftruncate(image->fd, (off_t)image->len) != 0) return err_errno(err, errno, "sizing an image");
  S_TRY(write_memory(image, i, err));
  (void)fcntl(image->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
  if (image->len == 0) return CAY_OK;
  void *master = mmap(NULL, image->len, PROT_READ, MAP_SHARED, image->fd, 0);
  if (master == MAP_FAILED) return err_errno(err, errno, "mapping an image");
  image->master = master;
  return CAY_OK;
}

static cay_status freeze(eng_instance *i, eng_image **out, cay_error *err) {
  size_t globals = global_count(i->module);
  OWNED(eng_image_unref) eng_image *image = mem_zalloc(sizeof *image + globals * sizeof *image->globals);
  if (image == NULL) return err_no_memory(err);
  image->refs = 1;
  image->fd = -1;
  image->module = eng_module_ref(i->module);
  image->len = eng_memory_len(i);
  S_TRY(fill(image, i, err));
  each_global(i, image->globals, false);
  *out = MOVE(image);
  return CAY_OK;
}

cay_status eng_image_freeze(eng_instance *i, eng_image **out, cay_error *err) {
  const char *why_not = eng_module_why_not_imageable(i->module);
  if (why_not != NULL) return err_set(err, CAY_UNSUPPORTED, "the module cannot be frozen: %s", why_not);
  assert(i->depth == 0);
  return freeze(i, out, err);
}

eng_image *eng_image_ref(eng_image *image) {
  atomic_fetch_add(&image->refs, 1);
  return image;
}

void eng_image_unref(eng_image *image) {
  if (image == NULL || atomic_fetch_sub(&image->refs, 1) > 1) return;
  if (image->master != NULL) (void)munmap((void *)(uintptr_t)image->master, image->len);
  if (image->fd >= 0) (void)close(image->fd);
  eng_module_unref(image->module);
  mem_free(image);
}

eng_module *eng_image_module(const eng_image *image) { return image->module; }
uint64_t eng_image_memory_len(const eng_image *image) { return image->len; }
uint64_t eng_image_stored_len(const eng_image *image) { return image->stored; }

/* ---- instances from an image ---- */

/* The image becomes what the memory is mapped from; the instance takes a reference. */
static cay_status overlay(eng_instance *i, eng_image *image, cay_error *err) {
  if (image->len > 0 && mmap(i->head.base, image->len, PROT_READ | PROT_WRITE,
                             MAP_FIXED | MAP_PRIVATE | MAP_NORESERVE, image->fd, 0) == MAP_FAILED)
    return err_errno(err, errno, "mapping an image");
  eng_image *before = i->image;
  i->image = eng_image_ref(image);
  i->forks = 0;
  eng_image_unref(before);
  return CAY_OK;
}

static cay_status grow_to(eng_instance *i, uint64_t len, cay_error *err) {
  uint32_t old;
  uint64_t now = eng_memory_len(i);
  return now >= len ? CAY_OK : eng_memory_grow(i, (uint32_t)((len - now) / ENG_PAGE), &old, err);
}

cay_status eng_instance_from_image(eng_image *image, const eng_instance_options *options, eng_instance **out,
                                   cay_error *err) {
  OWNED(eng_instance_free) eng_instance *i = NULL;
  S_TRY(eng_instance_new(image->module, options, &i, err));
  S_TRY(grow_to(i, image->len, err));
  S_TRY(overlay(i, image, err));
  each_global(i, image->globals, true);
  i->resettable = true;
  *out = MOVE(i);
  return CAY_OK;
}

/* ---- reset ---- */

struct copy_back {
  uint8_t *base;
  const uint8_t *master;
  size_t left;
};

static bool copy_back(void *ctx, size_t offset, size_t len) {
  struct copy_back *c = ctx;
  if (len > c->left) return false;
  c->left -= len;
  memcpy(c->base + offset, c->master + offset, len);
  return true;
}

cay_status eng_instance_reset(eng_instance *i, cay_error *err) {
  eng_image *image = i->image;
  if (!i->resettable)
    return err_set(err, CAY_INVALID, "the instance was not made from an image, or has forked");
  assert(i->depth == 0);
  eng_drop_trap(i);
  struct copy_back c = { .base = i->head.base, .master = image->master, .left = COPY_BACK_MAX };
  if (!eng_pages_changed(i->module->engine, i->head.base, image->len, copy_back, &c) &&
      madvise(i->head.base, image->len, MADV_DONTNEED) != 0)
    return err_errno(err, errno, "resetting an instance");
  uint64_t grown = eng_memory_len(i) - image->len;
  if (grown > 0 && madvise(i->head.base + image->len, grown, MADV_DONTNEED) != 0)
    return err_errno(err, errno, "resetting an instance");
  each_global(i, image->globals, true);
  return CAY_OK;
}

/* ---- fork ---- */

static bool count_bytes(void *ctx, size_t offset, size_t len) {
  (void)offset;
  *(size_t *)ctx += len;
  return true;
}

/* A parent that forks again, and has made most of its pages its own, is worth freezing: that costs about
 * twice a copy of those pages, and afterwards parent and children map the image and copy only what either of
 * them writes. */
static bool worth_rebasing(const eng_instance *parent) {
  if (parent->forks == 0) return false;
  size_t changed = 0;
  (void)eng_pages_changed(parent->module->engine, parent->head.base, parent->head.len, count_bytes, &changed);
  uint64_t stored = parent->image != NULL ? parent->image->stored : 0;
  return changed >= REBASE_MIN && changed >= stored / 2;
}

static cay_status rebase(eng_instance *parent, cay_error *err) {
  OWNED(eng_image_unref) eng_image *image = NULL;
  S_TRY(freeze(parent, &image, err));
  parent->resettable = false;
  return overlay(parent, image, err);
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

/* Where the host cannot say which pages changed, those that differ. */
static bool copy_differing(void *ctx, size_t offset, size_t len) {
  struct copy_over *c = ctx;
  for (size_t at = offset; at < offset + len; at += PAGE)
    if (memcmp(c->to + at, c->from + at, PAGE) != 0) memcpy(c->to + at, c->from + at, PAGE);
  return true;
}

static void copy_memory(eng_instance *child, eng_instance *parent) {
  struct copy_over c = { .to = child->head.base, .from = parent->head.base };
  const eng_engine *engine = parent->module->engine;
  eng_pages_fn *copy = engine->pagemap < 0 ? copy_differing : copy_over;
  (void)eng_pages_changed(engine, parent->head.base, parent->head.len, copy, &c);
}

static void copy_globals(eng_instance *child, eng_instance *parent) {
  for (size_t n = 0; n < parent->module->export_count; n++) {
    const struct export *e = &parent->module->exports[n];
    wasmtime_extern_t from, to;
    if (e->kind != ENG_KIND_GLOBAL || !e->is_mutable) continue;
    if (!wasmtime_instance_export_get(parent->cx, &parent->wasm, e->name, e->len, &from)) continue;
    if (!wasmtime_instance_export_get(child->cx, &child->wasm, e->name, e->len, &to)) continue;
    wasmtime_val_t value;
    wasmtime_global_get(parent->cx, &from.of.global, &value);
    wasmtime_error_t *error = wasmtime_global_set(child->cx, &to.of.global, &value);
    if (error != NULL) wasmtime_error_delete(error);
  }
}

cay_status eng_instance_fork(eng_instance *parent, const eng_instance_options *options, eng_instance **out,
                             cay_error *err) {
  if (!parent->module->forkable)
    return err_set(err, CAY_UNSUPPORTED, "the module cannot be forked: %s", parent->module->why_not);
  OWNED(eng_instance_free) eng_instance *child = NULL;
  S_TRY(eng_instance_new(parent->module, options, &child, err));
  S_TRY(grow_to(child, eng_memory_len(parent), err));
  if (worth_rebasing(parent)) S_TRY(rebase(parent, err));
  if (parent->image != NULL) S_TRY(overlay(child, parent->image, err));
  copy_memory(child, parent);
  copy_globals(child, parent);
  parent->forks++;
  *out = MOVE(child);
  return CAY_OK;
}
