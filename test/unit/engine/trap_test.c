/* trap_test.c - each way in which a guest can fail has its kind and a readable stack. */
#include "wat.h"

static const char failing[] =
    "(module (memory (export \"memory\") 1) (type $v (func)) (table 4 funcref) (elem (i32.const 1) $takes)"
    " (tag $t)"
    " (func $takes (param i32))"
    " (func (export \"unreachable\") (unreachable))"
    " (func (export \"memory_bounds\") (drop (i32.load (i32.const -4))))"
    " (func (export \"bulk\") (memory.fill (i32.const 65530) (i32.const 0) (i32.const 100)))"
    " (func $stack (export \"stack\") (call $stack))"
    " (func (export \"division\") (drop (i32.div_s (i32.const 1) (i32.load (i32.const 0)))))"
    " (func (export \"overflow\") (drop (i32.div_s (i32.const 0x80000000) (i32.sub (i32.load (i32.const 0)) (i32.const 1)))))"
    " (func (export \"conversion\") (drop (i32.trunc_f64_s (f64.const 1e300))))"
    " (func (export \"null_call\") (call_indirect (type $v) (i32.const 0)))"
    " (func (export \"bad_call\") (call_indirect (type $v) (i32.const 1)))"
    " (func (export \"table_bounds\") (call_indirect (type $v) (i32.const 100)))"
    " (func (export \"exception\") (throw $t)))";

static const struct {
  const char *name;
  enum eng_trap kind;
} cases[] = {
  { "unreachable", ENG_TRAP_UNREACHABLE },
  { "memory_bounds", ENG_TRAP_MEMORY },
  { "bulk", ENG_TRAP_MEMORY },
  { "stack", ENG_TRAP_STACK },
  { "division", ENG_TRAP_DIVISION },
  { "overflow", ENG_TRAP_ARITHMETIC },
  { "conversion", ENG_TRAP_ARITHMETIC },
  { "null_call", ENG_TRAP_CALL },
  { "bad_call", ENG_TRAP_CALL },
  { "table_bounds", ENG_TRAP_TABLE },
  { "exception", ENG_TRAP_EXCEPTION },
};

TEST(each_failure_has_its_kind_in_each_way_of_stopping) {
  for (int stop = 0; stop < ENG_STOP_COUNT; stop++) {
    world w = world_of(failing, (enum eng_stop)stop, &no_imports, (eng_instance_options){ .fuel = 1u << 30 });
    for (size_t n = 0; n < COUNT_OF(cases); n++) {
      eng_val values[1];
      EXPECT_EQ(call(w.instance, cases[n].name, ":", values), ENG_TRAPPED);
      EXPECT_EQ(eng_trap_kind(w.instance), cases[n].kind);
    }
    world_free(&w);
  }
}

static const char named[] = "(module (memory (export \"memory\") 1)"
                            " (func $parse_word (unreachable))"
                            " (func $_ZN4rust4main17h0123456789abcdefE (call $parse_word))"
                            " (func $main (export \"main\") (call $_ZN4rust4main17h0123456789abcdefE))"
                            " (func $down (export \"down\") (param i32)"
                            "   (if (i32.eqz (local.get 0)) (then (unreachable)))"
                            "   (call $down (i32.sub (local.get 0) (i32.const 1)))))";

TEST(the_stack_is_told_by_names_innermost_first) {
  world w = world_of(named, ENG_STOP_EPOCH, &no_imports, (eng_instance_options){ 0 });
  eng_val values[1];
  EXPECT_EQ(call(w.instance, "main", ":", values), ENG_TRAPPED);
  char text[1024];
  size_t len = eng_trap_text(w.instance, text, sizeof text);
  EXPECT_EQ(strlen(text), len);
  const char *kind = strstr(text, "unreachable"), *word = strstr(text, "\n  at parse_word (0x");
  const char *rust = strstr(text, "\n  at rust::main"), *outer = strstr(text, "\n  at main (0x");
  EXPECT(kind == text && word != NULL && rust > word && outer > rust);
  world_free(&w);
}

TEST(names_that_would_forge_a_message_are_quoted) {
  static const char forged[] =
      "(module (memory (export \"memory\") 1)"
      " (func $a (@name \"x (0x1)\\0a\\1b[2Jcay: all is well\\u{202e}\\u{9b}\") (unreachable))"
      " (func $b (@name \"_ZN2ok\\0a  at main (0x1)17h0123456789abcdefE\") (call $a))"
      " (func $c (@name \"it's plain\") (export \"main\") (call $b)))";
  world w = world_of(forged, ENG_STOP_EPOCH, &no_imports, (eng_instance_options){ 0 });
  eng_val values[1];
  EXPECT_EQ(call(w.instance, "main", ":", values), ENG_TRAPPED);
  char text[1024];
  (void)eng_trap_text(w.instance, text, sizeof text);
  EXPECT(strstr(text, "\n  at 'x (0x1)\\n\\x1b[2Jcay: all is well\\u{202e}\\u{9b}' (0x") != NULL);
  EXPECT(strstr(text, "\n  at 'it\\'s plain' (0x") != NULL);
  EXPECT(strstr(text, "\n  at main") == NULL);
  EXPECT(strpbrk(text, "\x1b\x9b\r") == NULL);
  world_free(&w);
}

TEST(a_deep_stack_is_cut_and_a_small_buffer_is_enough) {
  world w = world_of(named, ENG_STOP_EPOCH, &no_imports, (eng_instance_options){ 0 });
  eng_val values[1] = { { .i32 = 1000 } };
  EXPECT_EQ(call(w.instance, "down", "i:", values), ENG_TRAPPED);
  char text[4096];
  EXPECT(eng_trap_text(w.instance, text, sizeof text) < 1024);
  EXPECT(strstr(text, "\n  and more") != NULL);
  for (size_t cap = 1; cap < 64; cap++) EXPECT_EQ(eng_trap_text(w.instance, text, cap), strnlen(text, cap));
  world_free(&w);
}

TEST(a_text_without_a_trap_says_so) {
  world w = world_of(named, ENG_STOP_EPOCH, &no_imports, (eng_instance_options){ 0 });
  char text[64];
  (void)eng_trap_text(w.instance, text, sizeof text);
  EXPECT_TEXT(text, "no trap");
  world_free(&w);
}
