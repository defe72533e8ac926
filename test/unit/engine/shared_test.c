/* shared_test.c - a memory that several instances have: as src/engine/instance.h and wasm_scan.h promise it. */
#include "engine/checkpoint.h"
#include "engine/image.h"
#include "engine/pool.h"
#include "wat.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define SHARED "(import \"env\" \"memory\" (memory 2 64 shared))"
#define EXPORTED " (export \"memory\" (memory 0))"
#define PEEK                                                                                                 \
  " (func (export \"load\") (param i32) (result i32) (i32.atomic.load (local.get 0)))"                       \
  " (func (export \"store\") (param i32 i32) (i32.atomic.store (local.get 0) (local.get 1)))"

/* What the linker writes: data that is copied once, and a mark that it was. */
static const char program[] =
    "(module " SHARED EXPORTED " (global $sp (export \"__stack_pointer\") (mut i32) (i32.const 4096))"
    " (data $d \"once\")"
    " (func $init (if (i32.eqz (i32.atomic.rmw.cmpxchg (i32.const 8) (i32.const 0) (i32.const 1)))"
    "   (then (memory.init $d (i32.const 64) (i32.const 0) (i32.const 4)))) (data.drop $d))"
    " (start $init)" PEEK
    " (func (export \"add\") (param i32) (result i32) (i32.atomic.rmw.add (i32.const 16) (local.get 0)))"
    " (func (export \"grow\") (result i32) (memory.grow (i32.const 1)))"
    " (func (export \"wait\") (result i32) (memory.atomic.wait32 (i32.const 16) (i32.const 0) (i64.const -1)))"
    " (func (export \"notify\") (result i32) (memory.atomic.notify (i32.const 16) (i32.const 1)))"
    " (func (export \"set\") (param i32) (global.set $sp (local.get 0)))"
    " (func (export \"spin\") (loop $l (drop (i32.atomic.rmw.add (i32.const 16) (i32.const 1))) (br $l))))";

static eng_instance *second(eng_instance *first) {
  eng_instance *made = NULL;
  cay_error err = { 0 };
  EXPECT_EQ(eng_instance_thread(first, &(eng_instance_options){ 0 }, &made, &err), CAY_OK);
  return made;
}

TEST(two_instances_have_one_memory_and_its_data_is_copied_once) {
  world w = world_of(program, ENG_STOP_EPOCH, &no_imports, (eng_instance_options){ 0 });
  EXPECT(eng_memory_is_shared(w.instance));
  EXPECT(memcmp(eng_memory(w.instance) + 64, "once", 4) == 0);
  memcpy(eng_memory(w.instance) + 64, "more", 4);
  eng_instance *other = second(w.instance);
  EXPECT(memcmp(eng_memory(other) + 64, "more", 4) == 0);
  EXPECT(eng_memory(other) == eng_memory(w.instance));
  EXPECT_EQ(call_i(w.instance, "add", "i:i", 5, 0), 0);
  EXPECT_EQ(call_i(other, "add", "i:i", 2, 0), 5);
  EXPECT_EQ(call_i(other, "load", "i:i", 16, 0), 7);
  eng_global sp;
  EXPECT(eng_global_find(other, "__stack_pointer", &sp));
  call_i(w.instance, "set", "i:", 100, 0);
  EXPECT_EQ(eng_global_get(other, &sp).i32, 4096);
  eng_instance *first = w.instance;
  w.instance = other; /* the memory lives as long as any of them */
  eng_instance_free(first);
  EXPECT_EQ(call_i(other, "load", "i:i", 16, 0), 7);
  world_free(&w);
}

