/* image_test.c - freezing, forking and resetting, as src/engine/image.h promises it. */
#include "engine/checkpoint.h"
#include "machine.h"

#include <unistd.h>

static const enum eng_stop stops[] = { ENG_STOP_PROTECT, ENG_STOP_EPOCH };

TEST(an_image_holds_memory_and_globals_and_instances_of_it_diverge) {
  for (size_t n = 0; n < COUNT_OF(stops); n++) {
    world w = world_of(machine, stops[n], &no_imports, (eng_instance_options){ 0 });
    store(w.instance, 4, 1234);
    store(w.instance, 70000, 5678); /* over the module's own data */
    store(w.instance, 33 * ENG_PAGE - 4, 99);
    set(w.instance, -77);
    eng_image *image = frozen(w.instance);
    store(w.instance, 4, 1);

    eng_instance *a = thawed(image), *b = thawed(image);
    store(a, 4, 2);
    set(a, 3);
    EXPECT_EQ(at(a, 4), 2);
    EXPECT_EQ(at(b, 4), 1234);
    EXPECT_EQ(at(b, 70000), 5678);
    EXPECT_EQ(at(b, 33 * ENG_PAGE - 4), 99);
    EXPECT_EQ(call_i(b, "get", ":i", 0, 0), -77);
    EXPECT_EQ(call_i(a, "get", ":i", 0, 0), 3);
    eng_instance_free(a);
    eng_instance_free(b);
    eng_image_unref(image);
    world_free(&w);
  }
}

TEST(an_image_stores_no_zero_pages) {
  world w = world_of(machine, ENG_STOP_EPOCH, &no_imports, (eng_instance_options){ 0 });
  touch(w.instance, 1 << 20, 10);
  eng_image *image = frozen(w.instance);
  EXPECT_EQ(eng_image_memory_len(image), 33 * ENG_PAGE);
  EXPECT_EQ(eng_image_stored_len(image), 11 * 4096);
  EXPECT(eng_image_module(image) == w.module);
  eng_image_unref(image);
  world_free(&w);
}

TEST(an_image_outlives_what_it_was_made_from) {
  eng_engine *engine = fresh_engine(NULL);
  eng_module *module = load(engine, machine, ENG_STOP_EPOCH, &no_imports);
  eng_instance *i = start(module, (eng_instance_options){ 0 });
  eng_module_unref(module);
  store(i, 4, 7);
  eng_image *image = frozen(i);
  eng_instance_free(i);
  eng_instance *a = thawed(image);
  eng_image_unref(image);
  EXPECT_EQ(at(a, 4), 7);
  eng_instance_free(a);
  eng_engine_free(engine);
}

static void expect_guarded(eng_instance *i) {
  int32_t len = (int32_t)eng_memory_len(i);
  eng_val values[2] = { { .i32 = len - 2 } };
  EXPECT_EQ(call(i, "load", "i:i", values), ENG_TRAPPED);
  EXPECT_EQ(eng_trap_kind(i), ENG_TRAP_MEMORY);
  values[0].i32 = -4;
  EXPECT_EQ(call(i, "load", "i:i", values), ENG_TRAPPED);
  EXPECT_EQ(at(i, len - 4), 0);
}

TEST(memory_grown_before_and_after_the_freeze_is_there_and_guarded) {
  world w = world_of(machine, ENG_STOP_PROTECT, &no_imports, (eng_instance_options){ 0 });
  EXPECT_EQ(call_i(w.instance, "grow", "i:i", 20, 0), 33);
  store(w.instance, 50 * ENG_PAGE, 11);
  eng_image *image = frozen(w.instance);
  eng_instance *a = thawed(image);
  EXPECT_EQ(eng_memory_len(a), 53 * ENG_PAGE);
  EXPECT_EQ(at(a, 50 * ENG_PAGE), 11);
  expect_guarded(a);
  EXPECT_EQ(call_i(a, "grow", "i:i", 2, 0), 53);
  store(a, 54 * ENG_PAGE, 12);
  EXPECT_EQ(at(a, 54 * ENG_PAGE), 12);
  expect_guarded(a);
  eng_instance_free(a);
  eng_image_unref(image);
  world_free(&w);
}

