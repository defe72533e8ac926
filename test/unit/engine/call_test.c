/* call_test.c - entering and leaving guests, as src/engine/instance.h and host.h promise it. */
#include "wat.h"

static const char arithmetic[] =
    "(module (memory (export \"memory\") 2)"
    " (global (export \"g\") (mut i32) (i32.const 7)) (global (export \"G\") (mut i64) (i64.const 9))"
    " (global (export \"d\") (mut f64) (f64.const 0.5)) (global (export \"fixed\") i32 (i32.const 3))"
    " (func (export \"add\") (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1)))"
    " (func (export \"add64\") (param i64 i64) (result i64) (i64.add (local.get 0) (local.get 1)))"
    " (func (export \"load\") (param i32) (result i32) (i32.load (local.get 0)))"
    " (func (export \"store\") (param i32 i32) (i32.store (local.get 0) (local.get 1)))"
    " (func (export \"grow\") (param i32) (result i32) (memory.grow (local.get 0))))";

TEST(a_call_gives_back_what_the_function_returns) {
  world w = world_of(arithmetic, ENG_STOP_EPOCH, &no_imports, (eng_instance_options){ 0 });
  EXPECT_EQ(call_i(w.instance, "add", "ii:i", 40, 2), 42);
  eng_val values[2] = { { .i64 = INT64_MAX - 1 }, { .i64 = 1 } };
  EXPECT_EQ(call(w.instance, "add64", "II:I", values), ENG_RETURNED);
  EXPECT_EQ(values[0].i64, INT64_MAX);
  world_free(&w);
}

TEST(a_function_is_found_by_name_and_exact_type_only) {
  world w = world_of(arithmetic, ENG_STOP_EPOCH, &no_imports, (eng_instance_options){ 0 });
  eng_func f;
  EXPECT(eng_func_find(w.instance, "add", "ii:i", &f));
  EXPECT(!eng_func_find(w.instance, "add", "i:i", &f));
  EXPECT(!eng_func_find(w.instance, "ad", "ii:i", &f));
  EXPECT(!eng_func_find(w.instance, "memory", ":", &f));
  EXPECT(eng_module_exports(w.module, "grow", NULL));
  EXPECT(!eng_module_exports(w.module, "memory", NULL));
  world_free(&w);
}

TEST(the_host_and_the_guest_see_the_same_memory) {
  world w = world_of(arithmetic, ENG_STOP_PROTECT, &no_imports, (eng_instance_options){ 0 });
  eng_val values[2] = { { .i32 = 100 }, { .i32 = 0x12345678 } };
  EXPECT_EQ(call(w.instance, "store", "ii:", values), ENG_RETURNED);
  EXPECT_EQ(memcmp(eng_memory_at(w.instance, 100, 4), "\x78\x56\x34\x12", 4), 0);
  eng_memory(w.instance)[200] = 5;
  EXPECT_EQ(call_i(w.instance, "load", "i:i", 200, 0), 5);
  world_free(&w);
}

TEST(no_address_outside_the_memory_is_accepted) {
  world w = world_of(arithmetic, ENG_STOP_EPOCH, &no_imports, (eng_instance_options){ 0 });
  uint64_t len = 2 * ENG_PAGE;
  EXPECT_EQ(eng_memory_len(w.instance), len);
  EXPECT(eng_memory_at(w.instance, 0, len) != NULL);
  EXPECT(eng_memory_at(w.instance, (uint32_t)len, 0) != NULL);
  EXPECT(eng_memory_at(w.instance, (uint32_t)len - 1, 2) == NULL);
  EXPECT(eng_memory_at(w.instance, (uint32_t)len + 1, 0) == NULL);
  EXPECT(eng_memory_at(w.instance, UINT32_MAX, UINT64_MAX) == NULL);
  world_free(&w);
}

