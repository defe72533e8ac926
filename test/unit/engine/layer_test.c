/* layer_test.c - images that refer to another for most of their pages: they differ in size alone.
 */
#include "base/buf.h"
#include "base/error.h"
#include "engine/checkpoint.h"
#include "engine/image_file.h"
#include "engine/image_lines.h"
#include "machine.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>

enum { PAGE = 4096 };

/* A base of 400 pages, an instance of it that has changed some, and the image of that. */
typedef struct layered {
  world w;
  eng_image *base, *layer;
  eng_instance *changed;
} layered;

static layered a_layer(void) {
  layered l = { .w = world_of(machine, ENG_STOP_PROTECT, &no_imports, (eng_instance_options){ 0 }) };
  touch(l.w.instance, 0, 400);
  set(l.w.instance, 1);
  l.base = frozen(l.w.instance);
  l.changed = thawed(l.base);
  touch(l.changed, 390 * PAGE, 30);                          /* partly the same as in the base */
  memset(eng_memory_at(l.changed, 7 * PAGE, PAGE), 0, PAGE); /* zero, where the base is not */
  store(l.changed, 100 * PAGE, -100);
  EXPECT_EQ(grow(l.changed, 2), 33);
  store(l.changed, 34 * ENG_PAGE, 34);
  set(l.changed, 2);
  l.layer = frozen(l.changed);
  return l;
}

static void layer_free(layered *l) {
  eng_image_unref(l->layer);
  eng_image_unref(l->base);
  eng_instance_free(l->changed);
  world_free(&l->w);
}

static void expect_equal(eng_instance *a, eng_instance *b) {
  EXPECT_EQ(eng_memory_len(a), eng_memory_len(b));
  EXPECT(memcmp(eng_memory(a), eng_memory(b), eng_memory_len(b)) == 0);
  EXPECT_EQ(get(a), get(b));
}

TEST(a_layer_holds_only_what_is_different) {
  layered l = a_layer();
  EXPECT_EQ(eng_image_own_len(l.layer), (20 + 1 + 1 + 1) * PAGE);
  EXPECT_EQ(eng_image_stored_len(l.layer), eng_image_stored_len(l.base) + (20 - 1 + 1) * PAGE);
  eng_instance *i = thawed(l.layer);
  expect_equal(i, l.changed);
  store(i, 0, 5);
  eng_instance *other = thawed(l.layer);
  expect_equal(other, l.changed);
  eng_instance_free(i);
  eng_instance_free(other);
  layer_free(&l);
}

TEST(it_outlives_its_base_and_what_it_was_made_from) {
  layered l = a_layer();
  eng_instance *want = forked(l.changed);
  eng_instance_free(l.changed);
  eng_image_unref(l.base);
  l.changed = NULL;
  l.base = NULL;
  eng_instance *i = thawed(l.layer);
  expect_equal(i, want);
  eng_instance_free(i);
  eng_instance_free(want);
  layer_free(&l);
}

TEST(instances_of_it_reset_and_roll_back_to_it) {
  layered l = a_layer();
  eng_instance *i = thawed(l.layer);
  static const int32_t dirty[] = { 0, 1, 50, 400, 33 * 16 };
  for (size_t n = 0; n < COUNT_OF(dirty); n++) {
    for (int32_t p = 0; p < dirty[n]; p++) store(i, p * PAGE, -p);
    if (n % 2 == 0) {
      EXPECT_EQ(eng_checkpoint(i, NULL), CAY_OK);
      store(i, 8 * PAGE, 0);
    }
    set(i, 3);
    EXPECT_EQ(eng_instance_reset(i, NULL), CAY_OK);
    expect_equal(i, l.changed);
  }
  touch(i, 0, 500);
  EXPECT_EQ(eng_rollback(i, NULL), CAY_OK);
  expect_equal(i, l.changed);
  eng_instance_free(i);
  layer_free(&l);
}

TEST(a_layer_of_an_instance_of_a_layer_refers_to_the_same_base) {
  layered l = a_layer();
  eng_instance *i = thawed(l.layer);
  for (int32_t n = 0; n < 5; n++) {
    store(i, (200 + n) * PAGE, -n - 1);
    eng_image *next = frozen(i);
    EXPECT_EQ(eng_image_own_len(next), (23 + (uint64_t)n + 1) * PAGE);
    eng_instance *again = thawed(next);
    expect_equal(again, i);
    eng_instance_free(i);
    eng_image_unref(next);
    i = again;
  }
  eng_instance_free(i);
  layer_free(&l);
}

