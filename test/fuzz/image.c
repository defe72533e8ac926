/* image.c - any bytes become an image or an error with a message. The first byte says how the rest is
 * used: as the image itself, whose head is set right so that the reader looks further, or as a list of runs,
 * of which a whole image is made, or as lines over an image. An image that was read can be written, with the same bytes. */
#include "base/buf.h"
#include "engine/checksum.h"
#include "engine/image_file.h"
#include "engine/image_lines.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { PAGE = 4096, MEMORY_MAX = 8 * ENG_PAGE };

/* (module (memory (export "m") 1) (global (export "g") (mut i32) (i32.const 7))) */
static const uint8_t wasm[] = { 0,    'a', 's',  'm', 1,    0, 0, 0, 5, 3,   1, 0, 1, 6,   6, 1,
                                0x7f, 1,   0x41, 7,   0x0b, 7, 9, 2, 1, 'm', 2, 0, 1, 'g', 3, 0 };
static const eng_imports nothing = { NULL, 0 };
static eng_engine *engine;
static eng_module *module;

struct head {
  char magic[8];
  uint32_t version, globals;
  uint8_t module[32];
  uint64_t len, stored;
};

static void load(void) {
  cay_error err;
  if (engine != NULL) return;
  if (eng_engine_new(&(eng_options){ 0 }, &engine, &err) != CAY_OK) abort();
  if (eng_module_load(engine, wasm, sizeof wasm, NULL, ENG_STOP_EPOCH, &nothing, &module, &err) != CAY_OK)
    abort();
}

static void put(buf *out, const void *data, size_t len) {
  if (buf_append(out, data, len) != CAY_OK) abort();
}

/* An image as somebody would write it who means well. */
static cay_status append(void *ctx, const void *data, size_t len, cay_error *err) {
  (void)err;
  return buf_append(ctx, data, len);
}

static void write_image(const eng_image *image, buf *out) {
  if (eng_image_write(image, append, out, NULL) != CAY_OK) abort();
}

/* The head and the globals of the module at rest. */
static void fresh_head(buf *out) {
  eng_instance *instance = NULL;
  eng_image *image = NULL;
  cay_error err;
  if (eng_instance_new(module, &(eng_instance_options){ 0 }, &instance, &err) != CAY_OK) abort();
  if (eng_image_freeze(instance, &image, &err) != CAY_OK) abort();
  write_image(image, out);
  out->len = sizeof(struct head) + 64;
  eng_image_unref(image);
  eng_instance_free(instance);
}

/* Adds a piece, and its sum as the reader will take it. */
static void add(buf *out, checksum *sum, const void *data, size_t len) {
  put(out, data, len);
  checksum_add(sum, data, len);
}

/* Three bytes a run: page, count and length of the memory, contents. The head comes last. */
static void build(const uint8_t *data, size_t len, buf *out) {
  uint8_t page[PAGE];
  checksum sum = { 0 };
  fresh_head(out);
  struct head head;
  memcpy(&head, out->data, sizeof head);
  for (size_t n = 0; n + 3 <= len; n += 3) {
    head.stored += (data[n + 1] >> 1 & 3u) * PAGE;
    head.len = (data[n + 1] >> 3 & 15u) * (uint64_t)ENG_PAGE;
  }
  memcpy(out->data, &head, sizeof head);
  checksum_add(&sum, out->data, out->len);
  for (size_t n = 0; n + 3 <= len; n += 3) {
    uint32_t run[2] = { data[n] | (data[n + 1] & 1u) << 8, data[n + 1] >> 1 & 3u };
    memset(page, data[n + 2], sizeof page);
    add(out, &sum, run, sizeof run);
    for (uint32_t i = 0; i < run[1]; i++) add(out, &sum, page, sizeof page);
  }
  add(out, &sum, (uint32_t[2]){ 0 }, 8);
  uint64_t end = checksum_end(&sum);
  put(out, &end, sizeof end);
}

static void patch(const uint8_t *data, size_t len, buf *out) {
  fresh_head(out);
  put(out, data, len);
}