TEST(memory_that_the_guest_grew_is_accepted_at_once) {
  world w = world_of(arithmetic, ENG_STOP_EPOCH, &no_imports, (eng_instance_options){ 0 });
  const uint8_t *base = eng_memory(w.instance);
  EXPECT_EQ(call_i(w.instance, "grow", "i:i", 3, 0), 2);
  EXPECT(eng_memory_at(w.instance, 4 * ENG_PAGE, 8) != NULL);
  EXPECT(eng_memory(w.instance) == base);
  world_free(&w);
}

TEST(memory_grows_up_to_its_cap_and_no_further) {
  world w =
      world_of(arithmetic, ENG_STOP_EPOCH, &no_imports, (eng_instance_options){ .memory_max = 4 * ENG_PAGE });
  uint32_t old = 0;
  EXPECT_EQ(eng_memory_grow(w.instance, 1, &old, NULL), CAY_OK);
  EXPECT_EQ(old, 2);
  EXPECT_EQ(call_i(w.instance, "grow", "i:i", 2, 0), -1);
  cay_error err;
  EXPECT_EQ(eng_memory_grow(w.instance, 2, &old, &err), CAY_LIMIT);
  EXPECT_EQ(call_i(w.instance, "grow", "i:i", 1, 0), 3);
  eng_memory_set_max(w.instance, 5 * ENG_PAGE);
  EXPECT_EQ(call_i(w.instance, "grow", "i:i", 1, 0), 4);
  EXPECT_EQ(call_i(w.instance, "grow", "i:i", 1, 0), -1);
  EXPECT_EQ(eng_memory_len(w.instance), 5 * ENG_PAGE);
  world_free(&w);
}

TEST(an_instance_larger_than_its_cap_is_not_made) {
  eng_engine *engine = fresh_engine(NULL);
  eng_module *module = load(engine, arithmetic, ENG_STOP_EPOCH, &no_imports);
  eng_instance *instance = NULL;
  cay_error err;
  eng_instance_options options = { .memory_max = ENG_PAGE };
  EXPECT_EQ(eng_instance_new(module, &options, &instance, &err), CAY_LIMIT);
  EXPECT(instance == NULL);
  eng_module_unref(module);
  eng_engine_free(engine);
}

TEST(globals_are_read_and_written_by_name) {
  world w = world_of(arithmetic, ENG_STOP_EPOCH, &no_imports, (eng_instance_options){ 0 });
  eng_global g, wide, d;
  EXPECT(eng_global_find(w.instance, "g", &g) && eng_global_find(w.instance, "G", &wide));
  EXPECT(eng_global_find(w.instance, "d", &d) && !eng_global_find(w.instance, "h", &g));
  EXPECT_EQ(eng_global_get(w.instance, &g).i32, 7);
  eng_global_set(w.instance, &g, (eng_val){ .i32 = -5 });
  eng_global_set(w.instance, &wide, (eng_val){ .i64 = INT64_MIN });
  EXPECT_EQ(eng_global_get(w.instance, &g).i32, -5);
  EXPECT_EQ(eng_global_get(w.instance, &wide).i64, INT64_MIN);
  EXPECT(eng_global_get(w.instance, &d).f64 == 0.5);
  world_free(&w);
}

/* ---- host functions ---- */

struct seen {
  int calls;
  int64_t sum;
  enum eng_flow answer;
  enum eng_end inner;
  const char *nested;
};

static enum eng_flow add_up(eng_instance *instance, void *ctx, eng_val *values) {
  struct seen *seen = ctx;
  EXPECT(eng_ctx(instance) == ctx);
  seen->calls++;
  seen->sum += values[0].i32 + values[1].i64;
  values[0].i32 = seen->calls;
  return seen->answer;
}

static enum eng_flow call_back(eng_instance *instance, void *ctx, eng_val *values) {
  struct seen *seen = ctx;
  (void)values;
  eng_val none[1];
  seen->inner = call(instance, seen->nested, ":", none);
  return seen->answer;
}

static const eng_import offered[] = {
  { "host", "add", "iI:i", add_up },
  { "host", "nest", ":", call_back },
};
static const eng_imports imports = { offered, COUNT_OF(offered) };

