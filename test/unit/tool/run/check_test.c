/* check_test.c - which modules are tools; each other kind is refused with a code of its own. */
#include "tools.h"

TEST(each_refusal_has_its_code) {
  static const struct {
    const char *text;
    enum tool_code code;
    const char *says;
  } cases[] = {
    { "(module " TOOL_PARTS TOOL_ECHO ")", TOOL_OK, "" },
    { "(module (import \"env\" \"now\" (func)) (import \"wasi\" \"x\" (func)) " TOOL_PARTS TOOL_ECHO ")",
      TOOL_HAS_IMPORT, "imports env.now;" },
    { "(module (import \"env\" \"memory\" (memory 1)) " TOOL_ALLOC TOOL_DEALLOC TOOL_ECHO ")",
      TOOL_HAS_IMPORT, "env.memory" },
    { "(module " TOOL_PARTS TOOL_ECHO "(func $s) (start $s))", TOOL_HAS_START, "start" },
    { "(module (memory 1) " TOOL_ALLOC TOOL_DEALLOC TOOL_ECHO ")", TOOL_NO_MEMORY_EXPORT, "`memory`" },
    { "(module (memory (export \"mem\") 1) " TOOL_ALLOC TOOL_DEALLOC TOOL_ECHO ")", TOOL_NO_MEMORY_EXPORT,
      "`memory`" },
    { "(module (func (export \"memory\")) (memory 1) " TOOL_ALLOC TOOL_DEALLOC TOOL_ECHO ")",
      TOOL_NO_MEMORY_EXPORT, "`memory`" },
    { "(module " TOOL_MEMORY TOOL_DEALLOC TOOL_ECHO ")", TOOL_NO_ALLOC, "`alloc`" },
    { "(module " TOOL_MEMORY "(global (export \"alloc\") i32 (i32.const 0))" TOOL_DEALLOC TOOL_ECHO ")",
      TOOL_NO_ALLOC, "`alloc`" },
    { "(module " TOOL_MEMORY TOOL_ALLOC TOOL_ECHO ")", TOOL_NO_DEALLOC, "`dealloc`" },
    { "(module " TOOL_PARTS ")", TOOL_NO_ENTRYPOINT, "`execute`" },
    { "(module " TOOL_MEMORY
      "(func (export \"alloc\") (param i64) (result i32) (i32.const 0))" TOOL_DEALLOC TOOL_ECHO ")",
      TOOL_ALLOC_TYPE, "(i32) -> i32" },
    { "(module " TOOL_MEMORY TOOL_ALLOC "(func (export \"dealloc\") (param i32))" TOOL_ECHO ")",
      TOOL_DEALLOC_TYPE, "(i32, i32) -> ()" },
    { "(module " TOOL_PARTS "(func (export \"execute\") (param i32 i32) (result i32) (i32.const 0)))",
      TOOL_ENTRYPOINT_TYPE, "(i32, i32) -> i64" },
    { "(module " TOOL_PARTS TOOL_GIVES("0", "15") "(data (i32.const 0) \"{\\\"stub\\\" : true}\"))",
      TOOL_PLACEHOLDER, "placeholder" },
    { "(module " TOOL_PARTS TOOL_ECHO "(data (i32.const 0) \"{\\\"stub\\\": false}\"))", TOOL_OK, "" },
  };
  eng_engine *engine = fresh_engine(NULL);
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    tool_end end;
    check_text(engine, cases[i].text, (tool_check_options){ 0 }, NULL, &end);
    EXPECT_TEXT(tool_code_name(end.code), tool_code_name(cases[i].code));
    EXPECT(strstr(end.why, cases[i].says) != NULL);
  }
  eng_engine_free(engine);
}

TEST(the_entry_point_may_have_another_name) {
  eng_engine *engine = fresh_engine(NULL);
  tool_end end;
  tool_check_options options = { .entrypoint = "handle" };
  EXPECT_EQ(check_text(engine, "(module " TOOL_PARTS TOOL_ECHO ")", options, NULL, &end), TOOL_NO_ENTRYPOINT);
  options.entrypoint = "execute";
  EXPECT_EQ(check_text(engine, "(module " TOOL_PARTS TOOL_ECHO ")", options, NULL, &end), TOOL_OK);
  eng_engine_free(engine);
}

TEST(a_placeholder_is_taken_when_that_is_allowed) {
  eng_engine *engine = fresh_engine(NULL);
  tool_end end;
  tool_check_options options = { .allow_placeholder = true };
  const char *text =
      "(module " TOOL_PARTS TOOL_GIVES("0", "13") "(data (i32.const 0) \"{\\\"stub\\\":true}\"))";
  EXPECT_EQ(check_text(engine, text, options, NULL, &end), TOOL_OK);
  EXPECT_EQ(check_text(engine, text, (tool_check_options){ 0 }, NULL, &end), TOOL_PLACEHOLDER);
  eng_engine_free(engine);
}

