/* checkpoint_test.c - going back, as src/engine/checkpoint.h promises it. Most tests run three times: with
 * pages watched, with nothing but the list of private pages, and with a host that says nothing at all. */
#include "engine/checkpoint.h"

#include "engine/internal.h"
#include "machine.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum { PAGE = 4096 };

enum host { WATCHES, SCANS, LISTS, SAYS_NOTHING, HOSTS };

static void limit_host(eng_engine *engine, enum host host) {
  if (host >= SCANS && engine->watch >= 0) {
    close(engine->watch);
    engine->watch = -1;
  }
  if (host >= LISTS) engine->scans = false;
  if (host >= SAYS_NOTHING && engine->pagemap >= 0) {
    close(engine->pagemap);
    engine->pagemap = -1;
  }
}

/* An engine with an image whose first 300 pages, and then every third, are not zero. */
typedef struct base {
  world w;
  eng_image *image;
} base;

static base base_on(enum host host, enum eng_stop stop) {
  base b = { .w = world_of(machine, stop, &no_imports, (eng_instance_options){ 0 }) };
  limit_host(b.w.engine, host);
  touch(b.w.instance, 0, 300);
  for (int32_t p = 300; p < 500; p += 3) store(b.w.instance, p * PAGE, p);
  set(b.w.instance, 5);
  b.image = frozen(b.w.instance);
  return b;
}

static void base_free(base *b) {
  eng_image_unref(b->image);
  world_free(&b->w);
}

static void checkpoint(eng_instance *i) {
  cay_error err = { 0 };
  cay_status status = eng_checkpoint(i, &err);
  if (status != CAY_OK) fprintf(stderr, "%s\n", err.message);
  EXPECT_EQ(status, CAY_OK);
}

static void rollback(eng_instance *i) { EXPECT_EQ(eng_rollback(i, NULL), CAY_OK); }

/* ---- what the state was, for comparison ---- */

typedef struct copy {
  uint8_t *bytes;
  uint64_t len;
  int32_t global;
} copy;

static copy copy_of(eng_instance *i) {
  copy c = { .len = eng_memory_len(i), .global = get(i) };
  c.bytes = malloc(c.len);
  EXPECT(c.bytes != NULL);
  memcpy(c.bytes, eng_memory(i), c.len);
  return c;
}

static void expect_copy(eng_instance *i, const copy *c) {
  EXPECT(memcmp(eng_memory(i), c->bytes, c->len) == 0);
  EXPECT_EQ(get(i), c->global);
  const uint8_t *beyond = eng_memory(i) + c->len;
  for (uint64_t n = 0; n < eng_memory_len(i) - c->len; n++)
    if (beyond[n] != 0) EXPECT_EQ(beyond[n], 0);
}

/* ---- simple facts ---- */

TEST(without_a_checkpoint_an_instance_goes_back_to_its_image) {
  for (enum host host = 0; host < HOSTS; host++) {
    base b = base_on(host, ENG_STOP_EPOCH);
    eng_instance *i = thawed(b.image);
    copy before = copy_of(i);
    touch(i, 100 * PAGE, 200);
    set(i, 6);
    rollback(i);
    expect_copy(i, &before);
    free(before.bytes);
    eng_instance_free(i);
    EXPECT_EQ(eng_rollback(b.w.instance, NULL), CAY_INVALID);
    base_free(&b);
  }
}

