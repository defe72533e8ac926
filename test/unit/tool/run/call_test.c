/* call_test.c - how calls of tools end. */
#include "tools.h"

typedef struct stage {
  eng_engine *engine;
  alarm_set *alarms;
  eng_module *module;
} stage;

static stage stage_of(const char *text, bool count_fuel) {
  stage s = { .engine = fresh_engine(NULL) };
  tool_end end;
  EXPECT_EQ(alarm_set_new(&s.alarms, NULL), CAY_OK);
  check_text(s.engine, text, (tool_check_options){ .count_fuel = count_fuel }, &s.module, &end);
  EXPECT_TEXT(end.why, "");
  return s;
}

static void stage_free(stage *s) {
  eng_module_unref(s->module);
  alarm_set_free(s->alarms);
  eng_engine_free(s->engine);
}

static tool_call call_of(const stage *s, const char *input) {
  return (tool_call){ .module = s->module, .alarms = s->alarms, .input = { input, strlen(input) } };
}

static enum tool_code run(const tool_call *c, size_t max, char *out, size_t cap) {
  buf b = BUF_INIT(max);
  tool_end end;
  EXPECT_EQ(tool_call_run(c, &b, &end, NULL), CAY_OK);
  if (end.code == TOOL_OK)
    (void)snprintf(out, cap, "%s", buf_text(&b));
  else
    EXPECT_EQ(b.len, 0);
  if (end.code != TOOL_OK) (void)snprintf(out, cap, "%s", end.why);
  buf_free(&b);
  return end.code;
}

TEST(bytes_go_in_and_come_out) {
  stage s = stage_of("(module " TOOL_PARTS TOOL_ECHO ")", false);
  char text[200];
  for (int i = 0; i < 100; i++) {
    tool_call c = call_of(&s, "{\"a\":[1,2]}");
    EXPECT_EQ(run(&c, 1024, text, sizeof text), TOOL_OK);
    EXPECT_TEXT(text, "{\"a\":[1,2]}");
  }
  stage_free(&s);
}

TEST(each_bad_end_has_its_code_and_the_next_call_works) {
  static const struct {
    const char *text;
    enum tool_code code;
    const char *says;
  } cases[] = {
    { "(module " TOOL_PARTS TOOL_EXECUTE("unreachable") ")", TOOL_TRAP, "`execute` trapped: " },
    { "(module " TOOL_PARTS TOOL_EXECUTE("(drop (i32.load (i32.const -1))) (i64.const 0)") ")", TOOL_TRAP,
      "out of bounds" },
    { "(module " TOOL_PARTS TOOL_EXECUTE("(drop (i32.div_u (i32.const 1) (i32.const 0))) (i64.const 0)") ")",
      TOOL_TRAP, "zero" },
    { "(module " TOOL_PARTS TOOL_GIVES("65530", "10") ")", TOOL_BAD_OUTPUT, "10 bytes at 65530" },
    { "(module " TOOL_PARTS TOOL_GIVES("-1", "1") ")", TOOL_BAD_OUTPUT, "4294967295" },
    { "(module " TOOL_PARTS TOOL_GIVES("0", "-1") ")", TOOL_BAD_OUTPUT, "4294967295 bytes" },
    { "(module " TOOL_PARTS TOOL_GIVES("0", "2000") ")", TOOL_OUTPUT_TOO_LARGE, "2000 bytes" },
    { "(module " TOOL_MEMORY
      "(func (export \"alloc\") (param i32) (result i32) (i32.const -4))" TOOL_DEALLOC TOOL_ECHO ")",
      TOOL_BAD_ALLOC, "4294967292" },
    { "(module " TOOL_MEMORY
      "(func (export \"alloc\") (param i32) (result i32) (i32.const 0))" TOOL_DEALLOC TOOL_ECHO ")",
      TOOL_MEMORY_LIMIT, "alloc has no memory" },
    { "(module " TOOL_MEMORY
      "(func (export \"alloc\") (param i32) (result i32) unreachable)" TOOL_DEALLOC TOOL_ECHO ")",
      TOOL_TRAP, "`alloc` trapped" },
    { "(module " TOOL_MEMORY TOOL_ALLOC "(func (export \"dealloc\") (param i32 i32) unreachable)" TOOL_ECHO
      ")",
      TOOL_TRAP, "`dealloc` trapped" },
    { "(module " TOOL_PARTS TOOL_EXECUTE(
          "(loop (br_if 0 (i32.ge_s (memory.grow (i32.const 1)) (i32.const 0))))"
          "unreachable") ")",
      TOOL_MEMORY_LIMIT, "memory limit" },
    { "(module (memory (export \"memory\") 100) " TOOL_ALLOC TOOL_DEALLOC TOOL_ECHO ")", TOOL_MEMORY_LIMIT,
      "" },
    { "(module " TOOL_PARTS TOOL_EXECUTE("(loop (br 0)) unreachable") ")", TOOL_TIMEOUT, "time limit" },
    { "(module " TOOL_MEMORY
      "(func (export \"alloc\") (param i32) (result i32) (loop (br 0)) unreachable)" TOOL_DEALLOC TOOL_ECHO
      ")",
      TOOL_TIMEOUT, "`alloc`" },
    { "(module " TOOL_PARTS "(func (export \"_initialize\") unreachable)" TOOL_ECHO ")", TOOL_TRAP,
      "`_initialize`" },
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    stage s = stage_of(cases[i].text, false);
    char text[200];
    for (int twice = 0; twice < 2; twice++) {
      tool_call c = call_of(&s, "{}");
      c.memory_max = 8 * ENG_PAGE;
      if (cases[i].code == TOOL_TIMEOUT) c.timeout_ms = 20;
      EXPECT_TEXT(tool_code_name(run(&c, 1024, text, sizeof text)), tool_code_name(cases[i].code));
      EXPECT(strstr(text, cases[i].says) != NULL);
    }
    stage_free(&s);
  }
}