TEST(an_image_larger_than_the_cap_makes_no_instance) {
  world w = world_of(machine, ENG_STOP_EPOCH, &no_imports, (eng_instance_options){ 0 });
  EXPECT_EQ(call_i(w.instance, "grow", "i:i", 20, 0), 33);
  eng_image *image = frozen(w.instance);
  eng_instance *i = NULL;
  eng_instance_options small = { .memory_max = 40 * ENG_PAGE };
  EXPECT_EQ(eng_instance_from_image(image, &small, &i, NULL), CAY_LIMIT);
  EXPECT(i == NULL);
  eng_image_unref(image);
  world_free(&w);
}

TEST(a_reset_instance_is_as_it_was_frozen) {
  world w = world_of(machine, ENG_STOP_EPOCH, &no_imports, (eng_instance_options){ 0 });
  touch(w.instance, 0, 300);
  set(w.instance, 5);
  eng_image *image = frozen(w.instance);
  eng_instance *a = thawed(image);
  const int32_t dirty[] = { 1, 20, 400 };
  for (size_t n = 0; n < COUNT_OF(dirty); n++) {
    for (int32_t p = 0; p < dirty[n]; p++) store(a, p * 4096, -1);
    set(a, 6);
    EXPECT_EQ(call_i(a, "grow", "i:i", 1, 0), 33 + (int)n);
    store(a, (33 + (int)n) * ENG_PAGE, 1);
    EXPECT_EQ(eng_instance_reset(a, NULL), CAY_OK);
    for (int32_t p = 0; p < 400; p++)
      EXPECT_EQ(at(a, p * 4096), p == 17 ? at(w.instance, p * 4096) : p < 300 ? p * 4096 + 1 : 0);
    EXPECT_EQ(at(a, (33 + (int)n) * ENG_PAGE), 0);
    EXPECT_EQ(call_i(a, "get", ":i", 0, 0), 5);
  }
  eng_instance_free(a);
  cay_error err;
  EXPECT_EQ(eng_instance_reset(w.instance, &err), CAY_INVALID);
  eng_image_unref(image);
  world_free(&w);
}

TEST(a_reset_gives_memory_back_after_a_guest_ran_wild) {
  world w = world_of(machine, ENG_STOP_EPOCH, &no_imports, (eng_instance_options){ 0 });
  EXPECT_EQ(grow(w.instance, 200), 33);
  touch(w.instance, 0, 100);
  set(w.instance, 5);
  eng_image *image = frozen(w.instance);
  eng_instance *a = thawed(image);
  touch(a, 50 * 4096, 3000);
  EXPECT(eng_instance_private_len(a) >= 3000 * 4096);
  EXPECT_EQ(eng_instance_reset(a, NULL), CAY_OK);
  EXPECT_EQ(eng_instance_private_len(a), 0);
  EXPECT(memcmp(eng_memory(a), eng_memory(w.instance), eng_memory_len(a)) == 0);
  eng_instance_free(a);
  eng_image_unref(image);
  world_free(&w);
}

TEST(a_fork_is_a_copy_and_both_go_their_ways) {
  const int32_t sizes[] = {
    1, 40, 100, 500, 1, 40, 100, 500, 500
  }; /* below and above what makes the parent share an image */
  for (size_t n = 0; n < COUNT_OF(sizes); n++) {
    world w = world_of(machine, stops[n % 2], &no_imports, (eng_instance_options){ 0 });
    touch(w.instance, 0, sizes[n]);
    store(w.instance, 70000, 0); /* a page of the module's data that is now zero there */
    set(w.instance, 8);
    for (size_t earlier = n % 3; earlier > 0; earlier--) eng_instance_free(forked(w.instance));
    eng_instance *child = forked(w.instance);
    store(w.instance, 0, -1);
    store(child, 4096, -2);
    set(child, 9);
    EXPECT_EQ(at(child, 0), 1);
    EXPECT_EQ(at(w.instance, 4096), sizes[n] > 1 ? 4097 : 0);
    EXPECT_EQ(at(child, 70000), 0);
    EXPECT_EQ(at(child, (sizes[n] - 1) * 4096), sizes[n] == 2 ? -2 : (sizes[n] - 1) * 4096 + 1);
    EXPECT_EQ(call_i(w.instance, "get", ":i", 0, 0), 8);
    EXPECT_EQ(call_i(child, "get", ":i", 0, 0), 9);
    eng_instance_free(child);
    world_free(&w);
  }
}

