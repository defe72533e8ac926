/* wasm_weight_test.c - modules that are short and would keep the compiler busy for hours weigh accordingly.
 */
#include "engine/wasm_weight.h"
#include "test.h"
#include "worst.h"

enum { TOO_HEAVY = 512 << 10, MODULE_TOO_HEAVY = 24 << 20 };

static eng_weight weigh_made(buf m) {
  eng_weight w = { 0 };
  cay_error err = { .message = "" };
  cay_status status = eng_weigh(m.data, m.len, &w, &err);
  buf_free(&m);
  EXPECT_EQ(status, CAY_OK);
  return w;
}

/* The code of one function: `before`, then `again` so many times, then `after` so many times, and its end. */
static eng_weight weigh_code(module_plan plan, const char *before, size_t before_len, const char *again,
                             size_t again_len, uint32_t times, int after, uint32_t after_times) {
  buf code = BUF_INIT(BUF_UNLIMITED);
  put_bytes(&code, before, before_len);
  for (uint32_t i = 0; i < times; i++) put_bytes(&code, again, again_len);
  for (uint32_t i = 0; i < after_times; i++) put_byte(&code, after);
  put_byte(&code, 0x0b);
  plan.count = 1;
  plan.code = (const char *)code.data;
  plan.len = code.len;
  eng_weight w = weigh_made(module_make(plan));
  buf_free(&code);
  return w;
}
#define CODE(bytes) bytes, sizeof(bytes) - 1
#define GET "\x20\0"
#define LOOP "\x03\x40"
#define BR_IF "\x0d\0"
#define END "\x0b"

TEST(plain_code_weighs_its_length_and_little_more) {
  eng_weight w = weigh_code((module_plan){ .locals = 5 }, "", 0, CODE(GET GET "\x36\2\0"), 10000, 0, 0);
  EXPECT_EQ(w.index, 1);
  EXPECT(w.function >= 70000 && w.function < 72000);
  EXPECT(w.module >= w.function && w.module < w.function + 1200);
}

TEST(atomic_instructions_leave_no_values_behind) {
  module_plan plan = { .locals = 1 };
  EXPECT(weigh_code(plan, "", 0, CODE(GET GET "\xfe\x17\2\0"), 5000, 0, 0).function < 42000);
  EXPECT(weigh_code(plan, "", 0, CODE(GET GET "\xfe\x1e\2\0\x1a"), 5000, 0, 0).function < 48000);
  EXPECT(weigh_code(plan, "", 0, CODE(GET GET GET "\xfe\x48\2\0\x1a"), 5000, 0, 0).function < 58000);
  EXPECT(weigh_code(plan, "", 0, CODE(GET GET "\xfe\0\2\0\x1a"), 5000, 0, 0).function < 48000);
}

TEST(a_loop_here_and_there_is_plain_code) {
  eng_weight w = weigh_code((module_plan){ .locals = 50 }, "", 0,
                            CODE(LOOP GET GET "\x36\2\0" GET GET "\x36\2\0" GET BR_IF END), 100, 0, 0);
  EXPECT(w.function < 10000);
}

TEST(locals_at_every_loop_are_heavy) {
  eng_weight w = weigh_code((module_plan){ .locals = 1000 }, "", 0, CODE(LOOP GET BR_IF END), 1000, 0, 0);
  EXPECT(w.function > TOO_HEAVY);
}

TEST(locals_at_every_merge_are_heavy) {
  eng_weight w =
      weigh_code((module_plan){ .locals = 20000 }, "", 0, CODE("\x02\x40" GET BR_IF END), 1000, 0, 0);
  EXPECT(w.function > TOO_HEAVY);
}

TEST(locals_of_many_small_functions_are_heavy_together) {
  eng_weight w =
      weigh_made(module_make((module_plan){ .count = 10000, .locals = 50000, .code = END, .len = 1 }));
  EXPECT(w.function < 5000);
  EXPECT(w.module > MODULE_TOO_HEAVY);
}

TEST(loops_inside_of_loops_are_heavy) {
  EXPECT(weigh_made(module_slow(1, 2700, 0)).function < TOO_HEAVY);
  EXPECT(weigh_made(module_slow(1, 3000, 0)).function > TOO_HEAVY);
}