TEST(fuel_ends_the_same_way_each_time) {
  stage s = stage_of("(module " TOOL_PARTS TOOL_EXECUTE("(loop (br 0)) unreachable") ")", true);
  char text[200];
  for (int i = 0; i < 3; i++) {
    tool_call c = call_of(&s, "{}");
    c.fuel = 10000;
    EXPECT_EQ(run(&c, 1024, text, sizeof text), TOOL_OUT_OF_FUEL);
  }
  stage_free(&s);
}

TEST(every_call_has_a_fresh_instance) {
  stage s = stage_of("(module " TOOL_PARTS "(global $n (mut i32) (i32.const 48))" TOOL_EXECUTE(
                         "(global.set $n (i32.add (global.get $n) (i32.const 1)))"
                         "(i32.store8 (i32.const 0) (i32.add (i32.load8_u (i32.const 0)) (global.get "
                         "$n))) (i64.const 1)") ")",
                     false);
  char text[200];
  for (int i = 0; i < 3; i++) {
    tool_call c = call_of(&s, "{}");
    EXPECT_EQ(run(&c, 1024, text, sizeof text), TOOL_OK);
    EXPECT_TEXT(text, "1");
  }
  stage_free(&s);
}

TEST(both_buffers_are_given_back) {
  /* dealloc traps unless it is called with (1024, 2), then with (0, 1). */
  stage s = stage_of("(module " TOOL_MEMORY TOOL_ALLOC "(global $n (mut i32) (i32.const 0))"
                     "(func (export \"dealloc\") (param i32 i32)"
                     "  (global.set $n (i32.add (global.get $n) (i32.const 1)))"
                     "  (if (i32.ne (local.get 0) (select (i32.const 1024) (i32.const 0)"
                     "      (i32.eq (global.get $n) (i32.const 1)))) (then unreachable))"
                     "  (if (i32.ne (local.get 1) (select (i32.const 2) (i32.const 1)"
                     "      (i32.eq (global.get $n) (i32.const 1)))) (then unreachable)))" TOOL_GIVES(
                         "0", "1") "(data (i32.const 0) \"7\"))",
                     false);
  char text[200];
  tool_call c = call_of(&s, "{}");
  EXPECT_EQ(run(&c, 1024, text, sizeof text), TOOL_OK);
  EXPECT_TEXT(text, "7");
  stage_free(&s);
}

TEST(no_memory_is_said_and_leaves_nothing) {
  stage s = stage_of("(module " TOOL_PARTS TOOL_ECHO ")", false);
  tool_call c = call_of(&s, "{\"a\":1}");
  AT_EVERY_FAULT {
    buf b = BUF_INIT(1024);
    tool_end end;
    cay_status status = tool_call_run(&c, &b, &end, NULL);
    if (status != CAY_OK) EXPECT_EQ(b.len, 0);
    EXPECT(status == CAY_OK || status == CAY_NO_MEMORY || status == CAY_IO);
    buf_free(&b);
  }
  stage_free(&s);
}
