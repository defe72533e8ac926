/* stop_test.c - reaching a guest that computes, as src/engine/stop.h promises it. */
#include "wat.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

/* Every loop touches memory, as code of a C compiler does; `bulk` does it from native code. */
static const char spinning[] =
    "(module (import \"host\" \"work\" (func $work)) (memory (export \"memory\") 256)"
    " (tag $jump (param i32)) (global $__stack_pointer (export \"__stack_pointer\") (mut i32) (i32.const 65536))"
    " (global $stop (export \"stop\") (mut i32) (i32.const 0))"
    " (func $tick (i32.store (i32.const 8) (i32.add (i32.load (i32.const 8)) (i32.const 1))))"
    " (func $spin (export \"spin\") (loop $l (call $tick) (br_if $l (i32.eqz (global.get $stop)))))"
    " (func (export \"bulk\") (loop $l (memory.fill (i32.const 1048576) (i32.const 1) (i32.const 8388608)) (call $tick) (br $l)))"
    " (func (export \"copy\") (loop $l (memory.copy (i32.const 1048576) (i32.const 4194304) (i32.const 4194304)) (call $tick) (br $l)))"
    " (func (export \"host_loop\") (loop $l (call $work) (br $l)))"
    " (func (export \"handler\") (param i32) (global.set $stop (i32.add (global.get $stop) (local.get 0))))"
    " (func (export \"slow_handler\") (param i32) (loop $l (call $tick) (br_if $l (i32.eqz (global.get $stop)))))"
    " (func (export \"jump\") (param i32) (throw $jump (local.get 0)))"
    " (func (export \"trap\") (param i32) (unreachable))"
    " (func (export \"setjmp\") (result i32)"
    "   (block $b (result i32) (try_table (catch $jump $b) (call $work) (call $spin)) (i32.const -1))))";

struct guest {
  _Atomic int kicks, host_calls;
  _Atomic bool end; /* from now on on_kick unwinds */
  enum eng_flow answer;
  const char *handler; /* called by on_kick, if any */
  const char *nested;  /* called by an on_kick that interrupts the handler */
  _Atomic int depth, deepest;
  enum eng_end ended;
};

static enum eng_flow on_kick(eng_instance *instance, void *ctx) {
  struct guest *g = ctx;
  atomic_fetch_add(&g->kicks, 1);
  if (atomic_load(&g->end)) return ENG_UNWIND;
  int depth = atomic_fetch_add(&g->depth, 1) + 1;
  if (depth > atomic_load(&g->deepest)) atomic_store(&g->deepest, depth);
  const char *name = depth > 1 && g->nested != NULL ? g->nested : g->handler;
  if (name != NULL) {
    eng_val values[1] = { { .i32 = 1 } };
    g->ended = call(instance, name, "i:", values);
  }
  atomic_fetch_sub(&g->depth, 1);
  return name != NULL && g->ended == ENG_LEFT ? ENG_UNWIND : g->answer;
}

static enum eng_flow work(eng_instance *instance, void *ctx, eng_val *values) {
  (void)values;
  struct guest *g = ctx;
  atomic_fetch_add(&g->host_calls, 1);
  memset(eng_memory(instance), 1, 4096); /* must never meet protected memory */
  return ENG_CONTINUE;
}

static const eng_import offered[] = { { "host", "work", ":", work } };
static const eng_imports imports = { offered, 1 };

struct run {
  eng_instance *instance;
  const char *name, *type;
  enum eng_end end;
  eng_val values[2];
};

static void *run(void *arg) {
  struct run *r = arg;
  r->end = call(r->instance, r->name, r->type, r->values);
  return NULL;
}

/* Memory word 8 counts the guest's rounds, but only the guest's thread may look at it. */
static void let_it_run(void) { (void)usleep(2000); }

/* Runs `name` on another thread and kicks it until `kicks` were answered; how it ended. */
static enum eng_end kicked(eng_instance *instance, struct guest *g, const char *name, const char *type,
                           int kicks, struct run *r) {
  *r = (struct run){ .instance = instance, .name = name, .type = type };
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, NULL, run, r), 0);
  for (int n = 1; n <= kicks; n++) {
    let_it_run();
    eng_instance_kick(instance);
    while (atomic_load(&g->kicks) < n) (void)usleep(100);
  }
  EXPECT_EQ(pthread_join(thread, NULL), 0);
  return r->end;
}