TEST(the_host_grows_it_for_all_within_the_limit) {
  eng_instance_options options = { .memory_max = 4 * ENG_PAGE };
  world w = world_of(program, ENG_STOP_EPOCH, &no_imports, options);
  eng_instance *other = second(w.instance);
  uint32_t old = 0;
  EXPECT_EQ(eng_memory_grow(w.instance, 2, &old, NULL), CAY_OK);
  EXPECT_EQ(old, 2);
  EXPECT_EQ(eng_memory_grow(w.instance, 1, &old, NULL), CAY_LIMIT);
  EXPECT_EQ(eng_memory_len(other), 4 * ENG_PAGE);
  EXPECT(eng_memory_at(other, 4 * ENG_PAGE - 4, 4) != NULL);
  EXPECT(eng_memory_at(other, 4 * ENG_PAGE - 3, 4) == NULL);
  EXPECT_EQ(call_i(other, "load", "i:i", 4 * ENG_PAGE - 4, 0), 0);
  eng_instance_free(other);
  world_free(&w);
}

TEST(beyond_its_length_an_access_traps) {
  world w = world_of(program, ENG_STOP_EPOCH, &no_imports, (eng_instance_options){ 0 });
  eng_val values[2] = { { .u32 = 2 * ENG_PAGE } };
  EXPECT_EQ(call(w.instance, "load", "i:i", values), ENG_TRAPPED);
  EXPECT_EQ(eng_trap_kind(w.instance), ENG_TRAP_MEMORY);
  values[0].u32 = 0xfffffffcu;
  EXPECT_EQ(call(w.instance, "load", "i:i", values), ENG_TRAPPED);
  world_free(&w);
}

/* A wait could not be ended by anybody, and growth would ask no limit. */
TEST(code_neither_waits_on_it_nor_grows_it) {
  world w = world_of(program, ENG_STOP_EPOCH, &no_imports, (eng_instance_options){ 0 });
  eng_val values[2] = { 0 };
  EXPECT_EQ(call(w.instance, "wait", ":i", values), ENG_TRAPPED);
  EXPECT_EQ(eng_trap_kind(w.instance), ENG_TRAP_UNREACHABLE);
  EXPECT_EQ(call(w.instance, "grow", ":i", values), ENG_TRAPPED);
  EXPECT_EQ(eng_trap_kind(w.instance), ENG_TRAP_UNREACHABLE);
  EXPECT_EQ(eng_memory_len(w.instance), 2 * ENG_PAGE);
  EXPECT_EQ(call_i(w.instance, "notify", ":i", 0, 0), 0);
  world_free(&w);
}

static void *spin(void *instance) {
  eng_val none[1] = { 0 };
  return (void *)(intptr_t)call(instance, "spin", ":", none);
}

TEST(a_kick_reaches_the_one_it_is_for) {
  world w = world_of(program, ENG_STOP_EPOCH, &no_imports, (eng_instance_options){ 0 });
  eng_instance *other = second(w.instance);
  pthread_t a, b;
  void *end = NULL;
  EXPECT_EQ(pthread_create(&a, NULL, spin, w.instance), 0);
  EXPECT_EQ(pthread_create(&b, NULL, spin, other), 0);
  while (__atomic_load_n((uint32_t *)(void *)(eng_memory(other) + 16), __ATOMIC_SEQ_CST) < 1000) usleep(100);
  eng_instance_kick(w.instance);
  EXPECT_EQ(pthread_join(a, &end), 0);
  EXPECT_EQ((intptr_t)end, ENG_LEFT);
  EXPECT_EQ(pthread_tryjoin_np(b, &end), EBUSY);
  eng_instance_kick(other);
  EXPECT_EQ(pthread_join(b, &end), 0);
  EXPECT_EQ((intptr_t)end, ENG_LEFT);
  eng_instance_free(other);
  world_free(&w);
}