TEST(when_used_often_it_becomes_whole_and_stays_the_same) {
  layered l = a_layer();
  eng_instance *all[40];
  for (size_t n = 0; n < COUNT_OF(all); n++) {
    all[n] = thawed(l.layer);
    expect_equal(all[n], l.changed);
  }
  EXPECT(eng_instance_private_len(all[0]) >= 20 * PAGE);
  EXPECT(eng_instance_private_len(all[39]) < 8 * PAGE);
  touch(all[39], 0, 500);
  EXPECT_EQ(eng_instance_reset(all[39], NULL), CAY_OK);
  expect_equal(all[39], l.changed);
  for (size_t n = 0; n < COUNT_OF(all); n++) eng_instance_free(all[n]);
  layer_free(&l);
}

static void *thaw_many(void *ctx) {
  for (int n = 0; n < 40; n++) {
    eng_instance *i = NULL;
    if (eng_instance_from_image(ctx, &(eng_instance_options){ 0 }, &i, NULL) != CAY_OK) return ctx;
    bool same = *(int32_t *)eng_memory_at(i, 100 * PAGE, 4) == -100;
    eng_instance_free(i);
    if (!same) return ctx;
  }
  return NULL;
}

TEST(several_threads_may_use_it_at_once) {
  layered l = a_layer();
  pthread_t threads[3];
  for (size_t n = 0; n < COUNT_OF(threads); n++)
    EXPECT_EQ(pthread_create(&threads[n], NULL, thaw_many, l.layer), 0);
  for (size_t n = 0; n < COUNT_OF(threads); n++) {
    void *failed = NULL;
    pthread_join(threads[n], &failed);
    EXPECT(failed == NULL);
  }
  layer_free(&l);
}

static cay_status append(void *ctx, const void *data, size_t len, cay_error *err) {
  (void)err;
  return buf_append(ctx, data, len);
}

TEST(outside_of_the_process_it_is_whole) {
  layered l = a_layer();
  char path[256];
  (void)snprintf(path, sizeof path, "%s/layer.image", test_dir());
  eng_image *opened = NULL, *read = NULL;
  buf b = BUF_INIT(64 << 20);
  EXPECT_EQ(eng_image_save(l.layer, path, NULL), CAY_OK);
  EXPECT_EQ(eng_image_open(l.w.module, path, true, &opened, NULL), CAY_OK);
  EXPECT_EQ(eng_image_write(l.layer, append, &b, NULL), CAY_OK);
  EXPECT_EQ(eng_image_read_bytes(l.w.module, (cay_slice){ b.data, b.len }, UINT64_MAX, &read, NULL), CAY_OK);
  EXPECT_EQ(eng_image_stored_len(opened), eng_image_stored_len(l.layer));
  EXPECT_EQ(eng_image_stored_len(read), eng_image_stored_len(l.layer));
  eng_image *images[] = { opened, read };
  for (size_t n = 0; n < COUNT_OF(images); n++) {
    eng_instance *i = thawed(images[n]);
    expect_equal(i, l.changed);
    eng_instance_free(i);
    eng_image_unref(images[n]);
  }
  buf_free(&b);
  layer_free(&l);
}

TEST(an_instance_that_has_changed_most_is_frozen_whole) {
  layered l = a_layer();
  touch(l.changed, 0, 300);
  for (int32_t p = 0; p < 300; p++) store(l.changed, p * PAGE, -p - 1);
  eng_image *whole = frozen(l.changed);
  EXPECT(eng_image_stored_len(whole) > 400 * PAGE);
  eng_image_unref(whole);
  layer_free(&l);
}

TEST(no_memory_leaks_no_layer) {
  layered l = a_layer();
  AT_EVERY_FAULT {
    eng_image *image = NULL;
    cay_status status = eng_image_freeze(l.changed, &image, NULL);
    for (int n = 0; n < 40 && status == CAY_OK; n++) {
      eng_instance *i = NULL;
      status = eng_instance_from_image(image, &(eng_instance_options){ 0 }, &i, NULL);
      eng_instance_free(i);
    }
    EXPECT(status == CAY_OK || status == CAY_NO_MEMORY || status == CAY_IO);
    eng_image_unref(image);
  }
  layer_free(&l);
}