TEST(a_rollback_undoes_what_came_after_the_last_checkpoint_and_nothing_else) {
  for (enum host host = 0; host < HOSTS; host++) {
    base b = base_on(host, ENG_STOP_PROTECT);
    eng_instance *i = thawed(b.image);
    for (int32_t round = 1; round < 40; round++) {
      store(i, round % 7 * PAGE, round);
      store(i, 400 * PAGE, round);
      set(i, round);
      checkpoint(i);
      store(i, round % 5 * PAGE, -1);
      store(i, (round % 3 + 400) * PAGE, -1);
      set(i, -1);
      rollback(i);
      EXPECT_EQ(at(i, round % 7 * PAGE), round);
      EXPECT_EQ(at(i, 400 * PAGE), round);
      EXPECT_EQ(at(i, 401 * PAGE), 0);
      EXPECT_EQ(at(i, 402 * PAGE), 402);
      EXPECT_EQ(get(i), round);
      rollback(i);
      EXPECT_EQ(at(i, 400 * PAGE), round);
    }
    EXPECT_EQ(eng_instance_reset(i, NULL), CAY_OK);
    copy want = copy_of(b.w.instance);
    expect_copy(i, &want);
    free(want.bytes);
    eng_instance_free(i);
    base_free(&b);
  }
}

TEST(memory_that_grew_is_zeroed_and_stays) {
  for (enum host host = 0; host < HOSTS; host++) {
    base b = base_on(host, ENG_STOP_PROTECT);
    eng_instance *i = thawed(b.image);
    EXPECT_EQ(grow(i, 2), 33);
    store(i, 34 * ENG_PAGE, 34);
    checkpoint(i);
    EXPECT_EQ(grow(i, 40), 35);
    touch(i, 33 * ENG_PAGE, 42 * 16);
    rollback(i);
    EXPECT_EQ(eng_memory_len(i), 75 * ENG_PAGE);
    EXPECT_EQ(at(i, 34 * ENG_PAGE), 34);
    for (int32_t p = 33 * 16; p < 75 * 16; p++)
      if (p != 34 * 16) EXPECT_EQ(at(i, p * PAGE), 0);
    store(i, 74 * ENG_PAGE, 74);
    checkpoint(i);
    store(i, 74 * ENG_PAGE, 1);
    rollback(i);
    EXPECT_EQ(at(i, 74 * ENG_PAGE), 74);
    EXPECT_EQ(eng_instance_reset(i, NULL), CAY_OK);
    EXPECT_EQ(at(i, 74 * ENG_PAGE), 0);
    EXPECT_EQ(at(i, 34 * ENG_PAGE), 0);
    EXPECT_EQ(at(i, 299 * PAGE), 299 * PAGE + 1);
    eng_instance_free(i);
    base_free(&b);
  }
}

TEST(an_instance_that_came_from_no_image_gets_one_of_its_own) {
  for (enum host host = 0; host < HOSTS; host++) {
    base b = base_on(host, ENG_STOP_EPOCH);
    checkpoint(b.w.instance);
    copy before = copy_of(b.w.instance);
    touch(b.w.instance, 10 * PAGE, 400);
    store(b.w.instance, 10 * PAGE, 0);
    rollback(b.w.instance);
    expect_copy(b.w.instance, &before);
    EXPECT_EQ(eng_instance_reset(b.w.instance, NULL), CAY_INVALID);
    free(before.bytes);
    base_free(&b);
  }
}

TEST(what_a_module_begins_with_comes_back) {
  for (enum host host = 0; host < HOSTS; host++) {
    world w = world_of(machine, ENG_STOP_EPOCH, &no_imports, (eng_instance_options){ 0 });
    limit_host(w.engine, host);
    set(w.instance, 1);
    checkpoint(w.instance);
    copy before = copy_of(w.instance);
    store(w.instance, 70000, 0);
    store(w.instance, 0, 1);
    rollback(w.instance);
    expect_copy(w.instance, &before);
    EXPECT(memcmp(eng_memory(w.instance) + 70000, "first", 5) == 0);
    free(before.bytes);
    world_free(&w);
  }
}

TEST(a_module_that_cannot_be_frozen_has_no_checkpoints) {
  world w = world_of("(module (memory (export \"m\") 1) (global (mut i32) (i32.const 0)))", ENG_STOP_EPOCH,
                     &no_imports, (eng_instance_options){ 0 });
  cay_error err = { 0 };
  EXPECT_EQ(eng_checkpoint(w.instance, &err), CAY_UNSUPPORTED);
  EXPECT(strstr(err.message, "not exported") != NULL);
  EXPECT_EQ(eng_instance_settle(w.instance, &err), CAY_UNSUPPORTED);
  EXPECT_EQ(eng_rollback(w.instance, &err), CAY_INVALID);
  world_free(&w);
}