TEST(values_below_loops_are_heavy) {
  buf code = BUF_INIT(BUF_UNLIMITED);
  for (int i = 0; i < 3000; i++) put_bytes(&code, CODE(GET));
  eng_weight w = weigh_code((module_plan){ .locals = 1 }, (const char *)code.data, code.len,
                            CODE(LOOP GET BR_IF END), 1000, 0x1a, 3000);
  EXPECT(w.function > TOO_HEAVY);
  /* but not when they are gone before */
  for (int i = 0; i < 3000; i++) put_bytes(&code, CODE("\x1a"));
  w = weigh_code((module_plan){ .locals = 1 }, (const char *)code.data, code.len, CODE(LOOP GET BR_IF END),
                 1000, 0, 0);
  EXPECT(w.function < TOO_HEAVY / 2);
  buf_free(&code);
}

TEST(values_that_live_through_long_code_are_heavy) {
  buf code = BUF_INIT(BUF_UNLIMITED);
  for (int i = 0; i < 5000; i++) put_bytes(&code, CODE(GET "\x28\2\0"));
  eng_weight w = weigh_code((module_plan){ .locals = 1 }, (const char *)code.data, code.len,
                            CODE(GET GET "\x36\2\0"), 3000, 0x1a, 5000);
  EXPECT(w.function > TOO_HEAVY);
  w = weigh_code((module_plan){ .locals = 5000 }, "", 0, CODE(GET GET "\x36\2\0"), 3000, 0, 0);
  EXPECT(w.function > TOO_HEAVY);
  w = weigh_code((module_plan){ .locals = 500 }, "", 0, CODE(GET GET "\x36\2\0"), 3000, 0, 0);
  EXPECT(w.function < 22000);
  buf_free(&code);
}

TEST(many_ways_aside_are_heavy) {
  module_plan plan = { .locals = 1 };
  EXPECT(weigh_code(plan, "", 0, CODE(LOOP END), 5000, 0, 0).function > TOO_HEAVY);
  EXPECT(weigh_code(plan, "", 0, CODE(GET "\x11\0\0"), 5000, 0, 0).function > TOO_HEAVY);
  EXPECT(weigh_code(plan, "", 0, CODE(GET GET GET "\xfc\x0e\0\0"), 5000, 0, 0).function > TOO_HEAVY);
  EXPECT(weigh_code(plan, "", 0, CODE(GET "\x04\x40\x0b"), 20000, 0, 0).function > TOO_HEAVY);
  EXPECT(weigh_code(plan, "", 0, CODE(GET "\x11\0\0"), 500, 0, 0).function < TOO_HEAVY / 16);
}

/* The code between a branch and the end of its arm says nothing about the other arm. */
TEST(unreachable_code_keeps_the_count_of_values) {
  buf code = BUF_INIT(BUF_UNLIMITED);
  for (int i = 0; i < 3000; i++) put_bytes(&code, CODE(GET));
  put_bytes(&code, CODE(GET "\x04\x40"
                            "\x0c\0"));
  for (int i = 0; i < 3000; i++) put_bytes(&code, CODE("\x1a"));
  put_byte(&code, 0x05);
  for (int i = 0; i < 1000; i++) put_bytes(&code, CODE(LOOP GET BR_IF END));
  eng_weight w =
      weigh_code((module_plan){ .locals = 1 }, (const char *)code.data, code.len, CODE(END), 1, 0x1a, 3000);
  EXPECT(w.function > TOO_HEAVY);
  buf_free(&code);
}

/* With a thousand values on the stack, of which `left` are there at the end. */
static eng_weight weigh_with_values(module_plan plan, const char *code, size_t len, unsigned times,
                                    unsigned left) {
  buf values = BUF_INIT(BUF_UNLIMITED);
  for (int i = 0; i < 1000; i++) put_bytes(&values, CODE(GET));
  eng_weight w =
      weigh_code(plan, (const char *)values.data, values.len, code, len, times, left > 0 ? 0x1a : 0, left);
  buf_free(&values);
  return w;
}