TEST(forks_of_forks_and_of_grown_memory_keep_everything) {
  world w = world_of(machine, ENG_STOP_EPOCH, &no_imports, (eng_instance_options){ 0 });
  eng_instance *line[8] = { w.instance };
  for (int n = 1; n < 8; n++) {
    touch(line[n - 1], n * 100 * 4096, 90);
    EXPECT_EQ(call_i(line[n - 1], "grow", "i:i", 7, 0), 33 + 7 * (n - 1));
    line[n] = forked(line[n - 1]);
    for (int m = 1; m <= n; m++) EXPECT_EQ(at(line[n], (m * 100 + 89) * 4096), (m * 100 + 89) * 4096 + 1);
    EXPECT_EQ(eng_memory_len(line[n]), (33u + 7u * (unsigned)n) * ENG_PAGE);
    expect_guarded(line[n]);
  }
  for (int n = 7; n > 0; n--) eng_instance_free(line[n]);
  world_free(&w);
}

static enum eng_flow fork_here(eng_instance *instance, void *ctx, eng_val *values) {
  (void)values;
  eng_instance **child = ctx;
  EXPECT_EQ(eng_instance_fork(instance, &(eng_instance_options){ .ctx = child }, child, NULL), CAY_OK);
  return ENG_CONTINUE;
}

TEST(a_host_function_may_fork_its_caller) {
  static const eng_import offered[] = { { "linux", "fork", ":", fork_here } };
  static const eng_imports imports = { offered, 1 };
  eng_instance *child = NULL;
  world w = world_of(
      "(module (import \"linux\" \"fork\" (func $fork)) (memory (export \"memory\") 4)"
      " (global $hidden (mut i32) (i32.const 0))"
      " (func (export \"go\") (result i32) (i32.store (i32.const 0) (i32.const 5)) (call $fork)"
      "   (i32.store (i32.const 0) (i32.const 6)) (global.set $hidden (i32.const 1)) (i32.load (i32.const 0)))"
      " (func (export \"load\") (param i32) (result i32) (i32.load (local.get 0))))",
      ENG_STOP_PROTECT, &imports, (eng_instance_options){ .ctx = &child });
  EXPECT_EQ(call_i(w.instance, "go", ":i", 0, 0), 6);
  EXPECT_EQ(at(child, 0), 5);
  eng_instance_free(child);
  world_free(&w);
}

TEST(a_module_that_cannot_be_frozen_says_why) {
  static const struct {
    const char *text, *says;
    bool forkable;
  } cases[] = {
    { "(module (memory (export \"m\") 1) (global (mut i32) (i32.const 0)))", "not exported", true },
    { "(module (memory (export \"m\") 1) (func $f) (start $f))", "start function", false },
    { "(module (memory (export \"m\") 1) (data \"passive\"))", "passive", false },
    { "(module (memory (export \"m\") 1) (table 2 funcref) (func (table.set (i32.const 0) (ref.null func))))",
      "tables", false },
    { "(module (memory (export \"m\") 1) (global (export \"g\") (mut externref) (ref.null extern)))",
      "reference", false },
  };
  for (size_t n = 0; n < COUNT_OF(cases); n++) {
    world w = world_of(cases[n].text, ENG_STOP_EPOCH, &no_imports, (eng_instance_options){ 0 });
    eng_image *image = NULL;
    eng_instance *child = NULL;
    cay_error err;
    EXPECT(strstr(eng_module_why_not_imageable(w.module), cases[n].says) != NULL);
    EXPECT_EQ(eng_image_freeze(w.instance, &image, &err), CAY_UNSUPPORTED);
    EXPECT(strstr(err.message, cases[n].says) != NULL);
    EXPECT_EQ(eng_instance_fork(w.instance, &(eng_instance_options){ 0 }, &child, &err),
              cases[n].forkable ? CAY_OK : CAY_UNSUPPORTED);
    eng_instance_free(child);
    world_free(&w);
  }
}

TEST(no_memory_leaks_no_image_and_no_child) {
  world w = world_of(machine, ENG_STOP_EPOCH, &no_imports, (eng_instance_options){ 0 });
  touch(w.instance, 0, 200);
  AT_EVERY_FAULT {
    eng_image *image = NULL;
    eng_instance *a = NULL, *b = NULL;
    cay_status status = eng_image_freeze(w.instance, &image, NULL);
    if (status == CAY_OK) status = eng_instance_from_image(image, &(eng_instance_options){ 0 }, &a, NULL);
    if (status == CAY_OK) status = eng_instance_fork(w.instance, &(eng_instance_options){ 0 }, &b, NULL);
    EXPECT(status == CAY_OK || status == CAY_NO_MEMORY || status == CAY_IO);
    eng_instance_free(a);
    eng_instance_free(b);
    eng_image_unref(image);
  }
  world_free(&w);
}
