/* image_file_test.c - images as files and as bytes, as src/engine/image_file.h promises them. */
#include "engine/image_file.h"

#include "base/buf.h"
#include "machine.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096 };

static void path_of(char out[static 256], const char *name) {
  (void)snprintf(out, 256, "%s/%s", test_dir(), name);
}

/* Pages 0 to 4, 17 (the module's data), 300 to 309 and the last hold something. */
static world a_world(void) {
  world w = world_of(machine, ENG_STOP_EPOCH, &no_imports, (eng_instance_options){ 0 });
  touch(w.instance, 0, 5);
  touch(w.instance, 300 * PAGE, 10);
  EXPECT_EQ(grow(w.instance, 3), 33);
  store(w.instance, 36 * ENG_PAGE - 4, 99);
  set(w.instance, -77);
  return w;
}

static void expect_same(eng_image *image, eng_image *want) {
  EXPECT_EQ(eng_image_memory_len(image), eng_image_memory_len(want));
  EXPECT_EQ(eng_image_stored_len(image), eng_image_stored_len(want));
  eng_instance *a = thawed(image), *b = thawed(want);
  EXPECT(memcmp(eng_memory(a), eng_memory(b), eng_memory_len(b)) == 0);
  EXPECT_EQ(get(a), -77);
  eng_instance_free(a);
  eng_instance_free(b);
}

static eng_image *opened(eng_module *module, const char *path) {
  eng_image *image = NULL;
  cay_error err = { 0 };
  cay_status status = eng_image_open(module, path, true, &image, &err);
  if (status != CAY_OK) fprintf(stderr, "%s\n", err.message);
  EXPECT_EQ(status, CAY_OK);
  return image;
}

/* Bytes of a file that are not in a hole: blocks that a file system keeps in reserve do not count. */
static uint64_t data_in(const char *path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  EXPECT(fd >= 0);
  uint64_t sum = 0;
  for (off_t end = 0;;) {
    off_t data = lseek(fd, end, SEEK_DATA);
    if (data < 0) break;
    end = lseek(fd, data, SEEK_HOLE);
    sum += (uint64_t)(end - data);
  }
  EXPECT_EQ(close(fd), 0);
  return sum;
}

TEST(a_saved_image_opens_as_it_was) {
  char path[256];
  path_of(path, "boot.image");
  world w = a_world();
  eng_image *image = frozen(w.instance);
  EXPECT_EQ(eng_image_save(image, path, NULL), CAY_OK);
  EXPECT_EQ(eng_image_save(image, path, NULL), CAY_OK);
  uint64_t data = data_in(path); /* before it is read: tmpfs fills holes that are mapped and looked at */
  EXPECT(data >= eng_image_stored_len(image) && data < 1 << 20);
  eng_image *again = opened(w.module, path);
  expect_same(again, image);

  char copy[256];
  path_of(copy, "copy.image");
  EXPECT_EQ(eng_image_save(again, copy, NULL), CAY_OK); /* an opened image can be saved */
  eng_image *third = opened(w.module, copy);
  expect_same(third, image);
  eng_image_unref(third);
  eng_image_unref(again);
  eng_image_unref(image);
  world_free(&w);
}

TEST(instances_of_an_opened_image_freeze_fork_and_reset) {
  char path[256];
  path_of(path, "living.image");
  world w = a_world();
  eng_image *image = frozen(w.instance);
  EXPECT_EQ(eng_image_save(image, path, NULL), CAY_OK);
  eng_image_unref(image);
  eng_image *boot = opened(w.module, path);
  eng_instance *a = thawed(boot);
  store(a, 301 * PAGE, 5);
  store(a, 100 * PAGE, 6);
  eng_instance *child = forked(a);
  eng_image *later = frozen(a);
  eng_instance *b = thawed(later);
  EXPECT_EQ(eng_image_own_len(later), 2 * PAGE);
  EXPECT_EQ(eng_image_stored_len(later), eng_image_stored_len(boot) + PAGE);
  EXPECT(memcmp(eng_memory(a), eng_memory(b), eng_memory_len(a)) == 0);
  EXPECT(memcmp(eng_memory(a), eng_memory(child), eng_memory_len(a)) == 0);
  for (int32_t dirty = 1; dirty < 400; dirty *= 7) {
    for (int32_t p = 0; p < dirty; p++) store(a, p * PAGE, -1);
    EXPECT_EQ(eng_instance_reset(a, NULL), CAY_OK);
    EXPECT(memcmp(eng_memory(a), eng_memory(w.instance), eng_memory_len(a)) == 0);
  }
  eng_instance_free(a);
  eng_instance_free(b);
  eng_instance_free(child);
  eng_image_unref(later);
  eng_image_unref(boot);
  world_free(&w);
}

