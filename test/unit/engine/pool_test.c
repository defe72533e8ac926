/* pool_test.c - instances that are used again are as new (src/engine/pool.h). */
#include "engine/pool.h"

#include "engine/checkpoint.h"
#include "engine/internal.h"
#include "engine/stop.h"
#include "machine.h"

#include <string.h>

typedef struct place {
  world w;
  eng_image *image;
  eng_pool *pool;
  int ctx;
} place;

static place place_new(enum eng_stop stop) {
  place p = { .w = world_of(machine, stop, &no_imports, (eng_instance_options){ 0 }) };
  touch(p.w.instance, 0, 40);
  set(p.w.instance, 5);
  p.image = frozen(p.w.instance);
  EXPECT_EQ(eng_pool_new(2, &p.pool, NULL), CAY_OK);
  return p;
}

static void place_free(place *p) {
  eng_pool_free(p->pool);
  eng_image_unref(p->image);
  world_free(&p->w);
}

static eng_instance *take(place *p) {
  return eng_pool_take(p->pool, p->image, &(eng_instance_options){ .ctx = &p->ctx });
}

/* Byte for byte, and the globals. */
static void expect_as_new(place *p, eng_instance *i) {
  eng_instance *fresh = thawed(p->image);
  EXPECT_EQ(eng_memory_len(i), eng_memory_len(fresh));
  EXPECT(memcmp(eng_memory(i), eng_memory(fresh), eng_memory_len(i)) == 0);
  EXPECT_EQ(get(i), 5);
  eng_instance_free(fresh);
}

TEST(an_instance_that_was_used_is_as_new) {
  place p = place_new(ENG_STOP_EPOCH);
  EXPECT(take(&p) == NULL);
  eng_instance *i = thawed(p.image);
  for (int round = 0; round < 5; round++) {
    touch(i, 4096 * 7, 400);
    store(i, 100, 77);
    set(i, 9);
    if (round % 2 == 1) EXPECT_EQ(eng_checkpoint(i, NULL), CAY_OK);
    if (round == 3) EXPECT_EQ(eng_instance_settle(i, NULL), CAY_OK);
    eng_pool_give(p.pool, i);
    eng_instance *again = take(&p);
    EXPECT(again == i && eng_ctx(again) == &p.ctx);
    expect_as_new(&p, again);
  }
  eng_pool_give(p.pool, i);
  place_free(&p);
}

TEST(one_that_trapped_or_was_kicked_is_as_new) {
  for (int stop = ENG_STOP_EPOCH; stop <= ENG_STOP_PROTECT; stop++) {
    place p = place_new((enum eng_stop)stop);
    eng_instance *i = thawed(p.image);
    eng_val values[2] = { { .i32 = -1 }, { .i32 = 1 } };
    EXPECT_EQ(call(i, "store", "ii:", values), ENG_TRAPPED);
    eng_instance_kick(i); /* at rest: it would end the next call */
    eng_pool_give(p.pool, i);
    EXPECT(take(&p) == i);
    expect_as_new(&p, i);
    store(i, 4, 4);
    EXPECT_EQ(at(i, 4), 4);
    eng_instance_free(i);
    place_free(&p);
  }
}

TEST(pool_refuses_grown_instances_and_other_origins) {
  place p = place_new(ENG_STOP_EPOCH);
  eng_instance *i = thawed(p.image);
  EXPECT(grow(i, 1) > 0);
  eng_pool_give(p.pool, i);
  EXPECT(take(&p) == NULL);
  eng_pool_give(p.pool, forked(p.w.instance));
  EXPECT(take(&p) == NULL);
  eng_pool_give(p.pool, NULL);
  i = thawed(p.image);
  store(i, 100, 99);
  eng_image *other = frozen(i);
  eng_pool_give(p.pool, i);
  EXPECT(eng_pool_take(p.pool, other, &(eng_instance_options){ 0 }) == NULL);
  EXPECT(eng_pool_take(p.pool, p.image, &(eng_instance_options){ .memory_max = 65536 }) == NULL);
  i = take(&p);
  EXPECT(i != NULL);
  eng_instance_free(i);
  eng_image_unref(other);
  place_free(&p);
}

TEST(a_pool_keeps_so_many_and_no_more) {
  place p = place_new(ENG_STOP_EPOCH);
  eng_instance *i[3];
  for (int n = 0; n < 3; n++) i[n] = thawed(p.image);
  for (int n = 0; n < 3; n++) eng_pool_give(p.pool, i[n]);
  EXPECT(take(&p) == i[1]); /* the last one first */
  EXPECT(take(&p) == i[0]);
  EXPECT(take(&p) == NULL);
  eng_instance_free(i[0]);
  eng_instance_free(i[1]);
  place_free(&p);
}