static world guest_of(struct guest *g, enum eng_stop stop) {
  return world_of(spinning, stop, &imports,
                  (eng_instance_options){ .ctx = g, .on_kick = on_kick, .fuel = UINT64_C(1) << 62 });
}

TEST(a_guest_that_computes_is_ended) {
  static const char *const loops[] = { "spin", "bulk", "copy", "host_loop" };
  for (int stop = 0; stop < ENG_STOP_COUNT; stop++) {
    for (size_t n = 0; n < COUNT_OF(loops); n++) {
      struct guest g = { .answer = ENG_UNWIND };
      world w = guest_of(&g, (enum eng_stop)stop);
      struct run r;
      EXPECT_EQ(kicked(w.instance, &g, loops[n], ":", 1, &r), ENG_LEFT);
      EXPECT_EQ(g.kicks, 1);
      eng_memory(w.instance)[8]++; /* readable and writable again */
      eng_val values[1] = { { .i32 = 1 } };
      EXPECT_EQ(call(w.instance, "handler", "i:", values), ENG_RETURNED);
      world_free(&w);
    }
  }
}

TEST(an_instance_without_on_kick_is_unwound) {
  struct guest g = { 0 };
  world w = world_of(spinning, ENG_STOP_EPOCH, &imports, (eng_instance_options){ .ctx = &g });
  eng_instance_kick(w.instance);
  eng_val values[1];
  EXPECT_EQ(call(w.instance, "spin", ":", values), ENG_LEFT);
  world_free(&w);
}

TEST(a_kick_before_the_call_is_answered_in_it_and_can_be_forgotten) {
  for (int stop = 0; stop < ENG_STOP_COUNT; stop++) {
    struct guest g = { .answer = ENG_UNWIND };
    world w = guest_of(&g, (enum eng_stop)stop);
    eng_instance_kick(w.instance);
    EXPECT(eng_kick_pending(w.instance));
    eng_val values[1] = { { .i32 = 1 } };
    EXPECT_EQ(call(w.instance, "spin", ":", values), ENG_LEFT);
    EXPECT(!eng_kick_pending(w.instance));
    eng_instance_kick(w.instance);
    eng_kick_clear(w.instance);
    EXPECT_EQ(call(w.instance, "handler", "i:", values), ENG_RETURNED);
    EXPECT_EQ(g.kicks, 1);
    world_free(&w);
  }
}

/* The guest spins through that many kicks; one more ends it. */
static void expect_left_after(const world *w, struct guest *g, int kicks) {
  struct run r = { .instance = w->instance, .name = "spin", .type = ":" };
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, NULL, run, &r), 0);
  for (int n = 1; n <= kicks; n++) {
    eng_instance_kick(w->instance);
    while (atomic_load(&g->kicks) < n) (void)usleep(50);
  }
  atomic_store(&g->end, true);
  eng_instance_kick(w->instance);
  EXPECT_EQ(pthread_join(thread, NULL), 0);
  EXPECT_EQ(r.end, ENG_LEFT);
}

TEST(a_guest_goes_on_after_a_kick_that_changes_nothing) {
  struct guest g = { .answer = ENG_CONTINUE };
  world w = guest_of(&g, ENG_STOP_EPOCH);
  expect_left_after(&w, &g, 50);
  world_free(&w);
}

TEST(a_handler_runs_inside_the_guest_while_it_computes) {
  struct guest g = { .answer = ENG_CONTINUE, .handler = "handler" };
  world w = guest_of(&g, ENG_STOP_EPOCH);
  struct run r;
  EXPECT_EQ(kicked(w.instance, &g, "spin", ":", 1, &r), ENG_RETURNED);
  EXPECT_EQ(g.ended, ENG_RETURNED);
  world_free(&w);
}

TEST(a_handler_that_computes_is_interrupted_in_turn) {
  struct guest g = { .answer = ENG_CONTINUE, .handler = "slow_handler", .nested = "handler" };
  world w = guest_of(&g, ENG_STOP_EPOCH);
  struct run r;
  EXPECT_EQ(kicked(w.instance, &g, "spin", ":", 2, &r), ENG_RETURNED);
  EXPECT_EQ(g.deepest, 2);
  world_free(&w);
}