/* ---- writes that do not come from the guest ---- */

TEST(writes_of_system_calls_and_of_the_host_are_seen) {
  for (enum host host = 0; host < HOSTS; host++) {
    base b = base_on(host, ENG_STOP_EPOCH);
    eng_instance *i = thawed(b.image);
    touch(i, 0, 30);
    checkpoint(i);
    checkpoint(i);
    copy before = copy_of(i);
    int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC), pipes[2];
    EXPECT_EQ(read(zero, eng_memory_at(i, 5 * PAGE - 10, 3 * PAGE), 3 * PAGE), 3 * PAGE);
    EXPECT_EQ(read(zero, eng_memory_at(i, 450 * PAGE, PAGE), PAGE), PAGE); /* never touched before */
    EXPECT_EQ(pipe(pipes), 0);
    EXPECT_EQ(write(pipes[1], "hello", 5), 5);
    EXPECT_EQ(read(pipes[0], eng_memory_at(i, 20 * PAGE, 5), 5), 5);
    memset(eng_memory_at(i, 22 * PAGE, PAGE), 7, PAGE);
    EXPECT_EQ(at(i, 20 * PAGE), 0x6c6c6568);
    rollback(i);
    expect_copy(i, &before);
    free(before.bytes);
    close(zero), close(pipes[0]), close(pipes[1]);
    eng_instance_free(i);
    base_free(&b);
  }
}

/* ---- any history ---- */

static uint64_t dice(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return *state >> 33;
}

static void write_something(eng_instance *i, uint64_t *state) {
  uint64_t len = eng_memory_len(i), count = dice(state) % 8 == 0 ? 700 : dice(state) % 40;
  uint64_t near = dice(state) % len;
  for (uint64_t n = 0; n < count; n++) {
    uint64_t where = dice(state) % 3 == 0 ? dice(state) % len : (near + dice(state) % 65536) % len;
    uint8_t *byte = eng_memory_at(i, (uint32_t)where, 1);
    *byte = dice(state) % 4 == 0 ? 0 : (uint8_t)dice(state);
  }
  for (uint64_t n = 0; n < 6; n++) store(i, (int32_t)(n * 11 * PAGE), (int32_t)dice(state)); /* hot */
  if (dice(state) % 16 == 0) memset(eng_memory(i) + near, (int)(dice(state) % 2), (len - near) / 2);
  if (dice(state) % 8 == 0) (void)grow(i, (int32_t)(dice(state) % 40));
  set(i, (int32_t)dice(state));
}

static void expect_equal(eng_instance *a, eng_instance *b) {
  EXPECT_EQ(eng_memory_len(a), eng_memory_len(b));
  EXPECT(memcmp(eng_memory(a), eng_memory(b), eng_memory_len(b)) == 0);
  EXPECT_EQ(get(a), get(b));
}

