/* A head, the globals, runs of pages that differ (each a `run` and its pages), an empty run. The file around it has
 * the digest. */
#include "engine/image_delta.h"

#include "base/alloc.h"
#include "base/error.h"
#include "engine/checksum.h"
#include "engine/image_inner.h"

#include <string.h>

struct delta_head {
  uint32_t version, globals;
  uint8_t module[32];
  uint64_t base_sum, len;
};

struct delta_run {
  uint32_t page, count;
};

enum { DELTA_VERSION = 1 };

/* ---- which base ---- */

struct delta_sum {
  checksum sum;
  const eng_image *image;
};

static cay_status delta_add_run(void *ctx, uint64_t offset, uint64_t len, cay_error *err) {
  struct delta_sum *s = ctx;
  (void)err;
  for (uint64_t at = offset; at < offset + len; at += MEM_PAGE) {
    checksum_add(&s->sum, &at, sizeof at);
    checksum_add(&s->sum, eng_image_page(s->image, at / MEM_PAGE), MEM_PAGE);
  }
  return CAY_OK;
}

/* A boot image has 10 MiB, and its sum is wanted for each session: it is kept. */
static cay_status delta_base_sum(const eng_image *base, uint64_t *out, cay_error *err) {
  _Atomic uint64_t *kept = (_Atomic uint64_t *)(uintptr_t)&base->sum;
  struct delta_sum s = { .image = base };
  *out = atomic_load(kept);
  if (*out != 0) return CAY_OK;
  S_TRY(eng_image_runs(base, delta_add_run, &s, err));
  *out = checksum_end(&s.sum);
  if (base->own == NULL) atomic_store(kept, *out);
  return CAY_OK;
}

/* ---- writing ---- */

cay_status eng_delta_put_globals(const eng_image *image, eng_image_sink *sink, void *ctx, cay_error *err) {
  size_t count = eng_globals_count(image->module);
  struct global_record *globals = mem_zalloc_array(count + 1, sizeof *globals);
  if (globals == NULL) return err_no_memory(err);
  eng_globals_encode(image->module, image->globals, globals);
  cay_status status = sink(ctx, globals, count * sizeof *globals, err);
  mem_free(globals);
  return status;
}

typedef struct delta_writer {
  eng_image_sink *sink;
  void *ctx;
} delta_writer;

static cay_status delta_put_page(void *ctx, size_t page, const uint8_t *now, const uint8_t *below,
                                 cay_error *err) {
  const delta_writer *w = ctx;
  struct delta_run run = { (uint32_t)page, 1 };
  (void)below;
  S_TRY(w->sink(w->ctx, &run, sizeof run, err));
  return w->sink(w->ctx, now, MEM_PAGE, err);
}

cay_status eng_delta_write(const eng_image *image, const eng_image *base, eng_image_sink *sink, void *ctx,
                           cay_error *err) {
  if (!digest_equal(eng_module_digest(image->module), eng_module_digest(base->module)))
    return err_set(err, CAY_INVALID, "the image and its base are of different modules");
  struct delta_head head = { .version = DELTA_VERSION,
                             .globals = (uint32_t)eng_globals_count(image->module),
                             .len = image->len };
  memcpy(head.module, eng_module_digest(image->module)->bytes, sizeof head.module);
  S_TRY(delta_base_sum(base, &head.base_sum, err));
  S_TRY(sink(ctx, &head, sizeof head, err));
  S_TRY(eng_delta_put_globals(image, sink, ctx, err));
  delta_writer w = { sink, ctx };
  S_TRY(eng_image_compare(image, base, delta_put_page, &w, err));
  return sink(ctx, &(struct delta_run){ 0 }, sizeof(struct delta_run), err);
}

/* ---- reading ---- */

static cay_status delta_corrupt(cay_error *err, const char *why) {
  return err_set(err, CAY_CORRUPT, "the memory of a session was damaged: %s", why);
}

static cay_status delta_check_head(const struct delta_head *head, const eng_image *base, uint64_t memory_max,
                                   cay_error *err) {
  uint64_t sum;
  if (head->version != DELTA_VERSION)
    return err_set(err, CAY_UNSUPPORTED, "the memory of a session has version %u of the format, not %d",
                   head->version, DELTA_VERSION);
  S_TRY(delta_base_sum(base, &sum, err));
  if (memcmp(head->module, eng_module_digest(base->module)->bytes, sizeof head->module) != 0 ||
      head->base_sum != sum)
    return err_set(err, CAY_UNSUPPORTED, "the session is one of another build of its interpreter");
  if (head->globals != eng_globals_count(base->module))
    return delta_corrupt(err, "it has another number of globals");
  if (head->len > ENG_RESERVED || head->len % ENG_PAGE != 0 || head->len < base->len)
    return delta_corrupt(err, "no memory of the module has that length");
  if (head->len > memory_max)
    return err_set(err, CAY_LIMIT, "a session has %llu bytes of memory, the limit is %llu",
                   (unsigned long long)head->len, (unsigned long long)memory_max);
  return CAY_OK;
}

cay_status eng_delta_get_globals(eng_image *image, eng_image_source *source, void *ctx, cay_error *err) {
  size_t count = eng_globals_count(image->module);
  struct global_record *globals = mem_zalloc_array(count + 1, sizeof *globals);
  if (globals == NULL) return err_no_memory(err);
  cay_status status = source(ctx, globals, count * sizeof *globals, err);
  if (status == CAY_OK) status = eng_globals_decode(image->module, globals, count, image->globals, err);
  mem_free(globals);
  return status;
}

static cay_status delta_get_page(eng_image *image, size_t page, eng_image_source *source, void *ctx,
                                 cay_error *err) {
  uint8_t data[MEM_PAGE];
  S_TRY(source(ctx, data, sizeof data, err));
  eng_layer_own(image, page, data);
  return eng_image_put(image, data, sizeof data, page * MEM_PAGE, err);
}

/* Pages come in order, so none comes twice. */
static cay_status delta_get_pages(eng_image *image, eng_image_source *source, void *ctx, cay_error *err) {
  for (uint64_t next = 0;;) {
    struct delta_run run;
    S_TRY(source(ctx, &run, sizeof run, err));
    if (run.count == 0) return CAY_OK;
    if (run.page < next) return delta_corrupt(err, "its pages are out of order");
    next = (uint64_t)run.page + run.count;
    if (next > image->len / MEM_PAGE) return delta_corrupt(err, "it has pages beyond its memory");
    for (size_t page = run.page; page < next; page++) S_TRY(delta_get_page(image, page, source, ctx, err));
  }
}

cay_status eng_delta_read(eng_image *base, eng_image_source *source, void *ctx, uint64_t memory_max,
                          eng_image **out, cay_error *err) {
  struct delta_head head;
  S_TRY(source(ctx, &head, sizeof head, err));
  S_TRY(delta_check_head(&head, base, memory_max, err));
  OWNED(eng_image_unref) eng_image *image = NULL;
  S_TRY(eng_layer_blank(base, head.len, &image, err));
  S_TRY(eng_delta_get_globals(image, source, ctx, err));
  S_TRY(delta_get_pages(image, source, ctx, err));
  S_TRY(eng_layer_map(image, err));
  *out = MOVE(image);
  return CAY_OK;
}
