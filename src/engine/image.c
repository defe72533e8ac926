/* image.c - images: their memory, freezing an instance, comparing two, making instances from one,
 * resetting them (image.h). */
#include "base/alloc.h"
#include "base/error.h"
#include "engine/image_inner.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
  PAGE = MEM_PAGE,
  COPY_BACK_MAX = 1024 * PAGE, /* reset: beyond this many changed bytes pages are dropped; until then the
                                  next run has no faults */
};

/* ---- the memory of an image ---- */

bool eng_page_is_zero(const uint8_t *page) {
  uint64_t word;
  memcpy(&word, page, sizeof word);
  return word == 0 && memcmp(page, page + sizeof word, PAGE - sizeof word) == 0;
}

cay_status eng_image_blank(eng_module *module, uint64_t len, bool memfd, eng_image **out, cay_error *err) {
  size_t globals = eng_globals_count(module);
  OWNED(eng_image_unref) eng_image *image = mem_zalloc(sizeof *image + globals * sizeof *image->globals);
  if (image == NULL) return err_no_memory(err);
  image->refs = 1;
  image->fd = -1;
  image->module = eng_module_ref(module);
  image->len = len;
  if (memfd) {
    image->fd = memfd_create("cay-image", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (image->fd < 0) return err_errno(err, errno, "making an image");
    if (ftruncate(image->fd, (off_t)len) != 0) return err_errno(err, errno, "sizing an image");
  }
  *out = MOVE(image);
  return CAY_OK;
}

cay_status eng_image_put(eng_image *image, const void *data, size_t len, uint64_t at, cay_error *err) {
  S_TRY(eng_file_put(image->fd, data, len, image->offset + at, "an image", err));
  image->stored += len;
  return CAY_OK;
}

cay_status eng_image_map(eng_image *image, bool own, cay_error *err) {
  int seals = F_SEAL_SHRINK | F_SEAL_GROW | (own ? 0 : F_SEAL_WRITE) | F_SEAL_SEAL;
  (void)fcntl(image->fd, F_ADD_SEALS, seals); /* a file of the installation has none */
  if (image->len == 0) return CAY_OK;
  int rights = own ? PROT_READ | PROT_WRITE : PROT_READ;
  void *master = mmap(NULL, image->len, rights, MAP_SHARED, image->fd, (off_t)image->offset);
  if (master == MAP_FAILED) return err_errno(err, errno, "mapping an image");
  image->master = master;
  image->own = own ? master : NULL;
  return CAY_OK;
}

/* The next stretch at or after *start that is no hole; false: none. Where the file system knows no holes, all
 * of the rest. */
static bool next_data(const eng_image *image, uint64_t *start, uint64_t *end) {
  off_t base = (off_t)image->offset, last = base + (off_t)image->len;
  off_t from = lseek(image->fd, base + (off_t)*start, SEEK_DATA);
  if (from < 0 || from >= last) return false;
  off_t to = lseek(image->fd, from, SEEK_HOLE);
  *start = (uint64_t)(from - base) & ~(uint64_t)(PAGE - 1);
  *end = ((uint64_t)((to < last ? to : last) - base) + PAGE - 1) & ~(uint64_t)(PAGE - 1);
  return *end > *start;
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

static cay_status new_set(struct page_set *set, size_t count, cay_error *err) {
  set->count = count;
  set->bits = mem_zalloc_array(count / 64 + 1, sizeof *set->bits);
  return set->bits != NULL ? CAY_OK : err_no_memory(err);
}

static void add_layer(struct page_set *set, const eng_image *layer) {
  for (size_t page = 0; page < set->count && page < layer->len / PAGE; page += 64)
    set->bits[page / 64] |= layer->bits[page / 64];
}

static void add_image(struct page_set *set, const eng_image *image) {
  if (image->base != NULL) {
    add_layer(set, image);
    image = image->base;
  }
  for (uint64_t start = 0, end; start < image->len && next_data(image, &start, &end); start = end)
    add_pages(set, start, end - start);
}

static const uint8_t *page_of(const eng_image *image, size_t page) {
  uint64_t len = PAGE;
  return eng_image_at(image, page * PAGE, &len);
}

static cay_status visit_set(const eng_image *image, const struct page_set *set, eng_run_fn *visit, void *ctx,
                            cay_error *err) {
  for (size_t page = 0, first; page < set->count; page++) {
    if (set->bits[page / 64] == 0) page |= 63;
    first = page;
    while (page < set->count && (set->bits[page / 64] >> page % 64 & 1) &&
           !eng_page_is_zero(page_of(image, page)))
      page++;
    if (first != page) S_TRY(visit(ctx, first * PAGE, (page - first) * PAGE, err));
  }
  return CAY_OK;
}

cay_status eng_image_runs(const eng_image *image, eng_run_fn *visit, void *ctx, cay_error *err) {
  struct page_set set;
  S_TRY(new_set(&set, image->len / PAGE, err));
  add_image(&set, image);
  cay_status status = visit_set(image, &set, visit, ctx, err);
  mem_free(set.bits);
  return status;
}

static cay_status compare_set(const eng_image *image, const eng_image *base, const struct page_set *set,
                              eng_page_fn *visit, void *ctx, cay_error *err) {
  for (size_t page = 0; page < set->count; page++) {
    if (set->bits[page / 64] == 0) page |= 63;
    if (page >= set->count || (set->bits[page / 64] >> page % 64 & 1) == 0) continue;
    const uint8_t *now = eng_image_page(image, page), *below = eng_image_page(base, page);
    if (now != below && memcmp(now, below, PAGE) != 0) S_TRY(visit(ctx, page, now, below, err));
  }
  return CAY_OK;
}

cay_status eng_image_compare(const eng_image *image, const eng_image *base, eng_page_fn *visit, void *ctx,
                             cay_error *err) {
  struct page_set set;
  S_TRY(new_set(&set, image->len / PAGE, err));
  if (image->base == base) {
    add_layer(&set, image);
  } else {
    add_image(&set, image);
    add_image(&set, base);
  }
  cay_status status = compare_set(image, base, &set, visit, ctx, err);
  mem_free(set.bits);
  return status;
}

/* ---- freezing ---- */

/* What lies under pages that were never written: an image's data, or the module's. */
static void add_underneath(struct page_set *set, const eng_instance *i) {
  if (i->image == NULL) {
    uint64_t start = i->module->data_start & ~(uint64_t)(PAGE - 1);
    add_pages(set, start, i->module->data_end - start);
    return;
  }
  add_image(set, i->image);
}

/* Zero pages stay holes, and so does the closed part of the stack. */
static cay_status write_pages(eng_image *image, const eng_instance *i, const struct page_set *set,
                              cay_error *err) {
  const uint8_t *base = i->head.base;
  for (size_t page = i->head.closed / PAGE, first; page < set->count; page++) {
    if (set->bits[page / 64] == 0) page |= 63;
    first = page;
    while (page < set->count && (set->bits[page / 64] >> page % 64 & 1) &&
           !eng_page_is_zero(base + page * PAGE))
      page++;
    if (first == page) continue;
    S_TRY(eng_image_put(image, base + first * PAGE, (page - first) * PAGE, first * PAGE, err));
  }
  return CAY_OK;
}

static cay_status write_memory(eng_image *image, eng_instance *i, cay_error *err) {
  struct page_set set;
  S_TRY(new_set(&set, image->len / PAGE, err));
  add_underneath(&set, i);
  (void)eng_pages_changed(i, image->len, add_pages, &set);
  cay_status status = write_pages(image, i, &set, err);
  mem_free(set.bits);
  return status;
}

cay_status eng_freeze(eng_instance *i, bool own, eng_image **out, cay_error *err) {
  OWNED(eng_image_unref) eng_image *image = NULL;
  S_TRY(eng_image_blank(i->module, eng_memory_len(i), true, &image, err));
  S_TRY(write_memory(image, i, err));
  S_TRY(eng_image_map(image, own, err));
  eng_globals_read(i, image->globals);
  *out = MOVE(image);
  return CAY_OK;
}

cay_status eng_need_alone(const eng_instance *i, cay_error *err) {
  return eng_memory_is_alone(i) ? CAY_OK : err_set(err, CAY_BUSY, "it has threads that have not ended");
}

cay_status eng_image_freeze(eng_instance *i, eng_image **out, cay_error *err) {
  const char *why_not = eng_module_why_not_imageable(i->module);
  if (why_not != NULL) return err_set(err, CAY_UNSUPPORTED, "the module cannot be frozen: %s", why_not);
  S_TRY(eng_need_alone(i, err));
  assert(i->depth == 0);
  S_TRY(eng_linear_trim(i, err));
  if (eng_is_its_image(i)) {
    *out = eng_image_ref(i->image);
    return CAY_OK;
  }
  return eng_layer_suits(i) ? eng_layer_freeze(i, out, err) : eng_freeze(i, false, out, err);
}

/* The mapping is that of `from`, which is the source of `to`. */
static cay_status share_layer(const eng_image *from, eng_image *to, cay_error *err) {
  S_TRY(eng_image_for(from->base, to->module, &to->base, err));
  size_t words = from->len / MEM_PAGE / 64 + 1;
  to->bits = mem_zalloc_array(words, sizeof *to->bits);
  if (to->bits == NULL) return err_no_memory(err);
  memcpy(to->bits, from->bits, words * sizeof *to->bits);
  to->not_zero = from->not_zero;
  to->master = from->master;
  return CAY_OK;
}

cay_status eng_image_for(eng_image *image, eng_module *module, eng_image **out, cay_error *err) {
  if (image->module == module) {
    *out = eng_image_ref(image);
    return CAY_OK;
  }
  if (!digest_equal(eng_module_digest(image->module), eng_module_digest(module)))
    return err_set(err, CAY_UNSUPPORTED, "the image belongs to another module");
  OWNED(eng_image_unref) eng_image *same = NULL;
  S_TRY(eng_image_blank(module, image->len, false, &same, err));
  memcpy(same->globals, image->globals, eng_globals_count(module) * sizeof *same->globals);
  same->source = eng_image_ref(image); /* so that no instance takes it for its own */
  same->offset = image->offset;
  same->stored = image->stored;
  if (image->fd >= 0 && (same->fd = fcntl(image->fd, F_DUPFD_CLOEXEC, 0)) < 0)
    return err_errno(err, errno, "sharing an image");
  if (image->base != NULL) S_TRY(share_layer(image, same, err));
  if (image->base == NULL && same->fd >= 0) S_TRY(eng_image_map(same, false, err));
  *out = MOVE(same);
  return CAY_OK;
}

eng_image *eng_image_ref(eng_image *image) {
  atomic_fetch_add(&image->refs, 1);
  return image;
}

void eng_image_unref(eng_image *image) {
  if (image == NULL || atomic_fetch_sub(&image->refs, 1) > 1) return;
  bool borrows = image->source != NULL && image->bits != NULL;
  if (image->master != NULL && !borrows) (void)munmap((void *)(uintptr_t)image->master, image->len);
  if (image->fd >= 0) (void)close(image->fd);
  eng_image_unref(image->source);
  eng_image_unref(image->base);
  eng_image_unref(atomic_load(&image->whole));
  mem_free(image->bits);
  eng_module_unref(image->module);
  mem_free(image);
}

eng_module *eng_image_module(const eng_image *image) { return image->module; }
uint64_t eng_image_memory_len(const eng_image *image) { return image->len; }
uint64_t eng_image_own_len(const eng_image *image) { return image->stored; }
uint64_t eng_image_stored_len(const eng_image *image) {
  return image->base != NULL ? image->not_zero : image->stored;
}

/* ---- instances from an image ---- */

cay_status eng_image_map_at(const eng_image *image, uint8_t *base, uint64_t from, cay_error *err) {
  if (image->len > from &&
      mmap(base + from, image->len - from, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE | MAP_NORESERVE,
           image->fd, (off_t)(image->offset + from)) == MAP_FAILED)
    return err_errno(err, errno, "mapping an image");
  return CAY_OK;
}

cay_status eng_overlay(eng_instance *i, eng_image *image, cay_error *err) {
  S_TRY(eng_image_map_at(image, i->head.base, i->head.closed, err));
  eng_image *before = i->image;
  i->image = eng_image_ref(image);
  i->forks = 0;
  i->watched = false;
  eng_image_unref(before);
  return CAY_OK;
}

cay_status eng_grow_to(eng_instance *i, uint64_t len, cay_error *err) {
  uint32_t old;
  uint64_t now = eng_memory_len(i);
  return now >= len ? CAY_OK : eng_memory_grow(i, (uint32_t)((len - now) / ENG_PAGE), &old, err);
}

/* What memory is mapped from in an instance of it. */
static eng_image *ground_of(eng_image *image) { return image->base != NULL ? image->base : image; }

static uint64_t image_closed(const eng_image *image) {
  return eng_linear_closed(image->module, eng_globals_stack(image->module, image->globals));
}

static cay_status image_use(eng_image *image, const eng_instance_options *options, eng_instance **out,
                            cay_error *err) {
  S_TRY(eng_instance_build(image->module, options, image_closed(image), out, err));
  S_TRY(eng_grow_to(*out, image->len, err));
  S_TRY(eng_overlay(*out, ground_of(image), err));
  eng_layer_apply(image, (*out)->head.base, (*out)->head.closed);
  return CAY_OK;
}

/* The memory is complete before its instance is made, whose start function then finds it so. */
static cay_status image_use_shared(eng_image *image, const eng_instance_options *options, eng_instance **out,
                                   cay_error *err) {
  OWNED(eng_shared_unref) eng_shared *shared = NULL;
  S_TRY(eng_instance_check(image->module, options, err));
  if (options->memory_max != 0 && image->len > options->memory_max)
    return err_set(err, CAY_LIMIT, "the image has %llu bytes of memory, the limit is %llu",
                   (unsigned long long)image->len, (unsigned long long)options->memory_max);
  S_TRY(eng_shared_from(image->module, image->len, ground_of(image), &shared, err));
  eng_layer_apply(image, wasmtime_sharedmemory_data(shared->memory), 0);
  S_TRY(eng_instance_make(image->module, MOVE(shared), options, 0, out, err));
  (*out)->image = eng_image_ref(ground_of(image));
  return CAY_OK;
}

cay_status eng_instance_from_image(eng_image *image, const eng_instance_options *options, eng_instance **out,
                                   cay_error *err) {
  OWNED(eng_instance_free) eng_instance *i = NULL;
  image = eng_image_to_use(image);
  S_TRY(image->module->shared_max != 0 ? image_use_shared(image, options, &i, err)
                                       : image_use(image, options, &i, err));
  eng_globals_write(i, image->globals);
  i->origin = eng_image_ref(image);
  *out = MOVE(i);
  return CAY_OK;
}

/* ---- reset ---- */

struct copy_back {
  uint8_t *memory;
  const eng_image *image;
  size_t left;
};

static bool copy_back(void *ctx, size_t offset, size_t len) {
  struct copy_back *c = ctx;
  if (len > c->left) return false;
  c->left -= len;
  for (uint64_t at = offset, n; at < offset + len; at += n) {
    n = offset + len - at;
    const uint8_t *from = eng_image_at(c->image, at, &n);
    memcpy(c->memory + at, from, n);
  }
  return true;
}

static cay_status image_drop(eng_instance *i, uint64_t from, uint64_t to, cay_error *err) {
  if (from < to && madvise(i->head.base + from, to - from, MADV_DONTNEED) != 0)
    return err_errno(err, errno, "resetting an instance");
  return CAY_OK;
}

static cay_status undo_changes(eng_instance *i, cay_error *err) {
  const eng_image *image = i->origin;
  struct copy_back c = { .memory = i->head.base, .image = image, .left = COPY_BACK_MAX };
  if (!eng_pages_changed(i, image->len, copy_back, &c)) {
    S_TRY(image_drop(i, i->head.closed, image->len, err));
    eng_layer_apply(image, i->head.base, i->head.closed);
  }
  return image_drop(i, image->len, eng_memory_len(i), err);
}

/* Where checkpoints or forks have mapped another image, or protected pages. */
static cay_status map_again(eng_instance *i, cay_error *err) {
  eng_image *ground = ground_of(i->origin);
  uint64_t grown = eng_memory_len(i) - ground->len;
  S_TRY(eng_overlay(i, ground, err));
  if (grown > 0 && mmap(i->head.base + ground->len, grown, PROT_READ | PROT_WRITE,
                        MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED)
    return err_errno(err, errno, "resetting an instance");
  eng_layer_apply(i->origin, i->head.base, i->head.closed);
  eng_saved_drop(i);
  return CAY_OK;
}

cay_status eng_instance_reset(eng_instance *i, cay_error *err) {
  if (i->origin == NULL) return err_set(err, CAY_INVALID, "the instance was not made from an image");
  S_TRY(eng_need_alone(i, err));
  assert(i->depth == 0);
  eng_drop_trap(i);
  S_TRY(eng_linear_close(i, image_closed(i->origin), err));
  bool as_made = i->image == ground_of(i->origin) && i->saved == NULL;
  S_TRY(as_made ? undo_changes(i, err) : map_again(i, err));
  eng_globals_write(i, i->origin->globals);
  return CAY_OK;
}