TEST(a_placeholder_may_make_its_answer_when_it_is_called) {
  eng_engine *engine = fresh_engine(NULL);
  tool_end end;
  const char *text = "(module " TOOL_PARTS TOOL_GIVES(
      "0", "13") "(data (i32.const 0) \"{\\\"stub\\\"\") (data (i32.const 7) \":true}\"))";
  EXPECT_EQ(check_text(engine, text, (tool_check_options){ 0 }, NULL, &end), TOOL_PLACEHOLDER);
  text = "(module " TOOL_PARTS TOOL_EXECUTE(
      "(i32.store8 (i32.const 1) (i32.const 34))"
      "(i32.store8 (i32.const 6) (i32.const 34))"
      "(i64.const 13)") "(data (i32.const 0) \"{.stub.:true} responses\"))";
  EXPECT_EQ(check_text(engine, text, (tool_check_options){ 0 }, NULL, &end), TOOL_PLACEHOLDER);
  eng_engine_free(engine);
}

TEST(a_tool_that_only_holds_the_text_of_a_placeholder_is_none) {
  eng_engine *engine = fresh_engine(NULL);
  tool_end end;
  static const char *const bodies[] = {
    TOOL_ECHO,
    TOOL_EXECUTE("unreachable"),
    TOOL_EXECUTE("(loop (br 0)) unreachable"),
    TOOL_GIVES("20", "22"),
  };
  for (size_t i = 0; i < COUNT_OF(bodies); i++) {
    char text[2000];
    (void)snprintf(text, sizeof text, "(module %s %s %s)", TOOL_PARTS, bodies[i],
                   "(data (i32.const 0) \"{\\\"stub\\\": true}\")"
                   "(data (i32.const 20) \"{\\\"a\\\":{\\\"stub\\\": true}}\")");
    EXPECT_EQ(check_text(engine, text, (tool_check_options){ 0 }, NULL, &end), TOOL_OK);
  }
  eng_engine_free(engine);
}

static enum tool_code check_bytes(eng_engine *engine, const void *bytes, size_t len, size_t max) {
  eng_module *module = NULL;
  tool_end end;
  tool_check_options options = { .size_max = max };
  EXPECT_EQ(tool_check(engine, (cay_slice){ bytes, len }, &options, &module, &end, NULL), CAY_OK);
  EXPECT_EQ(module != NULL, end.code == TOOL_OK);
  EXPECT_EQ(end.why[0] != '\0', end.code != TOOL_OK);
  eng_module_unref(module);
  return end.code;
}

TEST(bytes_that_are_no_module_are_refused) {
  eng_engine *engine = fresh_engine(NULL);
  EXPECT_EQ(check_bytes(engine, "", 0, 0), TOOL_NOT_WASM);
  EXPECT_EQ(check_bytes(engine,
                        "\x7f"
                        "ELF....",
                        8, 0),
            TOOL_NOT_WASM);
  EXPECT_EQ(check_bytes(engine, "\0asm\1\0\0", 7, 0), TOOL_MALFORMED);
  EXPECT_EQ(check_bytes(engine, "\0asm\x0d\0\1\0", 8, 0), TOOL_MALFORMED);
  EXPECT_EQ(check_bytes(engine, "\0asm\1\0\0\0", 8, 7), TOOL_TOO_LARGE);
  EXPECT_EQ(check_bytes(engine, "\0asm\1\0\0\0", 8, 8), TOOL_NO_MEMORY_EXPORT);
  eng_engine_free(engine);
}

TEST(every_shorter_module_is_refused) {
  eng_engine *engine = fresh_engine(NULL);
  wasm_byte_vec_t bytes = wat("(module " TOOL_PARTS TOOL_ECHO ")");
  for (size_t len = 0; len < bytes.size; len++) EXPECT(check_bytes(engine, bytes.data, len, 0) != TOOL_OK);
  wasm_byte_vec_delete(&bytes);
  eng_engine_free(engine);
}

TEST(code_that_does_not_validate_is_refused) {
  eng_engine *engine = fresh_engine(NULL);
  wasm_byte_vec_t bytes = wat("(module " TOOL_PARTS TOOL_EXECUTE("(i64.const 7)") ")");
  uint8_t *constant = memmem(bytes.data, bytes.size, "\x42\x07", 2); /* i64.const 7 */
  EXPECT(constant != NULL);
  *constant = 0x41; /* i32.const 7 */
  EXPECT_EQ(check_bytes(engine, bytes.data, bytes.size, 0), TOOL_NOT_VALID);
  wasm_byte_vec_delete(&bytes);
  eng_engine_free(engine);
}