/* Checkpoints, rollbacks, settling, forks, freezing and resets in any order. */
static void live(base *b, uint64_t seed) {
  uint64_t state = seed;
  eng_instance *i = thawed(b->image), *child = NULL;
  eng_image *kept = NULL;
  copy saved = copy_of(i), origin = copy_of(i), kept_copy = { 0 };
  for (int step = 0; step < 60; step++) {
    write_something(i, &state);
    switch (dice(&state) % 12) {
    case 0:
    case 1:
    case 2:
    case 3:
      checkpoint(i);
      free(saved.bytes);
      saved = copy_of(i);
      break;
    case 4:
    case 5:
    case 6:
      rollback(i);
      expect_copy(i, &saved);
      break;
    case 7:
      EXPECT_EQ(eng_instance_settle(i, NULL), CAY_OK);
      free(saved.bytes);
      saved = copy_of(i);
      break;
    case 8:
      eng_instance_free(child);
      child = forked(i);
      expect_equal(child, i);
      write_something(child, &state);
      break;
    case 9:
      eng_image_unref(kept);
      free(kept_copy.bytes);
      kept = frozen(i);
      kept_copy = copy_of(i);
      break;
    case 10:
      if (child != NULL) {
        copy c = copy_of(child);
        checkpoint(child);
        write_something(child, &state);
        rollback(child);
        expect_copy(child, &c);
        free(c.bytes);
      }
      break;
    default:
      if (dice(&state) % 3 != 0) break;
      EXPECT_EQ(eng_instance_reset(i, NULL), CAY_OK);
      expect_copy(i, &origin);
      free(saved.bytes);
      saved = copy_of(i);
      saved.len = origin.len;
    }
    if (kept != NULL && step % 5 == 0) {
      eng_instance *again = thawed(kept);
      expect_copy(again, &kept_copy);
      EXPECT_EQ(eng_memory_len(again), kept_copy.len);
      eng_instance_free(again);
    }
  }
  rollback(i);
  expect_copy(i, &saved);
  free(saved.bytes), free(origin.bytes), free(kept_copy.bytes);
  eng_image_unref(kept);
  eng_instance_free(child);
  eng_instance_free(i);
}

TEST(whatever_happened_a_rollback_is_exact) {
  for (enum host host = 0; host < HOSTS; host++) {
    base b = base_on(host, ENG_STOP_PROTECT);
    for (uint64_t seed = 1; seed <= 20; seed++) live(&b, seed * 77 + host);
    base_free(&b);
  }
}

/* ---- several at once ---- */

struct worker {
  eng_instance *instance;
  uint64_t seed;
  pthread_t thread;
};

/* What the host writes before a settled instance is called again is not undone. */
static bool call_it(eng_instance *i) {
  eng_func f;
  eng_val value = { .i32 = 0 };
  return eng_func_find(i, "load", "i:i", &f) && eng_call(i, &f, &value) == ENG_RETURNED;
}

/* Writes all over its instance, keeps some of it, undoes some of it, forks and drops the forks. */
static void *work(void *ctx) {
  struct worker *w = ctx;
  eng_instance *i = w->instance;
  uint64_t state = w->seed, len = eng_memory_len(i);
  uint8_t *saved = malloc(len);
  bool same = saved != NULL;
  for (int step = 0; step < 60 && same; step++) {
    cay_status status = dice(&state) % 8 == 0 ? eng_instance_settle(i, NULL) : eng_checkpoint(i, NULL);
    memcpy(saved, eng_memory(i), len);
    eng_instance *child = NULL;
    if (step % 4 == 0 && status == CAY_OK)
      status = eng_instance_fork(i, &(eng_instance_options){ 0 }, &child, NULL);
    same = call_it(i);
    for (int n = 0; n < 60; n++) eng_memory(i)[dice(&state) % len] = (uint8_t)dice(&state);
    if (step % 3 != 0 && status == CAY_OK) status = eng_rollback(i, NULL);
    if (step % 3 != 0) same = same && memcmp(saved, eng_memory(i), len) == 0;
    if (child != NULL) same = same && memcmp(saved, eng_memory(child), len) == 0;
    same = same && status == CAY_OK;
    eng_instance_free(child);
  }
  free(saved);
  return same ? NULL : ctx;
}

TEST(instances_that_share_an_image_do_not_disturb_each_other) {
  for (enum host host = 0; host < LISTS; host++) {
    base b = base_on(host, ENG_STOP_PROTECT);
    eng_instance *parent = thawed(b.image);
    EXPECT_EQ(grow(parent, 30), 33);
    touch(parent, 0, 63 * 16);
    EXPECT_EQ(eng_instance_settle(parent, NULL), CAY_OK);
    struct worker workers[4] = { { .instance = parent } };
    for (size_t n = 1; n < COUNT_OF(workers); n++) workers[n].instance = forked(parent);
    for (size_t n = 0; n < COUNT_OF(workers); n++) {
      workers[n].seed = n + 1;
      EXPECT_EQ(pthread_create(&workers[n].thread, NULL, work, &workers[n]), 0);
    }
    for (size_t n = 0; n < COUNT_OF(workers); n++) {
      void *failed = NULL;
      pthread_join(workers[n].thread, &failed);
      EXPECT(failed == NULL);
      eng_instance_free(workers[n].instance);
    }
    base_free(&b);
  }
}

