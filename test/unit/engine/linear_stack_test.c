/* linear_stack_test.c - a stack at the beginning of linear memory takes memory as it grows, and gives it back. */
#include "engine/checkpoint.h"
#include "engine/pool.h"
#include "wat.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { STACK = 4 << 20, ALL = 5 << 20, FIRST = 128 << 10, NULL_PAGE = 4096 };

/* A stack of 4 MiB, then 1 MiB of data. */
static const char deep[] =
    "(module (import \"host\" \"look\" (func $look (param i32))) (memory (export \"memory\") 80)"
    " (global $sp (export \"__stack_pointer\") (mut i32) (i32.const 4194304)) (data (i32.const 4194304) \"data\")"
    " (func (export \"load\") (param i32) (result i32) (i32.load (local.get 0)))"
    " (func (export \"store\") (param i32) (i32.store (local.get 0) (i32.const 7)))"
    " (func (export \"look\") (param i32) (call $look (local.get 0)))"
    " (func (export \"fill\") (param i32) (memory.fill (local.get 0) (i32.const 3) (i32.sub (i32.const 4194304) (local.get 0))))"
    " (func (export \"move\") (param i32) (global.set $sp (local.get 0)))"
    " (func (export \"spin\") (param i32)"
    "   (loop $l (i32.store (local.get 0) (i32.const 1)) (local.set 0 (i32.sub (local.get 0) (i32.const 64)))"
    "     (if (i32.lt_u (local.get 0) (i32.const 8192)) (then (local.set 0 (i32.const 4194300)))) (br $l))))";

struct account {
  _Atomic int64_t used, most;
  _Atomic int kicks;
};

static bool account_took(void *ctx, int64_t more) {
  struct account *a = ctx;
  int64_t now = atomic_fetch_add(&a->used, more) + more;
  return more <= 0 || now <= atomic_load(&a->most);
}

static enum eng_flow account_kicked(eng_instance *instance, void *ctx) {
  (void)instance;
  atomic_fetch_add(&((struct account *)ctx)->kicks, 1);
  return ENG_UNWIND;
}

/* The host reads a word of the guest. */
static enum eng_flow look(eng_instance *instance, void *ctx, eng_val *values) {
  (void)ctx;
  const uint8_t *at = eng_memory_at(instance, values[0].u32, 4);
  EXPECT(at != NULL);
  EXPECT_EQ(at[0], 0);
  return ENG_CONTINUE;
}

static const eng_import offered[] = { { "host", "look", "i:", look } };
static const eng_imports imports = { offered, 1 };

static eng_instance_options counted(struct account *a) {
  return (eng_instance_options){
    .ctx = a, .on_kick = account_kicked, .on_stack = account_took, .fuel = UINT64_MAX
  };
}

static world deep_world(struct account *a, enum eng_stop stop) {
  if (a->most == 0) a->most = INT64_MAX;
  return world_of(deep, stop, &imports, counted(a));
}

static enum eng_end at(eng_instance *i, const char *name, uint32_t address) {
  eng_val values[1] = { { .u32 = address } };
  return call(i, name, strcmp(name, "load") == 0 ? "i:i" : "i:", values);
}

static uint32_t word(eng_instance *i, uint32_t address) {
  eng_val values[1] = { { .u32 = address } };
  EXPECT_EQ(call(i, "load", "i:i", values), ENG_RETURNED);
  return values[0].u32;
}

TEST(a_stack_that_is_not_used_is_not_there) {
  struct account a = { 0 };
  world w = deep_world(&a, ENG_STOP_PROTECT);
  EXPECT_EQ(eng_module_stack(w.module), STACK);
  EXPECT_EQ(eng_stack_closed(w.instance), STACK - FIRST);
  EXPECT_EQ(at(w.instance, "store", STACK - FIRST), ENG_RETURNED);
  EXPECT_EQ(at(w.instance, "store", ALL - 4), ENG_RETURNED);
  EXPECT_EQ(a.used, 0);
  world_free(&w);
}