static void use(eng_image *image) {
  buf first = BUF_INIT(64 << 20), second = BUF_INIT(64 << 20);
  eng_instance *instance = NULL;
  eng_image *again = NULL;
  cay_error err;
  if (eng_instance_from_image(image, &(eng_instance_options){ 0 }, &instance, &err) != CAY_OK) abort();
  if (eng_image_freeze(instance, &again, &err) != CAY_OK) abort();
  write_image(image, &first);
  write_image(again, &second);
  if (first.len != second.len || memcmp(first.data, second.data, first.len) != 0) abort();
  eng_image_unref(again);
  eng_instance_free(instance);
  buf_free(&first);
  buf_free(&second);
}

static cay_status take(void *ctx, void *out, size_t len, cay_error *err) {
  cay_slice *left = ctx;
  if (len > left->len) return err_set(err, CAY_CORRUPT, "too short");
  if (len > 0) memcpy(out, left->data, len);
  *left = (cay_slice){ (const uint8_t *)left->data + len, left->len - len };
  return CAY_OK;
}

static eng_image *at_rest(void) {
  eng_instance *instance = NULL;
  eng_image *image = NULL;
  if (eng_instance_new(module, &(eng_instance_options){ 0 }, &instance, NULL) != CAY_OK) abort();
  if (eng_image_freeze(instance, &image, NULL) != CAY_OK) abort();
  eng_instance_free(instance);
  return image;
}

/* The head and the globals are right; then pages as the input has them, and the sum of all. */
static void put_lines(eng_image *base, const uint8_t *data, size_t len, buf *out) {
  const size_t sum_len = sizeof(uint64_t), end_len = 16;
  checksum sum = { 0 };
  if (eng_lines_write(base, base, append, out, NULL) != CAY_OK) abort();
  size_t head = out->len - sum_len - end_len;
  out->len = head;
  put(out, data, len);
  checksum_add(&sum, out->data, 8);
  if (head > 8) checksum_add(&sum, out->data + 8, head - 8);
  for (size_t at = head; at + 16 <= out->len;) {
    uint64_t l[2];
    memcpy(l, out->data + at, sizeof l);
    checksum_add(&sum, out->data + at, sizeof l);
    at += sizeof l;
    size_t lines = (size_t)__builtin_popcountll(l[1]) * 64;
    if (l[1] == 0 || lines > out->len - at) break;
    checksum_add(&sum, out->data + at, lines);
    at += lines;
  }
  uint64_t end = checksum_end(&sum);
  put(out, &end, sizeof end);
}

static void run_lines(const uint8_t *data, size_t len, bool whole) {
  buf bytes = BUF_INIT(16 << 20);
  cay_error err = { 0 };
  eng_image *base = at_rest(), *image = NULL;
  if (whole)
    put(&bytes, data, len);
  else
    put_lines(base, data, len, &bytes);
  cay_slice left = { bytes.data, bytes.len };
  cay_status status = eng_lines_read(base, take, &left, MEMORY_MAX, &image, &err);
  if ((status == CAY_OK) != (image != NULL) || (status != CAY_OK && err.message[0] == '\0')) abort();
  if (image != NULL) use(image);
  eng_image_unref(image);
  eng_image_unref(base);
  buf_free(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  load();
  if (len > 0 && len <= 100000 && data[0] >= 0xf0) {
    run_lines(data + 1, len - 1, data[0] % 2 == 0);
    return 0;
  }
  buf bytes = BUF_INIT(16 << 20);
  if (len == 0 || len > 100000) return 0;
  switch (data[0] % 3) {
  case 0: put(&bytes, data + 1, len - 1); break;
  case 1: patch(data + 1, len - 1, &bytes); break;
  default: build(data + 1, len - 1, &bytes);
  }
  eng_image *image = NULL;
  cay_error err = { 0 };
  cay_status status =
      eng_image_read_bytes(module, (cay_slice){ bytes.data, bytes.len }, MEMORY_MAX, &image, &err);
  if ((status == CAY_OK) != (image != NULL) || (status != CAY_OK && err.message[0] == '\0')) abort();
  if (image != NULL) use(image);
  eng_image_unref(image);
  buf_free(&bytes);
  return 0;
}