TEST(blocks_of_a_thousand_parameters_are_heavy) {
  module_plan plan = { .params = 1000, .results = 1000, .locals = 1 };
  EXPECT(weigh_with_values(plan, CODE("\x03\1" END), 70, 1000).function > TOO_HEAVY);
}

TEST(calls_with_a_thousand_values_are_heavy) {
  module_plan plan = { .params = 1000, .results = 1000, .type = 1 };
  EXPECT(weigh_with_values(plan, CODE("\x10\1"), 40, 0).function > TOO_HEAVY);
}

TEST(branches_with_a_thousand_values_are_heavy) {
  eng_weight w =
      weigh_code((module_plan){ .results = 1000, .locals = 1 }, CODE("\x02\1"), CODE(GET BR_IF), 70, 0x0b, 1);
  EXPECT(w.function > TOO_HEAVY);
}

TEST(clauses_around_calls_are_heavy) {
  buf code = BUF_INIT(BUF_UNLIMITED);
  put_bytes(&code, CODE("\x1f\x40"));
  put_leb(&code, 1000);
  for (int i = 0; i < 1000; i++) put_bytes(&code, CODE("\2\0")); /* catch_all */
  eng_weight w = weigh_code((module_plan){ .locals = 1 }, (const char *)code.data, code.len, CODE("\x10\0"),
                            100, 0x0b, 1);
  EXPECT(w.function > TOO_HEAVY);
  buf_free(&code);
}

TEST(every_section_has_a_weight) {
  EXPECT(weigh_made(worst_types(100000)).module > MODULE_TOO_HEAVY);
  EXPECT(weigh_made(worst_same_types(100000)).module > MODULE_TOO_HEAVY);
  EXPECT(weigh_made(worst_wide_types(1000)).module > MODULE_TOO_HEAVY);
  EXPECT(weigh_made(worst_imports(150000)).module > MODULE_TOO_HEAVY);
  EXPECT(weigh_made(worst_imported_globals(1000000)).module > MODULE_TOO_HEAVY);
  EXPECT(weigh_made(worst_far_elements(100)).module > MODULE_TOO_HEAVY);
  EXPECT(weigh_made(worst_passive_elements(100000)).module > MODULE_TOO_HEAVY);
  EXPECT(weigh_made(worst_items(1000000)).module > MODULE_TOO_HEAVY);
  EXPECT(weigh_made(worst_globals(1000000)).module > MODULE_TOO_HEAVY);
  EXPECT(weigh_made(worst_expressions(2000000)).module > MODULE_TOO_HEAVY);
  EXPECT(weigh_made(worst_exports(1000000)).module > MODULE_TOO_HEAVY);
  EXPECT(weigh_made(worst_wide_exports(1000)).module > MODULE_TOO_HEAVY);
  EXPECT(weigh_made(worst_dynamic_data(100000)).module > MODULE_TOO_HEAVY);
  EXPECT(weigh_made(worst_far_data(1)).module > 1 << 20);
}

TEST(segments_of_one_table_weigh_what_the_farthest_of_them_reaches) {
  eng_weight one = weigh_made(worst_elements(1)), many = weigh_made(worst_elements(1000));
  EXPECT(weigh_made(worst_far_elements(1)).module > one.module + 400000);
  EXPECT(many.module < one.module + 700000);
}

TEST(a_module_that_is_cut_is_malformed_wherever_that_is) {
  buf m = worst_far_elements(2);
  for (size_t len = 9; len < m.len; len++) {
    eng_weight w;
    uint8_t *cut = mem_alloc(len); /* so that a read beyond it is seen */
    EXPECT(cut != NULL);
    memcpy(cut, m.data, len);
    cay_status status = eng_weigh(cut, len, &w, NULL);
    EXPECT(status == CAY_OK || status == CAY_CORRUPT);
    mem_free(cut);
  }
  buf_free(&m);
}

TEST(it_runs_out_of_memory_cleanly) {
  buf m = module_slow(1, 200, 0);
  eng_weight w;
  AT_EVERY_FAULT {
    cay_status status = eng_weigh(m.data, m.len, &w, NULL);
    EXPECT(status == CAY_OK || status == CAY_NO_MEMORY);
  }
  buf_free(&m);
}