TEST(a_fork_copies_the_memory_and_shares_none_of_it) {
  world w = world_of(program, ENG_STOP_EPOCH, &no_imports, (eng_instance_options){ 0 });
  eng_instance *child = NULL;
  uint32_t old = 0;
  cay_error err = { 0 };
  EXPECT_EQ(eng_memory_grow(w.instance, 1, &old, NULL), CAY_OK);
  call_i(w.instance, "store", "ii:", 2 * ENG_PAGE + 8, 77);
  memcpy(eng_memory(w.instance) + 64, "mine", 4);
  call_i(w.instance, "set", "i:", 512, 0);
  EXPECT_EQ(eng_instance_fork(w.instance, &(eng_instance_options){ 0 }, &child, &err), CAY_OK);
  EXPECT(eng_memory(child) != eng_memory(w.instance));
  EXPECT_EQ(eng_memory_len(child), 3 * ENG_PAGE);
  EXPECT_EQ(call_i(child, "load", "i:i", 2 * ENG_PAGE + 8, 0), 77);
  EXPECT(memcmp(eng_memory(child) + 64, "mine", 4) == 0);
  eng_global sp;
  EXPECT(eng_global_find(child, "__stack_pointer", &sp));
  EXPECT_EQ(eng_global_get(child, &sp).i32, 512);
  call_i(child, "store", "ii:", 2 * ENG_PAGE + 8, 78);
  EXPECT_EQ(call_i(w.instance, "load", "i:i", 2 * ENG_PAGE + 8, 0), 77);
  eng_instance_free(child);
  world_free(&w);
}

static uint32_t peek(eng_instance *instance, uint32_t addr) {
  return (uint32_t)call_i(instance, "load", "i:i", (int32_t)addr, 0);
}

static void poke(eng_instance *instance, uint32_t addr, uint32_t value) {
  call_i(instance, "store", "ii:", (int32_t)addr, (int32_t)value);
}

static eng_image *freeze(eng_instance *instance) {
  eng_image *image = NULL;
  cay_error err = { 0 };
  EXPECT_EQ(eng_image_freeze(instance, &image, &err), CAY_OK);
  return image;
}

static eng_instance *from_image(eng_image *image) {
  eng_instance *made = NULL;
  cay_error err = { 0 };
  EXPECT_EQ(eng_instance_from_image(image, &(eng_instance_options){ 0 }, &made, &err), CAY_OK);
  return made;
}

TEST(instances_of_an_image_share_nothing_that_they_write) {
  world w = world_of(program, ENG_STOP_PROTECT, &no_imports, (eng_instance_options){ 0 });
  uint32_t old = 0;
  EXPECT_EQ(eng_memory_grow(w.instance, 1, &old, NULL), CAY_OK);
  poke(w.instance, 2 * ENG_PAGE + 8, 7);
  memcpy(eng_memory(w.instance) + 64, "mine", 4);
  call_i(w.instance, "set", "i:", 512, 0);
  eng_image *image = freeze(w.instance);
  eng_instance *a = from_image(image), *b = from_image(image), *thread = second(a);
  EXPECT_EQ(eng_memory_len(a), 3 * ENG_PAGE);
  EXPECT(memcmp(eng_memory(a) + 64, "mine", 4) == 0); /* the start function has copied nothing */
  eng_global sp;
  EXPECT(eng_global_find(a, "__stack_pointer", &sp));
  EXPECT_EQ(eng_global_get(a, &sp).i32, 512);
  poke(thread, 2 * ENG_PAGE + 8, 8);
  EXPECT_EQ(peek(a, 2 * ENG_PAGE + 8), 8);
  EXPECT_EQ(peek(b, 2 * ENG_PAGE + 8), 7);
  eng_instance_free(thread);
  eng_image *later = freeze(a); /* a layer */
  eng_instance *c = from_image(later);
  EXPECT_EQ(peek(c, 2 * ENG_PAGE + 8), 8);
  eng_instance *all[] = { a, b, c };
  for (size_t i = 0; i < COUNT_OF(all); i++) eng_instance_free(all[i]);
  eng_image_unref(later);
  eng_image_unref(image);
  world_free(&w);
}