static const char calling[] =
    "(module (import \"host\" \"add\" (func $add (param i32 i64) (result i32)))"
    " (import \"host\" \"nest\" (func $nest)) (memory (export \"memory\") 1)"
    " (tag $t (param i32)) (global $n (export \"n\") (mut i32) (i32.const 0))"
    " (func (export \"twice\") (result i32) (drop (call $add (i32.const 1) (i64.const 10)))"
    "   (call $add (i32.const 2) (i64.const 20)))"
    " (func $deep (call $nest) (global.set $n (i32.const 1)))"
    " (func (export \"outer\") (call $deep) (global.set $n (i32.const 2)))"
    " (func (export \"inner\") (drop (call $add (i32.const 0) (i64.const 0))))"
    " (func (export \"throws\") (throw $t (i32.const 42)))"
    " (func (export \"traps\") (unreachable))"
    " (func (export \"catches\") (result i32)"
    "   (block $b (result i32) (try_table (catch $t $b) (call $deep)) (i32.const -1)))"
    " (func (export \"catches_here\") (result i32)"
    "   (block $b (result i32) (try_table (catch $t $b) (call $nest)) (i32.const -1))))";

TEST(a_host_function_gets_its_arguments_and_its_context) {
  struct seen seen = { 0 };
  world w = world_of(calling, ENG_STOP_EPOCH, &imports, (eng_instance_options){ .ctx = &seen });
  EXPECT_EQ(call_i(w.instance, "twice", ":i", 0, 0), 2);
  EXPECT_EQ(seen.sum, 33);
  world_free(&w);
}

TEST(unwinding_drops_every_frame_and_the_instance_lives_on) {
  for (int stop = 0; stop < ENG_STOP_COUNT; stop++) {
    struct seen seen = { .answer = ENG_UNWIND };
    world w = world_of(calling, (enum eng_stop)stop, &imports,
                       (eng_instance_options){ .ctx = &seen, .fuel = 1000 });
    eng_val values[2];
    EXPECT_EQ(call(w.instance, "twice", ":i", values), ENG_LEFT);
    EXPECT_EQ(seen.calls, 1);
    seen.answer = ENG_CONTINUE;
    EXPECT_EQ(call_i(w.instance, "twice", ":i", 0, 0), 3);
    world_free(&w);
  }
}

TEST(unwinding_from_a_nested_call_reaches_the_host_function_between) {
  struct seen seen = { .answer = ENG_UNWIND, .nested = "inner" };
  world w = world_of(calling, ENG_STOP_EPOCH, &imports, (eng_instance_options){ .ctx = &seen });
  eng_val values[1];
  EXPECT_EQ(call(w.instance, "outer", ":", values), ENG_LEFT);
  EXPECT_EQ(seen.inner, ENG_LEFT);
  eng_global n;
  EXPECT(eng_global_find(w.instance, "n", &n));
  EXPECT_EQ(eng_global_get(w.instance, &n).i32, 0);
  world_free(&w);
}

TEST(an_exception_goes_through_a_host_function_to_a_handler_beyond) {
  for (int stop = 0; stop < ENG_STOP_COUNT; stop++) {
    struct seen seen = { .answer = ENG_THROW, .nested = "throws" };
    world w = world_of(calling, (enum eng_stop)stop, &imports,
                       (eng_instance_options){ .ctx = &seen, .fuel = 1000 });
    EXPECT_EQ(call_i(w.instance, "catches", ":i", 0, 0), 42);
    EXPECT_EQ(seen.inner, ENG_THREW);
    EXPECT_EQ(call_i(w.instance, "catches_here", ":i", 0, 0), 42);
    world_free(&w);
  }
}

TEST(an_exception_that_the_host_keeps_is_gone) {
  struct seen seen = { .answer = ENG_CONTINUE, .nested = "throws" };
  world w = world_of(calling, ENG_STOP_EPOCH, &imports, (eng_instance_options){ .ctx = &seen });
  EXPECT_EQ(call_i(w.instance, "catches", ":i", 0, 0), -1);
  EXPECT_EQ(seen.inner, ENG_THREW);
  seen.answer = ENG_UNWIND;
  eng_val values[1];
  EXPECT_EQ(call(w.instance, "catches", ":i", values), ENG_LEFT);
  world_free(&w);
}

