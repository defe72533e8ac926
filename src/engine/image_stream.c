/* An image as bytes: a head, the globals, runs of pages (each a `run` and its pages), an empty run, the sum
 * of all of that. Everything read here may be somebody's attack. */
#include "base/alloc.h"
#include "base/error.h"
#include "engine/checksum.h"
#include "engine/image_file.h"
#include "engine/image_inner.h"

#include <string.h>

static const char magic[8] = "cay-imag";
enum { VERSION = 1, PIECE = 64 * MEM_PAGE };

struct head {
  char magic[8];
  uint32_t version, globals;
  uint8_t module[32];
  uint64_t len, stored; /* of the memory; of the pages that follow */
};

struct run {
  uint32_t page, count;
};

/* ---- writing ---- */

struct writing {
  const eng_image *image;
  eng_image_sink *sink;
  void *ctx;
  checksum sum;
};

static cay_status image_stream_put(struct writing *w, const void *data, size_t len, cay_error *err) {
  checksum_add(&w->sum, data, len);
  return w->sink(w->ctx, data, len, err);
}

/* In the pieces in which the reader takes them: the sum depends on it only where a piece is odd, and none is.
 */
static cay_status image_stream_put_run(void *ctx, uint64_t offset, uint64_t len, cay_error *err) {
  struct writing *w = ctx;
  struct run run = { (uint32_t)(offset / MEM_PAGE), (uint32_t)(len / MEM_PAGE) };
  S_TRY(image_stream_put(w, &run, sizeof run, err));
  for (uint64_t at = offset, n; at < offset + len; at += n) {
    n = offset + len - at;
    const uint8_t *data = eng_image_at(w->image, at, &n);
    S_TRY(image_stream_put(w, data, n, err));
  }
  return CAY_OK;
}

static cay_status put_globals(struct writing *w, size_t count, cay_error *err) {
  struct global_record *globals = mem_zalloc_array(count + 1, sizeof *globals);
  if (globals == NULL) return err_no_memory(err);
  eng_globals_encode(w->image->module, w->image->globals, globals);
  cay_status status = image_stream_put(w, globals, count * sizeof *globals, err);
  mem_free(globals);
  return status;
}

static cay_status count_run(void *ctx, uint64_t offset, uint64_t len, cay_error *err) {
  (void)offset, (void)err;
  *(uint64_t *)ctx += len;
  return CAY_OK;
}

cay_status eng_image_write(const eng_image *image, eng_image_sink *sink, void *ctx, cay_error *err) {
  struct writing w = { .image = image, .sink = sink, .ctx = ctx };
  struct head head = { .version = VERSION,
                       .globals = (uint32_t)eng_globals_count(image->module),
                       .len = image->len };
  memcpy(head.magic, magic, sizeof head.magic);
  memcpy(head.module, eng_module_digest(image->module)->bytes, sizeof head.module);
  S_TRY(eng_image_runs(image, count_run, &head.stored, err));
  S_TRY(image_stream_put(&w, &head, sizeof head, err));
  S_TRY(put_globals(&w, head.globals, err));
  S_TRY(eng_image_runs(image, image_stream_put_run, &w, err));
  S_TRY(image_stream_put(&w, &(struct run){ 0 }, sizeof(struct run), err));
  uint64_t sum = checksum_end(&w.sum);
  return sink(ctx, &sum, sizeof sum, err);
}

/* ---- reading ---- */

struct reading {
  eng_image_source *source;
  void *ctx;
  checksum sum;
};

static cay_status get(struct reading *r, void *out, size_t len, cay_error *err) {
  S_TRY(r->source(r->ctx, out, len, err));
  checksum_add(&r->sum, out, len);
  return CAY_OK;
}

static cay_status corrupt(cay_error *err, const char *why) {
  return err_set(err, CAY_CORRUPT, "the image was damaged: %s", why);
}

static cay_status image_stream_check_head(const struct head *head, const eng_module *module,
                                          uint64_t memory_max, cay_error *err) {
  if (memcmp(head->magic, magic, sizeof magic) != 0) return err_set(err, CAY_CORRUPT, "this is no image");
  if (head->version != VERSION)
    return err_set(err, CAY_UNSUPPORTED, "the image has version %u of the format, not %d", head->version,
                   VERSION);
  if (memcmp(head->module, eng_module_digest(module)->bytes, sizeof head->module) != 0)
    return err_set(err, CAY_UNSUPPORTED, "the image belongs to another module");
  if (head->globals != eng_globals_count(module)) return corrupt(err, "it has another number of globals");
  if (head->len > ENG_RESERVED || head->len % ENG_PAGE != 0 || head->len < module->memory_min)
    return corrupt(err, "no memory of the module has that length");
  if (head->len > memory_max)
    return err_set(err, CAY_LIMIT, "the image has %llu bytes of memory, the limit is %llu",
                   (unsigned long long)head->len, (unsigned long long)memory_max);
  if (head->stored > head->len || head->stored % MEM_PAGE != 0)
    return corrupt(err, "it stores more than its memory");
  return CAY_OK;
}