TEST(a_fork_of_an_instance_of_an_image_has_the_pages_of_both) {
  world w = world_of(program, ENG_STOP_EPOCH, &no_imports, (eng_instance_options){ 0 });
  poke(w.instance, ENG_PAGE, 7);
  eng_image *image = freeze(w.instance);
  eng_instance *parent = from_image(image), *child = NULL;
  poke(parent, 2 * ENG_PAGE - 8, 9);
  EXPECT_EQ(eng_instance_fork(parent, &(eng_instance_options){ 0 }, &child, NULL), CAY_OK);
  EXPECT_EQ(peek(child, ENG_PAGE), 7);
  EXPECT_EQ(peek(child, 2 * ENG_PAGE - 8), 9);
  eng_instance_free(child);
  eng_instance_free(parent);
  eng_image_unref(image);
  world_free(&w);
}

TEST(reset_and_rollback_put_it_back) {
  world w = world_of(program, ENG_STOP_PROTECT, &no_imports, (eng_instance_options){ 0 });
  uint32_t old = 0;
  poke(w.instance, 256, 1);
  eng_image *image = freeze(w.instance);
  eng_instance *i = from_image(image);
  poke(i, 256, 2);
  EXPECT_EQ(eng_memory_grow(i, 1, &old, NULL), CAY_OK);
  poke(i, 2 * ENG_PAGE, 3);
  for (uint32_t round = 0; round < 4; round++) {
    poke(i, 260, round);
    EXPECT_EQ(eng_checkpoint(i, NULL), CAY_OK);
    poke(i, 256, 50);
    poke(i, 260, 51);
    poke(i, 2 * ENG_PAGE, 52);
    EXPECT_EQ(eng_rollback(i, NULL), CAY_OK);
    EXPECT_EQ(peek(i, 256), 2);
    EXPECT_EQ(peek(i, 260), round);
    EXPECT_EQ(peek(i, 2 * ENG_PAGE), 3);
  }
  EXPECT_EQ(eng_instance_reset(i, NULL), CAY_OK);
  EXPECT_EQ(peek(i, 256), 1);
  EXPECT_EQ(peek(i, 2 * ENG_PAGE), 0);
  eng_instance_free(i);
  eng_image_unref(image);
  world_free(&w);
}

TEST(nothing_is_frozen_or_put_back_while_another_thread_has_it) {
  world w = world_of(program, ENG_STOP_PROTECT, &no_imports, (eng_instance_options){ 0 });
  eng_image *image = freeze(w.instance), *none = NULL;
  eng_instance *i = from_image(image), *other = second(i);
  poke(other, 256, 5);
  EXPECT_EQ(eng_image_freeze(i, &none, NULL), CAY_BUSY);
  EXPECT_EQ(eng_checkpoint(i, NULL), CAY_BUSY);
  EXPECT_EQ(eng_instance_reset(i, NULL), CAY_BUSY);
  EXPECT_EQ(peek(i, 256), 5);
  eng_instance_free(other);
  EXPECT_EQ(eng_instance_reset(i, NULL), CAY_OK);
  EXPECT_EQ(peek(i, 256), 0);
  eng_instance_free(i);
  eng_image_unref(image);
  world_free(&w);
}

TEST(a_spare_one_is_taken_again_unless_it_is_shared) {
  eng_pool *pool = NULL;
  world w = world_of(program, ENG_STOP_PROTECT, &no_imports, (eng_instance_options){ 0 });
  eng_image *image = freeze(w.instance);
  EXPECT_EQ(eng_pool_new(4, &pool, NULL), CAY_OK);
  eng_instance *i = from_image(image);
  poke(i, 256, 5);
  eng_pool_give(pool, i);
  eng_instance *again = eng_pool_take(pool, image, &(eng_instance_options){ 0 });
  EXPECT(again == i);
  EXPECT_EQ(peek(again, 256), 0);
  eng_instance *other = second(again);
  eng_pool_give(pool, again);
  EXPECT(eng_pool_take(pool, image, &(eng_instance_options){ 0 }) == NULL);
  eng_instance_free(other);
  eng_pool_free(pool);
  eng_image_unref(image);
  world_free(&w);
}