TEST(uncaught_exception_is_a_trap) {
  struct seen seen = { .answer = ENG_THROW, .nested = "throws" };
  world w = world_of(calling, ENG_STOP_EPOCH, &imports, (eng_instance_options){ .ctx = &seen });
  eng_val values[1];
  EXPECT_EQ(call(w.instance, "throws", ":", values), ENG_TRAPPED);
  EXPECT_EQ(eng_trap_kind(w.instance), ENG_TRAP_EXCEPTION);
  EXPECT_EQ(call(w.instance, "outer", ":", values), ENG_TRAPPED);
  EXPECT_EQ(eng_trap_kind(w.instance), ENG_TRAP_EXCEPTION);
  EXPECT_EQ(call_i(w.instance, "catches", ":i", 0, 0), 42);
  world_free(&w);
}

TEST(a_trap_in_a_nested_call_leaves_the_outer_one_going) {
  struct seen seen = { .nested = "traps" };
  world w = world_of(calling, ENG_STOP_PROTECT, &imports, (eng_instance_options){ .ctx = &seen });
  eng_val values[1];
  EXPECT_EQ(call(w.instance, "outer", ":", values), ENG_RETURNED);
  EXPECT_EQ(seen.inner, ENG_TRAPPED);
  EXPECT_EQ(eng_trap_kind(w.instance), ENG_TRAP_UNREACHABLE);
  world_free(&w);
}

TEST(a_hundred_thousand_exceptions_do_not_use_up_anything) {
  struct seen seen = { .answer = ENG_THROW, .nested = "throws" };
  world w = world_of(calling, ENG_STOP_EPOCH, &imports, (eng_instance_options){ .ctx = &seen });
  for (int n = 0; n < 100000; n++) EXPECT_EQ(call_i(w.instance, "catches", ":i", 0, 0), 42);
  world_free(&w);
}

TEST(exceptions_work_in_the_smallest_memory) {
  struct seen seen = { .answer = ENG_THROW, .nested = "throws" };
  world w = world_of(calling, ENG_STOP_EPOCH, &imports,
                     (eng_instance_options){ .ctx = &seen, .memory_max = ENG_PAGE });
  for (int n = 0; n < 20000; n++) EXPECT_EQ(call_i(w.instance, "catches", ":i", 0, 0), 42);
  world_free(&w);
}

TEST(a_table_grows_up_to_its_cap) {
  world w = world_of(
      "(module (memory (export \"memory\") 1) (table 10 funcref)"
      " (func (export \"grow\") (param i32) (result i32) (table.grow (ref.null func) (local.get 0))))",
      ENG_STOP_EPOCH, &no_imports, (eng_instance_options){ .table_max = 20 });
  EXPECT_EQ(call_i(w.instance, "grow", "i:i", 10, 0), 10);
  EXPECT_EQ(call_i(w.instance, "grow", "i:i", 1, 0), -1);
  world_free(&w);
}

/* ---- fuel ---- */

TEST(fuel_runs_out_and_can_be_refilled) {
  static const char text[] = "(module (memory (export \"memory\") 1)"
                             " (func (export \"spin\") (loop $l (br $l)))"
                             " (func (export \"one\") (result i32) (i32.const 1)))";
  world w = world_of(text, ENG_STOP_FUEL, &no_imports, (eng_instance_options){ .fuel = 10000 });
  eng_val values[1];
  EXPECT_EQ(call(w.instance, "spin", ":", values), ENG_TRAPPED);
  EXPECT_EQ(eng_trap_kind(w.instance), ENG_TRAP_FUEL);
  EXPECT_EQ(eng_fuel_left(w.instance), 0);
  eng_fuel_set(w.instance, 100);
  EXPECT_EQ(call_i(w.instance, "one", ":i", 0, 0), 1);
  EXPECT(eng_fuel_left(w.instance) > 0 && eng_fuel_left(w.instance) < 100);
  world_free(&w);
}
