/* An image that differs from another in few pages stores those, and refers to the other for the rest. What an
 * interpreter changes in a call or two is a tenth of its first pages.
 *
 * Memory is never mapped from a layer: that would take a mapping for each run of its pages. An instance of it
 * is mapped from the base, and the pages are copied. Once that has cost as much as a whole image would have,
 * the whole image is made. */
#include "base/alloc.h"
#include "base/error.h"
#include "engine/image_inner.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const uint8_t zeros[MEM_PAGE];

static bool layer_is_own(const eng_image *image, size_t page) {
  return (image->bits[page / 64] >> page % 64 & 1) != 0;
}

const uint8_t *eng_image_at(const eng_image *image, uint64_t at, uint64_t *len) {
  if (image->base == NULL) return image->master + at;
  size_t page = at / MEM_PAGE, end = page + *len / MEM_PAGE, base_end = image->base->len / MEM_PAGE;
  bool own = layer_is_own(image, page);
  if (!own && page >= base_end) {
    *len = MEM_PAGE;
    return zeros;
  }
  if (!own && end > base_end) end = base_end;
  size_t next = page + 1;
  while (next < end && layer_is_own(image, next) == own) next++;
  *len = (next - page) * MEM_PAGE;
  return (own ? image->master : image->base->master) + at;
}

/* ---- making one ---- */

struct layering {
  eng_image *image;
  const uint8_t *memory;
  cay_status status;
  cay_error *err;
};

const uint8_t *eng_image_page(const eng_image *image, size_t page) {
  uint64_t len = MEM_PAGE;
  return page < image->len / MEM_PAGE ? eng_image_at(image, page * MEM_PAGE, &len) : zeros;
}

void eng_layer_own(eng_image *layer, size_t page, const uint8_t *data) {
  layer->bits[page / 64] |= UINT64_C(1) << page % 64;
  if (!eng_page_is_zero(data)) layer->not_zero += MEM_PAGE;
  if (!eng_page_is_zero(eng_image_page(layer->base, page))) layer->not_zero -= MEM_PAGE;
}

static bool take_page(struct layering *l, size_t page) {
  const uint8_t *now = l->memory + page * MEM_PAGE;
  if (memcmp(now, eng_image_page(l->image->base, page), MEM_PAGE) == 0) return false;
  eng_layer_own(l->image, page, now);
  return true;
}

static bool take_run(void *ctx, size_t offset, size_t len) {
  struct layering *l = ctx;
  for (size_t page = offset / MEM_PAGE, end = page + len / MEM_PAGE, from; page < end; page++) {
    for (from = page; page < end && take_page(l, page);) page++;
    if (page == from) continue;
    l->status = eng_image_put(l->image, l->memory + from * MEM_PAGE, (page - from) * MEM_PAGE,
                              from * MEM_PAGE, l->err);
    if (l->status != CAY_OK) return false;
  }
  return true;
}

static bool layer_count_bytes(void *ctx, size_t offset, size_t len) {
  (void)offset;
  *(uint64_t *)ctx += len;
  return true;
}

bool eng_layer_suits(eng_instance *i) {
  uint64_t changed = 0;
  if (i->image == NULL) return false;
  (void)eng_pages_changed(i, eng_memory_len(i), layer_count_bytes, &changed);
  return changed < i->image->stored / 2;
}

cay_status eng_layer_blank(eng_image *base, uint64_t len, eng_image **out, cay_error *err) {
  OWNED(eng_image_unref) eng_image *image = NULL;
  S_TRY(eng_image_blank(base->module, len, true, &image, err));
  image->base = eng_image_ref(base);
  image->not_zero = base->stored;
  image->bits = mem_zalloc_array(len / MEM_PAGE / 64 + 1, sizeof *image->bits);
  if (image->bits == NULL) return err_no_memory(err);
  *out = MOVE(image);
  return CAY_OK;
}

/* No memory is mapped from a layer, so its mapping is enough: thousands of them need no descriptors. */
cay_status eng_layer_map(eng_image *layer, cay_error *err) {
  S_TRY(eng_image_map(layer, false, err));
  (void)close(layer->fd);
  layer->fd = -1;
  return CAY_OK;
}

cay_status eng_layer_freeze(eng_instance *i, eng_image **out, cay_error *err) {
  OWNED(eng_image_unref) eng_image *image = NULL;
  S_TRY(eng_layer_blank(i->image, eng_memory_len(i), &image, err));
  struct layering l = { .image = image, .memory = i->head.base, .err = err };
  (void)eng_pages_changed(i, image->len, take_run, &l);
  S_TRY(l.status);
  S_TRY(eng_layer_map(image, err));
  eng_globals_read(i, image->globals);
  *out = MOVE(image);
  return CAY_OK;
}

/* ---- using it ---- */

void eng_layer_apply(const eng_image *image, uint8_t *memory, uint64_t first) {
  if (image->base == NULL) return;
  for (size_t page = first / MEM_PAGE, end = image->len / MEM_PAGE, from; page < end; page++) {
    if (image->bits[page / 64] == 0) page |= 63;
    for (from = page; page < end && layer_is_own(image, page);) page++;
    size_t len = (page - from) * MEM_PAGE;
    if (len == 0) continue;
    if (len >= POPULATE_MIN) (void)madvise(memory + from * MEM_PAGE, len, MADV_POPULATE_WRITE);
    memcpy(memory + from * MEM_PAGE, image->master + from * MEM_PAGE, len);
  }
}

struct flattening {
  const eng_image *from;
  eng_image *to;
};

static cay_status flatten_run(void *ctx, uint64_t offset, uint64_t len, cay_error *err) {
  const struct flattening *f = ctx;
  for (uint64_t at = offset, n; at < offset + len; at += n) {
    n = offset + len - at;
    const uint8_t *data = eng_image_at(f->from, at, &n);
    S_TRY(eng_image_put(f->to, data, n, at, err));
  }
  return CAY_OK;
}

static cay_status layer_flatten(eng_image *image, eng_image **out) {
  OWNED(eng_image_unref) eng_image *whole = NULL;
  S_TRY(eng_image_blank(image->module, image->len, true, &whole, NULL));
  S_TRY(eng_image_runs(image, flatten_run, &(struct flattening){ image, whole }, NULL));
  S_TRY(eng_image_map(whole, false, NULL));
  memcpy(whole->globals, image->globals, eng_globals_count(image->module) * sizeof *image->globals);
  *out = MOVE(whole);
  return CAY_OK;
}

eng_image *eng_image_to_use(eng_image *image) {
  if (image->base == NULL) return image;
  eng_image *whole = atomic_load(&image->whole);
  if (whole != NULL) return whole;
  uint64_t copied = atomic_fetch_add(&image->copied, image->stored);
  if (copied < image->base->stored || layer_flatten(image, &whole) != CAY_OK) return image;
  eng_image *first = NULL;
  if (atomic_compare_exchange_strong(&image->whole, &first, whole)) return whole;
  eng_image_unref(whole); /* another thread was faster */
  return first;
}