/* ---- kicks ---- */

static void *kick(void *ctx) {
  (void)usleep(2000);
  eng_instance_kick(ctx);
  return NULL;
}

TEST(after_a_guest_was_stopped_in_the_middle_it_goes_back) {
  static const enum eng_stop stops[] = { ENG_STOP_PROTECT, ENG_STOP_EPOCH };
  for (size_t n = 0; n < COUNT_OF(stops); n++) {
    base b = base_on(WATCHES, stops[n]);
    eng_instance *i = thawed(b.image);
    for (int round = 0; round < 20; round++) {
      store(i, 7 * PAGE, round);
      checkpoint(i);
      copy before = copy_of(i);
      touch(i, 90 * PAGE, 10);
      pthread_t thread;
      EXPECT_EQ(pthread_create(&thread, NULL, kick, i), 0);
      EXPECT_EQ(call(i, "spin", ":", (eng_val[1]){ { 0 } }), ENG_LEFT);
      pthread_join(thread, NULL);
      rollback(i);
      expect_copy(i, &before);
      free(before.bytes);
    }
    eng_instance_free(i);
    base_free(&b);
  }
}

TEST(after_a_trap_it_goes_back) {
  base b = base_on(WATCHES, ENG_STOP_PROTECT);
  eng_instance *i = thawed(b.image);
  checkpoint(i);
  copy before = copy_of(i);
  eng_val values[2] = { { .i32 = 33 * ENG_PAGE - 10 * PAGE }, { .i32 = 11 } };
  EXPECT_EQ(call(i, "touch", "ii:", values), ENG_TRAPPED);
  rollback(i);
  expect_copy(i, &before);
  free(before.bytes);
  eng_instance_free(i);
  base_free(&b);
}

/* ---- images of its own ---- */

TEST(a_settled_instance_shares_its_memory_with_its_images_and_forks) {
  for (enum host host = 0; host < SAYS_NOTHING; host++) {
    base b = base_on(host, ENG_STOP_PROTECT);
    eng_instance *i = thawed(b.image);
    EXPECT_EQ(grow(i, 300), 33);
    touch(i, 40 * ENG_PAGE, 290 * 16);
    EXPECT_EQ(eng_instance_settle(i, NULL), CAY_OK);
    copy settled = copy_of(i);
    uint64_t alone = eng_instance_private_len(i);
    EXPECT(alone > 290 * ENG_PAGE && alone < 330 * ENG_PAGE);
    eng_image *image = frozen(i), *again = frozen(i);
    EXPECT(image == again);
    EXPECT(eng_instance_private_len(i) < 16 * PAGE);
    eng_instance *child = forked(i), *other = thawed(image);
    EXPECT(eng_instance_private_len(child) < 16 * PAGE);

    touch(i, 0, 600);
    checkpoint(i); /* may not be written to the image: others have it */
    touch(i, 50 * ENG_PAGE, 10);
    rollback(i);
    expect_copy(child, &settled);
    expect_copy(other, &settled);
    eng_instance_free(other);
    other = thawed(image);
    expect_copy(other, &settled);
    EXPECT_EQ(at(i, 599 * PAGE), 599 * PAGE + 1);

    eng_instance_free(other);
    eng_instance_free(child);
    eng_image_unref(image);
    eng_image_unref(again);
    free(settled.bytes);
    eng_instance_free(i);
    base_free(&b);
  }
}

