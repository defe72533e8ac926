/* account_test.c - an instance holds no more of the host's memory beside its linear memory than eng_module_beside says.
 */
#include "private.h"
#include "wat.h"
#include "worst.h"

#include <stdlib.h>

enum { INSTANCES = 8, SLACK = 1 << 20 };

/* Calls `touch` of each instance, if there is one; the host's memory of one. */
static uint64_t measure(eng_module *m) {
  eng_instance *list[INSTANCES];
  eng_instance_free(start(m, (eng_instance_options){ .table_max = 1 << 17 }));
  uint64_t before = private_bytes();
  for (size_t i = 0; i < INSTANCES; i++) {
    eng_val none = { 0 };
    list[i] = start(m, (eng_instance_options){ .table_max = 1 << 17 });
    if (eng_module_exports(m, "touch", ":")) EXPECT_EQ(call(list[i], "touch", ":", &none), ENG_RETURNED);
  }
  uint64_t after = private_bytes();
  for (size_t i = 0; i < INSTANCES; i++) eng_instance_free(list[i]);
  return after > before ? (after - before) / INSTANCES : 0;
}

static void expect_accounted(eng_engine *engine, const void *bytes, size_t len, uint64_t at_least) {
  eng_module *m = NULL;
  EXPECT_EQ(eng_module_load(engine, bytes, len, NULL, ENG_STOP_EPOCH, &no_imports, &m, NULL), CAY_OK);
  uint64_t account = eng_module_beside(m, 1 << 17), held = measure(m);
  if (held > account + SLACK || account < at_least)
    fprintf(stderr, "holds %llu bytes, the account has %llu\n", (unsigned long long)held,
            (unsigned long long)account);
  EXPECT(held <= account + SLACK);
  EXPECT(account >= at_least);
  eng_module_unref(m);
}

static void expect_made_accounted(eng_engine *engine, buf m, uint64_t at_least) {
  expect_accounted(engine, m.data, m.len, at_least);
  buf_free(&m);
}

TEST(globals_functions_and_tables_are_accounted) {
  eng_engine *engine = fresh_engine(NULL);
  expect_made_accounted(engine, worst_globals(300000), 4800000);
  expect_made_accounted(engine, worst_reference_globals(100000), 1600000);
  expect_made_accounted(engine, worst_tags(300000), 4800000);
  expect_made_accounted(engine, worst_functions_in_table(20000), 20000 * 40);
  eng_engine_free(engine);
}

TEST(tables_that_grow_are_accounted) {
  static const char grows[] =
      "(module (memory (export \"memory\") 1) (table $a 1 externref) (table $b 1 funcref)"
      " (func $f) (elem declare func $f)"
      " (func (export \"touch\")"
      "   (drop (table.grow $a (ref.null extern) (i32.const 131071)))"
      "   (drop (table.grow $b (ref.func $f) (i32.const 131071)))))";
  eng_engine *engine = fresh_engine(NULL);
  wasm_byte_vec_t bytes = wat(grows);
  expect_accounted(engine, bytes.data, bytes.size, 2 * 131071 * sizeof(void *));
  wasm_byte_vec_delete(&bytes);
  eng_engine_free(engine);
}

/* Keeps as many exceptions of 128 bytes as it is asked to. */
static const char keeps[] =
    "(module (memory (export \"memory\") 16) (table $t 131072 exnref)"
    " (type $two (func (result i64 i64 i64 i64 i64 i64 i64 i64 exnref)))"
    " (tag $e (param i64 i64 i64 i64 i64 i64 i64 i64))"
    " (func $keep (param $i i32) (local $x exnref)"
    "   (block $b (type $two)"
    "     (try_table (catch_ref $e $b)"
    "       (throw $e (i64.const 1) (i64.const 1) (i64.const 1) (i64.const 1) (i64.const 1) (i64.const 1)"
    "         (i64.const 1) (i64.const 1)))"
    "     (unreachable))"
    "   (local.set $x) drop drop drop drop drop drop drop drop"
    "   (table.set $t (local.get $i) (local.get $x)))"
    " (func (export \"keep\") (param $n i32) (param $step i32) (local $i i32) (local $at i32)"
    "   (loop $l (call $keep (local.get $at))"
    "     (local.set $at (i32.add (local.get $at) (local.get $step)))"
    "     (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))))";

TEST(exceptions_that_are_kept_are_bounded_and_others_are_not) {
  world w = world_of(keeps, ENG_STOP_EPOCH, &no_imports, (eng_instance_options){ .table_max = 1 << 17 });
  EXPECT(eng_module_throws(w.module));
  eng_memory_set_max(w.instance, ENG_EXCEPTION_HEAP);
  eng_val values[2] = { { .i32 = 200000 }, { .i32 = 0 } };
  EXPECT_EQ(call(w.instance, "keep", "ii:", values), ENG_RETURNED);
  uint64_t before = private_bytes();
  values[0].i32 = 130000, values[1].i32 = 1;
  EXPECT_EQ(call(w.instance, "keep", "ii:", values), ENG_TRAPPED);
  EXPECT(private_bytes() < before + ENG_EXCEPTION_HEAP + SLACK);
  world_free(&w);
}