TEST(interruptions_nest_eight_deep_and_a_ninth_ends_them_all) {
  struct guest g = { .answer = ENG_CONTINUE, .handler = "slow_handler", .nested = "slow_handler" };
  world w = guest_of(&g, ENG_STOP_FUEL);
  expect_left_after(&w, &g, 8);
  EXPECT_EQ(g.deepest, 8);
  world_free(&w);
}

TEST(a_handler_that_jumps_out_lands_in_the_interrupted_frames) {
  struct guest g = { .answer = ENG_THROW, .handler = "jump" };
  world w = guest_of(&g, ENG_STOP_EPOCH);
  struct run r = { .instance = w.instance, .name = "setjmp", .type = ":i" };
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, NULL, run, &r), 0);
  while (atomic_load(&g.host_calls) == 0) (void)usleep(100); /* then it is inside the try */
  eng_instance_kick(w.instance);
  EXPECT_EQ(pthread_join(thread, NULL), 0);
  EXPECT_EQ(r.end, ENG_RETURNED);
  EXPECT_EQ(r.values[0].i32, 1);
  EXPECT_EQ(g.ended, ENG_THREW);
  world_free(&w);
}

TEST(a_handler_that_traps_is_told_to_the_host) {
  struct guest g = { .answer = ENG_UNWIND, .handler = "trap" };
  world w = guest_of(&g, ENG_STOP_EPOCH);
  struct run r;
  EXPECT_EQ(kicked(w.instance, &g, "spin", ":", 1, &r), ENG_LEFT);
  EXPECT_EQ(g.ended, ENG_TRAPPED);
  world_free(&w);
}

TEST(a_kick_does_not_touch_other_instances) {
  struct guest a = { .answer = ENG_UNWIND }, b = { .answer = ENG_UNWIND };
  world w = guest_of(&a, ENG_STOP_EPOCH);
  eng_instance *other = start(w.module, (eng_instance_options){ .ctx = &b, .on_kick = on_kick });
  struct run r = { .instance = other, .name = "spin", .type = ":" }, mine;
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, NULL, run, &r), 0);
  EXPECT_EQ(kicked(w.instance, &a, "spin", ":", 1, &mine), ENG_LEFT);
  EXPECT_EQ(atomic_load(&b.kicks), 0);
  eng_instance_kick(other);
  EXPECT_EQ(pthread_join(thread, NULL), 0);
  EXPECT_EQ(b.kicks, 1);
  eng_instance_free(other);
  world_free(&w);
}

/* ---- many kicks at every moment: for the thread sanitizer, and for lost ones ---- */

struct storm {
  eng_instance *instance;
  _Atomic bool over;
};

static void *storm(void *arg) {
  struct storm *s = arg;
  for (unsigned n = 0; !atomic_load(&s->over); n++) {
    eng_instance_kick(s->instance);
    if (n % 4 == 0) (void)usleep(n % 64);
  }
  return NULL;
}

TEST(kicks_from_two_threads_meet_calls_and_host_calls_at_every_moment) {
  static const char *const loops[] = { "spin", "bulk", "host_loop" };
  for (int stop = 0; stop < 2; stop++) {
    struct guest g = { .answer = ENG_UNWIND };
    world w = guest_of(&g, (enum eng_stop)stop);
    struct storm s = { .instance = w.instance };
    pthread_t threads[2];
    for (int n = 0; n < 2; n++) EXPECT_EQ(pthread_create(&threads[n], NULL, storm, &s), 0);
    for (int n = 0; n < 300; n++) {
      eng_val values[1];
      enum eng_end end = call(w.instance, loops[n % 3], ":", values);
      if (end != ENG_LEFT)
        fprintf(stderr, "%s: %s\n", loops[n % 3], eng_trap_name(eng_trap_kind(w.instance)));
      EXPECT_EQ(end, ENG_LEFT);
      memset(eng_memory(w.instance), 0, 64);
    }
    atomic_store(&s.over, true);
    for (int n = 0; n < 2; n++) EXPECT_EQ(pthread_join(threads[n], NULL), 0);
    EXPECT_EQ(g.kicks, 300);
    world_free(&w);
  }
}