TEST(a_stack_that_grows_is_told_and_keeps_what_it_holds) {
  for (int stop = 0; stop < ENG_STOP_COUNT; stop++) {
    struct account a = { 0 };
    world w = deep_world(&a, (enum eng_stop)stop);
    EXPECT_EQ(at(w.instance, "store", STACK - FIRST - 4), ENG_RETURNED);
    EXPECT_EQ(a.used, FIRST); /* twice as much as there was */
    EXPECT_EQ(at(w.instance, "store", 1 << 20), ENG_RETURNED);
    EXPECT_EQ(a.used, STACK - FIRST - (1 << 20));
    EXPECT_EQ(eng_stack_closed(w.instance), 1 << 20);
    EXPECT_EQ(word(w.instance, STACK - FIRST - 4), 7);
    EXPECT_EQ(word(w.instance, 1 << 20), 7);
    EXPECT_EQ(word(w.instance, 2 << 20), 0);
    world_free(&w);
  }
}

TEST(the_host_and_native_code_reach_what_was_closed) {
  struct account a = { 0 };
  world w = deep_world(&a, ENG_STOP_PROTECT);
  EXPECT_EQ(at(w.instance, "look", 3 << 20), ENG_RETURNED);
  EXPECT_EQ(a.used, STACK - FIRST - (3 << 20));
  EXPECT_EQ(at(w.instance, "fill", 100), ENG_RETURNED);
  EXPECT_EQ(a.used, STACK - FIRST);
  EXPECT_EQ(word(w.instance, 100), 0x03030303);
  world_free(&w);
}

/* Rights to read come back after a kick, too. */
TEST(a_store_through_a_null_pointer_traps_and_a_load_gives_zero) {
  struct account a = { 0 };
  world w = deep_world(&a, ENG_STOP_PROTECT);
  EXPECT_EQ(at(w.instance, "store", 0), ENG_TRAPPED);
  EXPECT_EQ(eng_trap_kind(w.instance), ENG_TRAP_MEMORY);
  EXPECT_EQ(word(w.instance, 8), 0);
  EXPECT_EQ(at(w.instance, "store", NULL_PAGE - 4), ENG_TRAPPED);
  eng_instance_kick(w.instance);
  EXPECT_EQ(at(w.instance, "spin", STACK - 4), ENG_LEFT);
  EXPECT_EQ(word(w.instance, 8), 0);
  EXPECT_EQ(a.used, 0);
  EXPECT_EQ(at(w.instance, "store", NULL_PAGE), ENG_RETURNED);
  EXPECT_EQ(at(w.instance, "store", 0), ENG_TRAPPED);
  EXPECT_EQ(a.used, STACK - FIRST - NULL_PAGE);
  world_free(&w);
}

TEST(a_stack_without_memory_ends_the_guest) {
  for (int stop = 0; stop < ENG_STOP_COUNT; stop++) {
    struct account a = { .most = 1 << 20 };
    world w = deep_world(&a, (enum eng_stop)stop);
    EXPECT_EQ(at(w.instance, "spin", STACK - 4), ENG_LEFT);
    EXPECT_EQ(a.kicks, 1);
    EXPECT(eng_stack_is_over(w.instance));
    EXPECT(a.used < 4 << 20);
    world_free(&w);
  }
}

static void *spin(void *instance) { return (void *)(uintptr_t)at(instance, "spin", STACK - 4); }

