/* A head, the globals, for each page that differs a `lines` and the lines that its bits name, a `lines` without bits, a
 * sum of all before it. */
#include "engine/image_lines.h"

#include "base/error.h"
#include "engine/checksum.h"
#include "engine/image_delta.h"
#include "engine/image_inner.h"

#include <string.h>

enum { LINE = MEM_PAGE / 64 };

struct lines_head {
  uint64_t len;
};

struct lines {
  uint64_t page, bits;
};

/* ---- writing ---- */

typedef struct lines_writer {
  checksum sum;
  eng_image_sink *sink;
  void *ctx;
} lines_writer;

static cay_status lines_put(void *ctx, const void *data, size_t len, cay_error *err) {
  lines_writer *w = ctx;
  checksum_add(&w->sum, data, len);
  return w->sink(w->ctx, data, len, err);
}

static uint64_t lines_compare(const uint8_t *a, const uint8_t *b) {
  uint64_t bits = 0;
  for (size_t n = 0; n < 64; n++)
    if (memcmp(a + n * LINE, b + n * LINE, LINE) != 0) bits |= UINT64_C(1) << n;
  return bits;
}

static cay_status lines_put_page(void *ctx, size_t page, const uint8_t *now, const uint8_t *below,
                                 cay_error *err) {
  uint8_t lines[MEM_PAGE];
  size_t len = 0;
  struct lines l = { page, lines_compare(now, below) };
  for (size_t n = 0; n < 64; n++) {
    if ((l.bits >> n & 1) == 0) continue;
    memcpy(lines + len, now + n * LINE, LINE);
    len += LINE;
  }
  S_TRY(lines_put(ctx, &l, sizeof l, err));
  return lines_put(ctx, lines, len, err);
}

cay_status eng_lines_write(const eng_image *image, const eng_image *base, eng_image_sink *sink, void *ctx,
                           cay_error *err) {
  lines_writer w = { .sink = sink, .ctx = ctx };
  if (!digest_equal(eng_module_digest(image->module), eng_module_digest(base->module)))
    return err_set(err, CAY_INVALID, "the image and its base are of different modules");
  S_TRY(lines_put(&w, &(struct lines_head){ image->len }, sizeof(struct lines_head), err));
  S_TRY(eng_delta_put_globals(image, lines_put, &w, err));
  S_TRY(eng_image_compare(image, base, lines_put_page, &w, err));
  S_TRY(lines_put(&w, &(struct lines){ 0 }, sizeof(struct lines), err));
  uint64_t sum = checksum_end(&w.sum);
  return sink(ctx, &sum, sizeof sum, err);
}

/* ---- reading ---- */

typedef struct lines_reader {
  checksum sum;
  eng_image_source *source;
  void *ctx;
} lines_reader;

static cay_status lines_get(void *ctx, void *out, size_t len, cay_error *err) {
  lines_reader *r = ctx;
  S_TRY(r->source(r->ctx, out, len, err));
  checksum_add(&r->sum, out, len);
  return CAY_OK;
}

static cay_status lines_corrupt(cay_error *err, const char *why) {
  return err_set(err, CAY_CORRUPT, "the memory of a parked session was damaged: %s", why);
}

static cay_status lines_get_page(lines_reader *r, eng_image *image, const struct lines *l, cay_error *err) {
  uint8_t data[MEM_PAGE], lines[MEM_PAGE];
  size_t count = (size_t)__builtin_popcountll(l->bits), at = 0;
  S_TRY(lines_get(r, lines, count * LINE, err));
  memcpy(data, eng_image_page(image->base, (size_t)l->page), sizeof data);
  for (size_t n = 0; n < 64; n++) {
    if ((l->bits >> n & 1) == 0) continue;
    memcpy(data + n * LINE, lines + at, LINE);
    at += LINE;
  }
  eng_layer_own(image, (size_t)l->page, data);
  return eng_image_put(image, data, sizeof data, l->page * MEM_PAGE, err);
}

/* Pages come in order, so none comes twice. */
static cay_status lines_get_pages(lines_reader *r, eng_image *image, cay_error *err) {
  for (uint64_t next = 0;;) {
    struct lines l;
    S_TRY(lines_get(r, &l, sizeof l, err));
    if (l.bits == 0) return CAY_OK;
    if (l.page < next || l.page >= image->len / MEM_PAGE)
      return lines_corrupt(err, "its pages are out of order");
    S_TRY(lines_get_page(r, image, &l, err));
    next = l.page + 1;
  }
}

cay_status eng_lines_read(eng_image *base, eng_image_source *source, void *ctx, uint64_t memory_max,
                          eng_image **out, cay_error *err) {
  lines_reader r = { .source = source, .ctx = ctx };
  struct lines_head head;
  OWNED(eng_image_unref) eng_image *image = NULL;
  uint64_t sum;
  S_TRY(lines_get(&r, &head, sizeof head, err));
  if (head.len > ENG_RESERVED || head.len % ENG_PAGE != 0 || head.len < base->len)
    return lines_corrupt(err, "no memory of the module has that length");
  if (head.len > memory_max) return err_set(err, CAY_LIMIT, "a parked session has more memory than it may");
  S_TRY(eng_layer_blank(base, head.len, &image, err));
  S_TRY(eng_delta_get_globals(image, lines_get, &r, err));
  S_TRY(lines_get_pages(&r, image, err));
  S_TRY(source(ctx, &sum, sizeof sum, err));
  if (sum != checksum_end(&r.sum)) return lines_corrupt(err, "its sum is wrong");
  S_TRY(eng_layer_map(image, err));
  *out = MOVE(image);
  return CAY_OK;
}