static cay_status get_globals(struct reading *r, eng_image *image, size_t count, cay_error *err) {
  struct global_record *globals = mem_zalloc_array(count + 1, sizeof *globals);
  if (globals == NULL) return err_no_memory(err);
  cay_status status = get(r, globals, count * sizeof *globals, err);
  if (status == CAY_OK) status = eng_globals_decode(image->module, globals, count, image->globals, err);
  mem_free(globals);
  return status;
}

/* Pages come in order, so none comes twice. `next` is the first that may still come. */
static cay_status check_run(const struct run *run, uint64_t next, const eng_image *image, uint64_t left,
                            cay_error *err) {
  if (run->page < next) return corrupt(err, "its pages are out of order");
  if ((uint64_t)run->page + run->count > image->len / MEM_PAGE)
    return corrupt(err, "it has pages beyond its memory");
  if ((uint64_t)run->count * MEM_PAGE > left) return corrupt(err, "it has more pages than it said");
  return CAY_OK;
}

static cay_status get_pages(struct reading *r, eng_image *image, const struct run *run, uint8_t *piece,
                            cay_error *err) {
  uint64_t at = (uint64_t)run->page * MEM_PAGE, end = at + (uint64_t)run->count * MEM_PAGE;
  for (; at < end;) {
    size_t len = end - at < PIECE ? (size_t)(end - at) : PIECE;
    S_TRY(get(r, piece, len, err));
    S_TRY(eng_image_put(image, piece, len, at, err));
    at += len;
  }
  return CAY_OK;
}

static cay_status get_runs(struct reading *r, eng_image *image, uint64_t stored, uint8_t *piece,
                           cay_error *err) {
  for (uint64_t next = 0;;) {
    struct run run;
    S_TRY(get(r, &run, sizeof run, err));
    if (run.count == 0) break;
    S_TRY(check_run(&run, next, image, stored - image->stored, err));
    S_TRY(get_pages(r, image, &run, piece, err));
    next = (uint64_t)run.page + run.count;
  }
  return image->stored == stored ? CAY_OK : corrupt(err, "it has fewer pages than it said");
}

static cay_status get_memory(struct reading *r, eng_image *image, uint64_t stored, cay_error *err) {
  uint8_t *piece = mem_alloc(PIECE);
  if (piece == NULL) return err_no_memory(err);
  cay_status status = get_runs(r, image, stored, piece, err);
  mem_free(piece);
  S_TRY(status);
  uint64_t sum, want = checksum_end(&r->sum);
  S_TRY(r->source(r->ctx, &sum, sizeof sum, err));
  return sum == want ? CAY_OK : corrupt(err, "its sum is wrong");
}

cay_status eng_image_read(eng_module *module, eng_image_source *source, void *ctx, uint64_t memory_max,
                          eng_image **out, cay_error *err) {
  const char *why_not = eng_module_why_not_imageable(module);
  if (why_not != NULL) return err_set(err, CAY_UNSUPPORTED, "the module cannot have an image: %s", why_not);
  struct reading r = { .source = source, .ctx = ctx };
  struct head head;
  S_TRY(get(&r, &head, sizeof head, err));
  S_TRY(image_stream_check_head(&head, module, memory_max, err));
  OWNED(eng_image_unref) eng_image *image = NULL;
  S_TRY(eng_image_blank(module, head.len, true, &image, err));
  S_TRY(get_globals(&r, image, head.globals, err));
  S_TRY(get_memory(&r, image, head.stored, err));
  S_TRY(eng_image_map(image, false, err));
  *out = MOVE(image);
  return CAY_OK;
}

/* ---- from bytes in memory ---- */

static cay_status image_stream_take(void *ctx, void *out, size_t len, cay_error *err) {
  cay_slice *left = ctx;
  if (len > left->len) return corrupt(err, "it is too short");
  if (len > 0) memcpy(out, left->data, len);
  left->data = (const uint8_t *)left->data + len;
  left->len -= len;
  return CAY_OK;
}

cay_status eng_image_read_bytes(eng_module *module, cay_slice bytes, uint64_t memory_max, eng_image **out,
                                cay_error *err) {
  OWNED(eng_image_unref) eng_image *image = NULL;
  S_TRY(eng_image_read(module, image_stream_take, &bytes, memory_max, &image, err));
  if (bytes.len != 0) return corrupt(err, "bytes follow it");
  *out = MOVE(image);
  return CAY_OK;
}