/* One computes, and the other stands still in the host, as with turns. */
TEST(protection_stops_the_one_that_computes_and_memory_is_there_afterwards) {
  world w = world_of(program, ENG_STOP_PROTECT, &no_imports, (eng_instance_options){ 0 });
  eng_instance *other = second(w.instance);
  for (int round = 0; round < 20; round++) {
    pthread_t a;
    void *end = NULL;
    poke(other, 16, 0);
    EXPECT_EQ(pthread_create(&a, NULL, spin, w.instance), 0);
    while (__atomic_load_n((uint32_t *)(void *)(eng_memory(other) + 16), __ATOMIC_SEQ_CST) < 1000)
      usleep(100);
    eng_instance_kick(w.instance);
    EXPECT_EQ(pthread_join(a, &end), 0);
    EXPECT_EQ((intptr_t)end, ENG_LEFT);
    EXPECT(peek(other, 16) >= 1000);
  }
  eng_instance_kick(other); /* it finds that when it is entered, and leaves */
  eng_val none[1] = { 0 };
  EXPECT_EQ(call(other, "spin", ":", none), ENG_LEFT);
  EXPECT(peek(w.instance, 16) >= 1000);
  eng_instance_free(other);
  world_free(&w);
}

TEST(a_start_function_that_does_not_end_is_ended) {
  static const char endless[] = "(module " SHARED EXPORTED " (func $s (loop $l (br $l))) (start $s))";
  eng_engine *engine = fresh_engine(NULL);
  eng_module *module = load(engine, endless, ENG_STOP_EPOCH, &no_imports);
  eng_instance *made = NULL;
  cay_error err = { 0 };
  EXPECT_EQ(eng_instance_new(module, &(eng_instance_options){ 0 }, &made, &err), CAY_INVALID);
  EXPECT(made == NULL);
  eng_module_unref(module);
  eng_engine_free(engine);
}

TEST(other_forms_of_a_shared_memory_are_refused) {
  static const char *const refused[] = {
    "(module (memory (export \"memory\") 1 2 shared))",
    "(module (import \"env\" \"memory\" (memory 1 2 shared)))", /* not exported */
    "(module (import \"other\" \"memory\" (memory 1 2 shared))" EXPORTED ")",
    "(module " SHARED EXPORTED " (data (i32.const 0) \"again and again\"))",
    "(module " SHARED EXPORTED " (table 1 funcref) (func $f) (elem $e func $f))",
  };
  eng_engine *engine = fresh_engine(NULL);
  for (size_t i = 0; i < COUNT_OF(refused); i++) {
    eng_module *module = NULL;
    cay_error err = { 0 };
    EXPECT_EQ(try_load(engine, refused[i], ENG_STOP_EPOCH, &no_imports, &module, &err), CAY_UNSUPPORTED);
  }
  eng_module *plain = NULL;
  cay_error err = { 0 };
  EXPECT_EQ(try_load(engine, "(module (import \"env\" \"memory\" (memory 1 2))" EXPORTED ")", ENG_STOP_EPOCH,
                     &no_imports, &plain, &err),
            CAY_INVALID);
  eng_engine_free(engine);
}

TEST(an_own_memory_has_no_second_instance) {
  world w = world_of("(module (memory (export \"memory\") 1))", ENG_STOP_EPOCH, &no_imports,
                     (eng_instance_options){ 0 });
  eng_instance *made = NULL;
  EXPECT(!eng_memory_is_shared(w.instance));
  EXPECT_EQ(eng_instance_thread(w.instance, &(eng_instance_options){ 0 }, &made, NULL), CAY_UNSUPPORTED);
  world_free(&w);
}