/* The kick comes at any moment of the growth: rights that were taken stay taken. */
TEST(a_guest_whose_stack_grows_is_ended) {
  for (int round = 0; round < 200; round++) {
    struct account a = { 0 };
    world w = deep_world(&a, round % 2 == 0 ? ENG_STOP_PROTECT : ENG_STOP_EPOCH);
    pthread_t thread;
    void *end;
    EXPECT_EQ(pthread_create(&thread, NULL, spin, w.instance), 0);
    for (volatile int wait = 0; wait < round * 300; wait++) {}
    eng_instance_kick(w.instance);
    EXPECT_EQ(pthread_join(thread, &end), 0);
    EXPECT_EQ((enum eng_end)(uintptr_t)end, ENG_LEFT);
    EXPECT_EQ(word(w.instance, STACK), 0x61746164); /* rights are back */
    world_free(&w);
  }
}

TEST(a_fork_has_the_stack_of_its_parent) {
  struct account a = { 0 }, b = { .most = INT64_MAX };
  world w = deep_world(&a, ENG_STOP_EPOCH);
  eng_instance *child = NULL;
  eng_instance_options options = counted(&b);
  EXPECT_EQ(at(w.instance, "store", 2 << 20), ENG_RETURNED);
  EXPECT_EQ(eng_instance_fork(w.instance, &options, &child, NULL), CAY_OK);
  EXPECT_EQ(eng_stack_closed(child), 2 << 20);
  EXPECT_EQ(b.used, 0); /* counted with its memory */
  EXPECT_EQ(word(child, 2 << 20), 7);
  EXPECT_EQ(at(child, "store", 1 << 20), ENG_RETURNED);
  EXPECT_EQ(b.used, (2 << 20) - NULL_PAGE); /* twice as much, and that is all of it */
  EXPECT_EQ(word(w.instance, 1 << 20), 0);
  eng_instance_free(child);
  world_free(&w);
}

TEST(an_image_leaves_out_what_is_below_the_stack_pointer) {
  struct account a = { 0 }, b = { .most = INT64_MAX };
  world w = deep_world(&a, ENG_STOP_PROTECT);
  eng_image *image = NULL;
  eng_instance *other = NULL;
  eng_instance_options options = counted(&b);
  EXPECT_EQ(at(w.instance, "fill", 1 << 20), ENG_RETURNED);
  EXPECT_EQ(at(w.instance, "move", STACK - FIRST), ENG_RETURNED);
  EXPECT_EQ(eng_image_freeze(w.instance, &image, NULL), CAY_OK);
  EXPECT_EQ(eng_stack_closed(w.instance), STACK - 2 * FIRST);
  EXPECT_EQ(a.used, FIRST);
  EXPECT(eng_image_stored_len(image) <= 2 * FIRST + NULL_PAGE);
  EXPECT_EQ(eng_instance_from_image(image, &options, &other, NULL), CAY_OK);
  EXPECT_EQ(eng_stack_closed(other), STACK - 2 * FIRST);
  EXPECT_EQ(word(other, STACK - FIRST), 0x03030303);
  EXPECT_EQ(word(other, 1 << 20), 0);
  eng_instance_free(other);
  eng_image_unref(image);
  world_free(&w);
}

TEST(a_reset_instance_has_its_first_stack) {
  struct account a = { 0 };
  world w = deep_world(&a, ENG_STOP_PROTECT);
  eng_image *image = NULL;
  eng_instance *i = NULL;
  eng_instance_options options = counted(&a);
  EXPECT_EQ(eng_image_freeze(w.instance, &image, NULL), CAY_OK);
  EXPECT_EQ(eng_instance_from_image(image, &options, &i, NULL), CAY_OK);
  for (int round = 0; round < 3; round++) {
    EXPECT_EQ(at(i, "fill", 1 << 20), ENG_RETURNED);
    EXPECT_EQ(a.used, STACK - FIRST - (1 << 20));
    EXPECT_EQ(eng_instance_reset(i, NULL), CAY_OK);
    EXPECT_EQ(a.used, 0);
    EXPECT_EQ(eng_stack_closed(i), STACK - FIRST);
    EXPECT_EQ(word(i, STACK - 4), 0);
  }
  eng_instance_free(i);
  eng_image_unref(image);
  world_free(&w);
}