TEST(a_settled_instance_holds_nothing_twice_until_it_is_called) {
  for (enum host host = 0; host < SAYS_NOTHING; host++) {
    base b = base_on(host, ENG_STOP_PROTECT);
    eng_instance *i = thawed(b.image);
    for (int32_t p = 0; p < 50; p++) store(i, p * PAGE, -p);
    checkpoint(i);
    EXPECT(eng_instance_private_len(i) >= 100 * PAGE);
    EXPECT_EQ(eng_instance_settle(i, NULL), CAY_OK);
    EXPECT(eng_instance_private_len(i) < 60 * PAGE);
    copy settled = copy_of(i); /* calls it */
    EXPECT(eng_instance_private_len(i) >= 100 * PAGE);
    touch(i, 0, 60);
    rollback(i);
    expect_copy(i, &settled);

    EXPECT_EQ(eng_instance_settle(i, NULL), CAY_OK);
    rollback(i);
    expect_copy(i, &settled);
    EXPECT_EQ(eng_instance_settle(i, NULL), CAY_OK);
    checkpoint(i);
    EXPECT_EQ(eng_instance_settle(i, NULL), CAY_OK);
    eng_instance *child = forked(i);
    expect_copy(child, &settled);
    eng_image *image = frozen(i);
    eng_instance *other = thawed(image);
    expect_copy(other, &settled);
    EXPECT_EQ(eng_instance_reset(i, NULL), CAY_OK);
    copy want = copy_of(b.w.instance);
    expect_copy(i, &want);
    free(settled.bytes), free(want.bytes);
    eng_instance_free(other);
    eng_image_unref(image);
    eng_instance_free(child);
    eng_instance_free(i);
    base_free(&b);
  }
}

TEST(image_held_alone_takes_checkpoints_again) {
  base b = base_on(WATCHES, ENG_STOP_PROTECT);
  eng_instance *i = thawed(b.image);
  EXPECT_EQ(grow(i, 300), 33);
  touch(i, 40 * ENG_PAGE, 290 * 16);
  EXPECT_EQ(eng_instance_settle(i, NULL), CAY_OK);
  eng_image *first = frozen(i);
  eng_image_unref(first);
  for (int32_t round = 0; round < 5; round++) {
    store(i, (round + 41) * ENG_PAGE, -round);
    checkpoint(i);
    store(i, (round + 41) * ENG_PAGE, 1);
    rollback(i);
    EXPECT_EQ(at(i, (round + 41) * ENG_PAGE), -round);
  }
  eng_image *again = frozen(i);
  EXPECT(again == first);
  eng_image_unref(again);
  eng_instance_free(i);
  base_free(&b);
}

TEST(no_memory_keeps_the_checkpoint_before) {
  base b = base_on(WATCHES, ENG_STOP_PROTECT);
  AT_EVERY_FAULT {
    eng_instance *i = NULL;
    cay_status status = eng_instance_from_image(b.image, &(eng_instance_options){ 0 }, &i, NULL);
    bool saved = false;
    if (status == CAY_OK) {
      store(i, 0, 1);
      status = eng_checkpoint(i, NULL);
      saved = status == CAY_OK;
    }
    if (status == CAY_OK) {
      EXPECT_EQ(grow(i, 300), 33);
      touch(i, 4 * PAGE, 5000);
      status = eng_checkpoint(i, NULL);
      if (status != CAY_OK) EXPECT_EQ(eng_rollback(i, NULL), CAY_OK);
      EXPECT_EQ(at(i, 4 * PAGE), 4 * PAGE + 1);
      EXPECT_EQ(at(i, 5000 * PAGE), status == CAY_OK ? 5000 * PAGE + 1 : 0);
    }
    if (saved) EXPECT_EQ(at(i, 0), 1);
    if (status == CAY_OK) status = eng_instance_settle(i, NULL);
    EXPECT(status == CAY_OK || status == CAY_NO_MEMORY || status == CAY_IO);
    eng_instance_free(i);
  }
  base_free(&b);
}