TEST(a_file_that_is_replaced_stays_what_it_was_for_those_who_have_it) {
  char path[256];
  path_of(path, "replaced.image");
  world w = a_world();
  eng_image *first = frozen(w.instance);
  EXPECT_EQ(eng_image_save(first, path, NULL), CAY_OK);
  eng_image *open_first = opened(w.module, path);
  store(w.instance, 0, 4711);
  eng_image *second = frozen(w.instance);
  EXPECT_EQ(eng_image_save(second, path, NULL), CAY_OK);
  expect_same(open_first, first);
  eng_image *open_second = opened(w.module, path);
  eng_instance *i = thawed(open_second);
  EXPECT_EQ(at(i, 0), 4711);
  eng_instance_free(i);
  eng_image_unref(open_second);
  eng_image_unref(second);
  eng_image_unref(open_first);
  eng_image_unref(first);
  world_free(&w);
}

static void poke(const char *path, off_t at, uint8_t value) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  EXPECT_EQ(pwrite(fd, &value, 1, at), 1);
  close(fd);
}

static cay_status open_status(eng_module *module, const char *path, bool verify) {
  eng_image *image = NULL;
  cay_error err = { 0 };
  cay_status status = eng_image_open(module, path, verify, &image, &err);
  EXPECT_EQ(status == CAY_OK, image != NULL);
  EXPECT_EQ(status != CAY_OK, err.message[0] != '\0');
  eng_image_unref(image);
  return status;
}

TEST(a_file_that_does_not_fit_is_refused) {
  char path[256];
  path_of(path, "odd.image");
  world w = a_world();
  eng_image *image = frozen(w.instance);
  EXPECT_EQ(open_status(w.module, path, false), CAY_NOT_FOUND);
  EXPECT_EQ(eng_image_save(image, path, NULL), CAY_OK);
  eng_module *other = load(w.engine, "(module (memory (export \"m\") 1))", ENG_STOP_EPOCH, &no_imports);
  EXPECT_EQ(open_status(other, path, false), CAY_UNSUPPORTED);
  eng_module_unref(other);
  other = load(w.engine, "(module (memory (export \"m\") 1) (global (mut i32) (i32.const 0)))",
               ENG_STOP_EPOCH, &no_imports);
  EXPECT_EQ(open_status(other, path, false), CAY_UNSUPPORTED);
  eng_module_unref(other);

  static const struct {
    off_t at;
    cay_status status;
  } cases[] = {
    { 0, CAY_CORRUPT },                                 /* magic */
    { 8, CAY_UNSUPPORTED },                             /* version */
    { 12, CAY_CORRUPT },                                /* how many globals */
    { 16, CAY_UNSUPPORTED },                            /* module */
    { 50, CAY_CORRUPT },                                /* length */
    { 71, CAY_CORRUPT },                                /* where the memory begins */
    { 96 + 16, CAY_CORRUPT }, { 80 + 24, CAY_CORRUPT }, /* a global's kind and name */
  };
  for (size_t n = 0; n < COUNT_OF(cases); n++) {
    EXPECT_EQ(eng_image_save(image, path, NULL), CAY_OK);
    poke(path, cases[n].at, 0xee);
    EXPECT_EQ(open_status(w.module, path, false), cases[n].status);
  }
  EXPECT_EQ(eng_image_save(image, path, NULL), CAY_OK);
  poke(path, 65536 + 100 * PAGE, 1); /* a page that was zero */
  EXPECT_EQ(open_status(w.module, path, false), CAY_OK);
  EXPECT_EQ(open_status(w.module, path, true), CAY_CORRUPT);
  EXPECT_EQ(truncate(path, 65536 + 35 * ENG_PAGE), 0);
  EXPECT_EQ(open_status(w.module, path, false), CAY_CORRUPT);
  EXPECT_EQ(truncate(path, 10), 0);
  EXPECT_EQ(open_status(w.module, path, false), CAY_CORRUPT);
  EXPECT_EQ(open_status(w.module, test_dir(), false), CAY_CORRUPT);
  eng_image_unref(image);
  world_free(&w);
}

/* ---- as bytes ---- */

static cay_status append(void *ctx, const void *data, size_t len, cay_error *err) {
  (void)err;
  return buf_append(ctx, data, len);
}

static buf written(const eng_image *image) {
  buf b = BUF_INIT(64 << 20);
  EXPECT_EQ(eng_image_write(image, append, &b, NULL), CAY_OK);
  return b;
}

static cay_status read_status(eng_module *module, const void *data, size_t len, uint64_t memory_max,
                              eng_image **out) {
  cay_error err = { 0 };
  cay_status status = eng_image_read_bytes(module, (cay_slice){ data, len }, memory_max, out, &err);
  EXPECT_EQ(status == CAY_OK, *out != NULL);
  EXPECT_EQ(status != CAY_OK, err.message[0] != '\0');
  return status;
}

