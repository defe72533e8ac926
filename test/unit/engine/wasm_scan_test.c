/* wasm_scan_test.c - what the scanner says of well-formed bytes, and that no others hurt it. */
#include "engine/wasm_scan.h"
#include "wat.h"

#include <stdlib.h>

static cay_status scan_text(const char *text, const eng_scan_visitor *visitor, eng_scan_info *info) {
  wasm_byte_vec_t bytes = wat(text);
  cay_status status = eng_scan(bytes.data, bytes.size, visitor, info, NULL);
  wasm_byte_vec_delete(&bytes);
  return status;
}

struct list {
  char text[256];
  int allowed;
};

static bool add_import(void *ctx, const eng_scan_import *item) {
  struct list *l = ctx;
  size_t len = strlen(l->text);
  (void)snprintf(l->text + len, sizeof l->text - len, "%.*s.%.*s:%d ", (int)item->module.len,
                 (const char *)item->module.data, (int)item->name.len, (const char *)item->name.data,
                 (int)item->kind);
  return l->allowed-- > 0;
}

static bool add_export(void *ctx, const eng_scan_export *item) {
  struct list *l = ctx;
  size_t len = strlen(l->text);
  (void)snprintf(l->text + len, sizeof l->text - len, "%.*s:%d:%u ", (int)item->name.len,
                 (const char *)item->name.data, (int)item->kind, item->index);
  return l->allowed-- > 0;
}

static const char everything[] =
    "(module (import \"a\" \"f\" (func (param i32))) (import \"a\" \"g\" (global i32)) (import \"b\" \"t\" (table 1 funcref))"
    " (memory (export \"m\") 1 2) (tag $e (export \"e\") (param i32)) (global (export \"sp\") (mut i32) (i32.const 1))"
    " (func $main (export \"main\") (param i32) (result i32) (local v128 f64)"
    "   (block $b (result i32) (try_table (catch $e $b) (br_table 0 0 (local.get 0))) (i32.const -1))"
    "   (drop (f32x4.add (v128.const i32x4 1 2 3 4) (local.get 1)))"
    "   (v128.store8_lane 3 (i32.const 0) (local.get 1)) (memory.copy (i32.const 0) (i32.const 1) (i32.const 2))"
    "   (call_indirect (param i32) (i32.const 0) (i32.const 0)) (i64.store offset=9 (i32.const 0) (i64.const -1)))"
    " (elem (i32.const 0) $main) (data (i32.const 3) \"abc\"))";

TEST(imports_and_exports_are_told_in_order) {
  struct list in = { .allowed = 9 }, out = { .allowed = 9 };
  eng_scan_info info;
  EXPECT_EQ(scan_text(everything, &(eng_scan_visitor){ .ctx = &in, .on_import = add_import }, &info), CAY_OK);
  EXPECT_TEXT(in.text, "a.f:0 a.g:3 b.t:1 ");
  EXPECT_EQ(scan_text(everything, &(eng_scan_visitor){ .ctx = &out, .on_export = add_export }, &info),
            CAY_OK);
  EXPECT_TEXT(out.text, "m:2:0 e:4:0 sp:3:1 main:0:1 ");
  EXPECT_EQ(info.imports, 3);
  EXPECT_EQ(info.exports, 4);
  EXPECT_EQ(info.count[ENG_KIND_FUNC], 2);
  EXPECT_EQ(info.count[ENG_KIND_GLOBAL], 2);
  EXPECT_EQ(info.mutable_globals, 1);
  EXPECT(!info.has_start && !info.has_passive && !info.changes_tables);
  EXPECT(!info.imageable && strstr(info.why_not, "imports") != NULL);
}

TEST(a_visitor_can_end_the_scan) {
  struct list in = { .allowed = 1 };
  eng_scan_info info;
  EXPECT_EQ(scan_text(everything, &(eng_scan_visitor){ .ctx = &in, .on_import = add_import }, &info),
            CAY_INVALID);
  EXPECT_TEXT(in.text, "a.f:0 a.g:3 ");
}

TEST(module_of_a_c_program_is_imageable) {
  eng_scan_info info;
  EXPECT_EQ(
      scan_text(
          "(module (type $v (func)) (import \"linux\" \"syscall\" (func (param i32) (result i32)))"
          " (memory (export \"memory\") 17) (table 65 65 funcref) (elem (i32.const 64) $f)"
          " (global (export \"__stack_pointer\") (mut i32) (i32.const 65536)) (global i32 (i32.const 5))"
          " (func $f (export \"_start\") (call_indirect (type $v) (i32.const 64)) (select (i32.const 1)"
          " (i32.const 2) (i32.const 3)) (drop)) (data (i32.const 1024) \"text\"))",
          NULL, &info),
      CAY_OK);
  EXPECT_TEXT(info.why_not, "");
  EXPECT(info.imageable && info.forkable);
}

TEST(each_instruction_that_changes_a_table_is_seen) {
  static const char *const bodies[] = {
    "(table.set (i32.const 0) (ref.null func))",
    "(drop (table.grow (ref.null func) (i32.const 1)))",
    "(table.fill (i32.const 0) (ref.null func) (i32.const 1))",
    "(table.copy (i32.const 0) (i32.const 1) (i32.const 1))",
    "(table.init $e (i32.const 0) (i32.const 0) (i32.const 1))",
  };
  for (size_t n = 0; n < COUNT_OF(bodies); n++) {
    char text[512];
    (void)snprintf(text, sizeof text,
                   "(module (memory (export \"m\") 1) (table 4 funcref) (elem $e declare func $f) (func $f)"
                   " (func (drop (table.size)) (drop (table.get (i32.const 0))) (drop (ref.func $f)) %s))",
                   bodies[n]);
    eng_scan_info info;
    EXPECT_EQ(scan_text(text, NULL, &info), CAY_OK);
    EXPECT(info.changes_tables && !info.forkable);
  }
}

TEST(every_cut_and_every_changed_byte_gives_an_answer) {
  wasm_byte_vec_t bytes = wat(everything);
  eng_scan_info info;
  for (size_t len = 0; len < bytes.size; len++) {
    char *copy = malloc(len + 1); /* of that very size, so that a sanitizer sees a read beyond it */
    memcpy(copy, bytes.data, len);
    (void)!eng_scan(copy, len, NULL, &info, NULL);
    free(copy);
  }
  for (size_t at = 0; at < bytes.size; at++)
    for (int bit = 0; bit < 8; bit++) {
      bytes.data[at] = (char)(bytes.data[at] ^ (1 << bit));
      (void)!eng_scan(bytes.data, bytes.size, NULL, &info, NULL);
      bytes.data[at] = (char)(bytes.data[at] ^ (1 << bit));
    }
  EXPECT_EQ(eng_scan(bytes.data, bytes.size, NULL, &info, NULL), CAY_OK);
  wasm_byte_vec_delete(&bytes);
}

TEST(a_count_is_not_believed_before_its_bytes_are_there) {
  static const uint8_t imports[] = { 0, 'a', 's', 'm', 1, 0, 0, 0, 2, 5, 0xff, 0xff, 0xff, 0xff, 0x0f };
  cay_error err;
  eng_scan_info info;
  EXPECT_EQ(eng_scan(imports, sizeof imports, NULL, &info, &err), CAY_CORRUPT);
  static const uint8_t unknown[] = { 0, 'a', 's', 'm', 1, 0, 0, 0, 99, 0 };
  EXPECT_EQ(eng_scan(unknown, sizeof unknown, NULL, &info, &err), CAY_CORRUPT);
}