/* ---- lines ---- */

static cay_status lines_append(void *ctx, const void *data, size_t len, cay_error *err) {
  (void)err;
  return buf_append(ctx, data, len);
}

static cay_status lines_take(void *ctx, void *out, size_t len, cay_error *err) {
  cay_slice *left = ctx;
  if (len > left->len) return err_set(err, CAY_CORRUPT, "cut");
  if (len > 0) memcpy(out, left->data, len);
  *left = (cay_slice){ (const uint8_t *)left->data + len, left->len - len };
  return CAY_OK;
}

static buf lines_of(const eng_image *image, const eng_image *base) {
  buf bytes = BUF_INIT(BUF_UNLIMITED);
  EXPECT_EQ(eng_lines_write(image, base, lines_append, &bytes, NULL), CAY_OK);
  return bytes;
}

static cay_status lines_read(eng_image *base, const buf *bytes, size_t len, eng_image **out) {
  cay_slice left = { bytes->data, len };
  cay_error err = { .message = "" };
  cay_status status = eng_lines_read(base, lines_take, &left, UINT64_MAX, out, &err);
  EXPECT_EQ(status != CAY_OK, err.message[0] != '\0');
  return status;
}

TEST(an_image_comes_back_from_its_lines_over_any_base) {
  layered l = a_layer();
  eng_image *whole = NULL, *again = NULL;
  eng_instance *other = thawed(l.base);
  touch(other, 0, 500);
  whole = frozen(other); /* so much is different that it is no layer */
  const eng_image *images[] = { l.layer, l.base, whole };
  for (size_t n = 0; n < COUNT_OF(images); n++) {
    buf bytes = lines_of(images[n], l.base);
    EXPECT_EQ(lines_read(l.base, &bytes, bytes.len, &again), CAY_OK);
    eng_instance *want = thawed((eng_image *)(uintptr_t)images[n]), *i = thawed(again);
    expect_equal(i, want);
    EXPECT_EQ(eng_image_stored_len(again), eng_image_stored_len(images[n]));
    eng_instance_free(i);
    eng_instance_free(want);
    eng_image_unref(again);
    again = NULL;
    buf_free(&bytes);
  }
  buf one = lines_of(l.layer, l.base);
  EXPECT(one.len < eng_image_own_len(l.layer));
  buf_free(&one);
  eng_image_unref(whole);
  eng_instance_free(other);
  layer_free(&l);
}

TEST(lines_that_were_changed_or_cut_are_corrupt) {
  layered l = a_layer();
  buf bytes = lines_of(l.layer, l.base);
  eng_image *none = NULL;
  for (size_t len = 0; len < bytes.len; len += len < 400 ? 1 : 997)
    EXPECT_EQ(lines_read(l.base, &bytes, len, &none), CAY_CORRUPT);
  for (size_t at = 0; at < bytes.len; at += at < 400 ? 1 : 991) {
    bytes.data[at] ^= 0x40;
    EXPECT_EQ(lines_read(l.base, &bytes, bytes.len, &none), CAY_CORRUPT);
    bytes.data[at] ^= 0x40;
  }
  EXPECT_EQ(lines_read(l.base, &bytes, bytes.len, &none), CAY_OK);
  eng_image_unref(none);
  buf_free(&bytes);
  layer_free(&l);
}

TEST(a_layer_keeps_no_descriptor) {
  layered l = a_layer();
  eng_image *copies[50];
  for (size_t n = 0; n < COUNT_OF(copies); n++) {
    store(l.changed, 200 * PAGE, (int32_t)n);
    copies[n] = frozen(l.changed);
  }
  EXPECT(fcntl(60, F_GETFD) < 0);
  for (size_t n = 0; n < COUNT_OF(copies); n++) {
    eng_instance *i = thawed(copies[n]);
    EXPECT_EQ(memcmp(eng_memory(i) + 200 * PAGE, &(int32_t){ (int32_t)n }, 4), 0);
    eng_instance_free(i);
    eng_image_unref(copies[n]);
  }
  layer_free(&l);
}