TEST(written_bytes_read_as_the_same_image_and_hold_no_zero_pages) {
  world w = a_world();
  eng_image *image = frozen(w.instance), *again = NULL;
  buf b = written(image);
  EXPECT(b.len < eng_image_stored_len(image) + 1024);
  EXPECT_EQ(read_status(w.module, b.data, b.len, 36 * ENG_PAGE, &again), CAY_OK);
  expect_same(again, image);
  eng_image_unref(again);
  again = NULL;
  EXPECT_EQ(read_status(w.module, b.data, b.len, 36 * ENG_PAGE - 1, &again), CAY_LIMIT);
  buf_free(&b);
  eng_image_unref(image);
  world_free(&w);
}

TEST(bytes_with_any_one_changed_or_missing_are_refused) {
  world w = a_world();
  eng_image *image = frozen(w.instance), *none = NULL;
  buf b = written(image);
  for (size_t n = 0; n < b.len; n += n < 600 ? 1 : 509) {
    b.data[n] ^= 0x40;
    EXPECT(read_status(w.module, b.data, b.len, 64 << 20, &none) != CAY_OK);
    b.data[n] ^= 0x40;
  }
  for (size_t n = 0; n < b.len; n += n < 600 ? 7 : 1009)
    EXPECT_EQ(read_status(w.module, b.data, n, 64 << 20, &none), CAY_CORRUPT);
  EXPECT_EQ(buf_append_byte(&b, 0), CAY_OK);
  EXPECT_EQ(read_status(w.module, b.data, b.len, 64 << 20, &none), CAY_CORRUPT);
  buf_free(&b);
  eng_image_unref(image);
  world_free(&w);
}

enum { HEAD = 64, GLOBALS = 3 * 64, RUNS = HEAD + GLOBALS };

/* The numbers are read before the sum, so each must be refused for its own sake. */
TEST(bytes_whose_numbers_lie_are_refused_before_they_are_used) {
  static const struct {
    size_t at, len;
    uint64_t value;
    const char *says;
  } cases[] = {
    { 48, 8, UINT64_C(1) << 40, "that length" },
    { 48, 8, 36 * ENG_PAGE + 1, "that length" },
    { 48, 8, ENG_PAGE, "that length" },
    { 56, 8, UINT64_C(1) << 40, "more than its memory" },
    { 56, 8, 36 * PAGE + 1, "more than its memory" },
    { 12, 4, 2, "globals" },
    { RUNS, 4, UINT32_MAX, "beyond its memory" },
    { RUNS, 4, 36 * 16 - 4, "beyond its memory" },
    { RUNS + 4, 4, UINT32_MAX, "beyond its memory" },
    { RUNS + 4, 4, 36 * 16, "more pages than" },
    { RUNS + 4, 4, 0, "fewer pages" },
    { RUNS + 8 + 5 * PAGE, 4, 4, "out of order" },
    { RUNS + 8 + 5 * PAGE, 4, 0, "out of order" },
  };
  world w = a_world();
  eng_image *image = frozen(w.instance), *none = NULL;
  for (size_t n = 0; n < COUNT_OF(cases); n++) {
    buf b = written(image);
    memcpy(b.data + cases[n].at, &cases[n].value, cases[n].len);
    cay_error err = { 0 };
    cay_slice bytes = { b.data, b.len };
    EXPECT_EQ(eng_image_read_bytes(w.module, bytes, UINT64_MAX, &none, &err), CAY_CORRUPT);
    if (strstr(err.message, cases[n].says) == NULL) EXPECT_TEXT(err.message, cases[n].says);
    buf_free(&b);
  }
  eng_image_unref(image);
  world_free(&w);
}

static cay_status refuse(void *ctx, const void *data, size_t len, cay_error *err) {
  (void)ctx, (void)data, (void)len, (void)err;
  return CAY_CANCELLED;
}

TEST(a_sink_that_refuses_ends_the_writing) {
  world w = a_world();
  eng_image *image = frozen(w.instance);
  EXPECT_EQ(eng_image_write(image, refuse, NULL, NULL), CAY_CANCELLED);
  eng_image_unref(image);
  world_free(&w);
}

TEST(no_memory_leaves_no_file_and_no_image) {
  char path[256];
  path_of(path, "fault.image");
  world w = a_world();
  eng_image *image = frozen(w.instance);
  buf b = written(image);
  AT_EVERY_FAULT {
    eng_image *opened_image = NULL, *read = NULL;
    cay_status status = eng_image_save(image, path, NULL);
    EXPECT_EQ(access(path, F_OK) == 0, status == CAY_OK);
    if (status == CAY_OK) status = eng_image_open(w.module, path, true, &opened_image, NULL);
    if (status == CAY_OK)
      status = eng_image_read_bytes(w.module, (cay_slice){ b.data, b.len }, UINT64_MAX, &read, NULL);
    EXPECT(status == CAY_OK || status == CAY_NO_MEMORY || status == CAY_IO);
    eng_image_unref(opened_image);
    eng_image_unref(read);
    (void)unlink(path);
  }
  buf_free(&b);
  eng_image_unref(image);
  world_free(&w);
}