TEST(a_spare_that_changed_hands_tells_its_new_owner) {
  struct account a = { 0 }, b = { .most = INT64_MAX };
  world w = deep_world(&a, ENG_STOP_PROTECT);
  eng_pool *pool = NULL;
  eng_image *image = NULL;
  eng_instance *i = NULL;
  eng_instance_options first = counted(&a), second = counted(&b);
  EXPECT_EQ(eng_pool_new(1, &pool, NULL), CAY_OK);
  EXPECT_EQ(eng_image_freeze(w.instance, &image, NULL), CAY_OK);
  EXPECT_EQ(eng_instance_from_image(image, &first, &i, NULL), CAY_OK);
  EXPECT_EQ(at(i, "fill", 1 << 20), ENG_RETURNED);
  eng_stack_settle(i, true);
  EXPECT_EQ(a.used, 0);
  eng_pool_give(pool, i);
  i = eng_pool_take(pool, image, &second);
  EXPECT(i != NULL);
  EXPECT_EQ(eng_stack_closed(i), STACK - FIRST);
  EXPECT_EQ(at(i, "fill", 1 << 20), ENG_RETURNED);
  EXPECT_EQ(a.used, 0);
  EXPECT_EQ(b.used, STACK - FIRST - (1 << 20));
  eng_instance_free(i);
  eng_image_unref(image);
  eng_pool_free(pool);
  world_free(&w);
}

TEST(checkpoints_and_rollbacks_live_with_a_stack_that_grows) {
  struct account a = { 0 };
  world w = deep_world(&a, ENG_STOP_PROTECT);
  eng_instance *i = w.instance;
  for (int round = 0; round < 6; round++) {
    EXPECT_EQ(at(i, "store", STACK - 8), ENG_RETURNED);
    EXPECT_EQ(at(i, "fill", (uint32_t)(3 - round / 2) << 20), ENG_RETURNED);
    if (round % 2 == 1) EXPECT_EQ(eng_instance_settle(i, NULL), CAY_OK);
    EXPECT_EQ(eng_checkpoint(i, NULL), CAY_OK);
    EXPECT_EQ(at(i, "store", STACK - 8), ENG_RETURNED);
    EXPECT_EQ(at(i, "store", NULL_PAGE), ENG_RETURNED);
    EXPECT_EQ(eng_rollback(i, NULL), CAY_OK);
    EXPECT_EQ(word(i, STACK - 8), 0x03030303);
    EXPECT_EQ(word(i, STACK), 0x61746164);
  }
  EXPECT_EQ(eng_instance_settle(i, NULL), CAY_OK);
  EXPECT_EQ(eng_stack_closed(i), STACK - FIRST);
  EXPECT_EQ(a.used, 0);
  EXPECT_EQ(word(i, STACK - 8), 0x03030303);
  world_free(&w);
}

TEST(a_memory_that_begins_with_data_is_there_whole) {
  static const char *const others[] = {
    "(module (memory (export \"memory\") 80) (data (i32.const 1024) \"x\")"
    " (global (export \"__stack_pointer\") (mut i32) (i32.const 4194304)))",
    "(module (memory (export \"memory\") 1)"
    " (global (export \"__stack_pointer\") (mut i32) (i32.const 4194304)))",
    "(module (memory (export \"memory\") 80) (global (export \"stack\") (mut i32) (i32.const 4194304)))",
    "(module (memory (export \"memory\") 80) (global (export \"__stack_pointer\") i32 (i32.const 4194304)))",
  };
  for (size_t n = 0; n < COUNT_OF(others); n++) {
    struct account a = { .most = INT64_MAX };
    world w = world_of(others[n], ENG_STOP_EPOCH, &no_imports, counted(&a));
    EXPECT_EQ(eng_stack_closed(w.instance), 0);
    world_free(&w);
  }
}
