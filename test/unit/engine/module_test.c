/* module_test.c - which modules are taken, and how they are shared. */
#include "engine/internal.h"
#include "wat.h"

#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static enum eng_flow nothing(eng_instance *instance, void *ctx, eng_val *values) {
  (void)instance, (void)ctx, (void)values;
  return ENG_CONTINUE;
}

static const eng_import offered[] = { { "linux", "init", "i:i", nothing },
                                      { "linux", "syscall", "iiiiiii:i", nothing } };
static const eng_imports imports = { offered, COUNT_OF(offered) };

static const char plain[] = "(module (memory (export \"memory\") 1) (func (export \"_start\")))";

TEST(the_same_bytes_are_compiled_once) {
  eng_engine *engine = fresh_engine(NULL);
  eng_module *a = load(engine, plain, ENG_STOP_EPOCH, &imports),
             *b = load(engine, plain, ENG_STOP_EPOCH, &imports);
  EXPECT(a == b);
  eng_module *c = load(engine, plain, ENG_STOP_PROTECT, &imports);
  EXPECT(c != a);
  EXPECT(eng_module_find(engine, eng_module_digest(a), ENG_STOP_FUEL, &imports) == NULL);
  eng_module *d = eng_module_find(engine, eng_module_digest(a), ENG_STOP_EPOCH, &imports);
  EXPECT(d == a);
  eng_cache_stats stats = eng_engine_cache_stats(engine);
  EXPECT_EQ(stats.compiled, 2);
  EXPECT_EQ(stats.from_memory, 2);
  eng_module *all[] = { a, b, c, d };
  for (size_t n = 0; n < COUNT_OF(all); n++) eng_module_unref(all[n]);
  eng_engine_free(engine);
}

TEST(unused_modules_are_kept_up_to_a_number) {
  eng_engine *engine = NULL;
  EXPECT_EQ(eng_engine_new(&(eng_options){ .idle_modules = 2 }, &engine, NULL), CAY_OK);
  digest keys[4];
  for (int n = 0; n < 4; n++) {
    char text[128];
    (void)snprintf(text, sizeof text, "(module (memory (export \"memory\") %d))", n + 1);
    eng_module *m = load(engine, text, ENG_STOP_EPOCH, &imports);
    keys[n] = *eng_module_digest(m);
    eng_module_unref(m);
  }
  for (int n = 0; n < 4; n++) {
    eng_module *m = eng_module_find(engine, &keys[n], ENG_STOP_EPOCH, &imports);
    EXPECT_EQ(m != NULL, n >= 2);
    eng_module_unref(m);
  }
  eng_engine_free(engine);
}

/* A module with `n` functions, whose digest it gives; the module is unused when this returns. */
static digest load_and_leave(eng_engine *engine, int n) {
  char text[8192];
  size_t at = (size_t)snprintf(text, sizeof text, "(module (memory (export \"memory\") 1)");
  for (int f = 0; f < n; f++)
    at += (size_t)snprintf(text + at, sizeof text - at, "(func (export \"f%d\") (result i32) (i32.const %d))",
                           f, f);
  (void)snprintf(text + at, sizeof text - at, ")");
  eng_module *m = load(engine, text, ENG_STOP_EPOCH, &imports);
  digest key = *eng_module_digest(m);
  eng_module_unref(m);
  return key;
}

static bool is_kept(eng_engine *engine, const digest *key, enum eng_stop stop) {
  eng_module *m = eng_module_find(engine, key, stop, &imports);
  eng_module_unref(m);
  return m != NULL;
}

TEST(unused_modules_are_kept_up_to_some_bytes_of_code) {
  eng_engine *engine = NULL;
  EXPECT_EQ(eng_engine_new(&(eng_options){ .idle_len = 1 }, &engine, NULL), CAY_OK);
  digest first = load_and_leave(engine, 1);
  EXPECT(!is_kept(engine, &first, ENG_STOP_EPOCH));
  eng_engine_free(engine);

  EXPECT_EQ(eng_engine_new(&(eng_options){ .idle_len = 256 << 10 }, &engine, NULL), CAY_OK);
  digest keys[100];
  for (int n = 0; n < 100; n++) keys[n] = load_and_leave(engine, n + 1);
  int kept = 0;
  for (int n = 0; n < 100; n++) kept += is_kept(engine, &keys[n], ENG_STOP_EPOCH);
  EXPECT(kept > 0 && kept < 32);
  EXPECT(is_kept(engine, &keys[99], ENG_STOP_EPOCH));
  EXPECT(!is_kept(engine, &keys[0], ENG_STOP_EPOCH));
  eng_engine_free(engine);
}

TEST(modules_of_strangers_do_not_push_out_those_of_the_installation) {
  char path[256];
  (void)snprintf(path, sizeof path, "%s/installed.cwasm", test_dir());
  eng_engine *engine = NULL;
  EXPECT_EQ(eng_engine_new(&(eng_options){ .idle_modules = 1 }, &engine, NULL), CAY_OK);
  wasm_byte_vec_t bytes = wat("(module (memory (export \"memory\") 7))");
  EXPECT_EQ(eng_module_compile(engine, bytes.data, bytes.size, ENG_STOP_EPOCH, path, NULL), CAY_OK);
  wasm_byte_vec_delete(&bytes);
  eng_module *m = NULL;
  EXPECT_EQ(eng_module_open_precompiled(engine, path, ENG_STOP_EPOCH, &imports, &m, NULL), CAY_OK);
  digest installed = *eng_module_digest(m);
  eng_module_unref(m);
  for (int n = 0; n < 5; n++) (void)load_and_leave(engine, n + 1);
  EXPECT(is_kept(engine, &installed, ENG_STOP_EPOCH));
  eng_engine_free(engine);
}

TEST(an_import_that_is_not_offered_is_named) {
  static const struct {
    const char *text, *says;
  } cases[] = {
    { "(module (import \"env\" \"gettimeofday\" (func)) (memory (export \"memory\") 1))",
      "function env.gettimeofday" },
    { "(module (import \"linux\" \"init\" (memory 1)))", "memory linux.init" },
    { "(module (import \"linux\" \"init\" (func)) (memory (export \"memory\") 1))", "linux::init" },
  };
  eng_engine *engine = fresh_engine(NULL);
  for (size_t n = 0; n < COUNT_OF(cases); n++) {
    eng_module *m = NULL;
    cay_error err;
    EXPECT_EQ(try_load(engine, cases[n].text, ENG_STOP_EPOCH, &imports, &m, &err), CAY_INVALID);
    EXPECT(strstr(err.message, cases[n].says) != NULL);
    EXPECT(m == NULL);
  }
  eng_engine_free(engine);
}

static cay_status load_bytes(eng_engine *engine, const void *bytes, size_t len, cay_error *err) {
  eng_module *m = NULL;
  cay_status status = eng_module_load(engine, bytes, len, NULL, ENG_STOP_EPOCH, &imports, &m, err);
  EXPECT_EQ(m != NULL, status == CAY_OK);
  eng_module_unref(m);
  return status;
}

TEST(malformed_module_is_refused_with_a_reason) {
  eng_engine *engine = fresh_engine(NULL);
  cay_error err;
  EXPECT_EQ(load_bytes(engine, "", 0, &err), CAY_CORRUPT);
  EXPECT_EQ(load_bytes(engine, "#!/bin/sh\n", 10, &err), CAY_CORRUPT);
  EXPECT(strstr(err.message, "not a WebAssembly module") != NULL);
  EXPECT_EQ(load_bytes(engine, "\0asm\r\0\1\0", 8, &err), CAY_UNSUPPORTED);
  EXPECT(strstr(err.message, "component") != NULL);
  EXPECT_EQ(load_bytes(engine, "\0asm\2\0\0\0", 8, &err), CAY_UNSUPPORTED);
  EXPECT(strstr(err.message, "version 2.0") != NULL);
  EXPECT_EQ(load_bytes(engine, "\0asm\1\0\0\0\1\x7f", 10, &err), CAY_CORRUPT);
  EXPECT(strstr(err.message, "cut short") != NULL);
  eng_engine_free(engine);
}

TEST(a_module_cut_anywhere_is_refused_and_harms_nothing) {
  eng_engine *engine = fresh_engine(NULL);
  wasm_byte_vec_t bytes =
      wat("(module (memory (export \"memory\") 1) (func (export \"f\") (param i32) (result i32)"
          " (i32.add (local.get 0) (i32.const 1))) (data (i32.const 8) \"hello\"))");
  for (size_t len = 9; len < bytes.size; len++) {
    cay_error err = { 0 };
    cay_status status = load_bytes(engine, bytes.data, len, &err);
    EXPECT(status == CAY_CORRUPT || status == CAY_INVALID ||
           status == CAY_OK); /* a whole section may be missing */
    EXPECT(status == CAY_OK || err.message[0] != '\0');
  }
  EXPECT_EQ(load_bytes(engine, bytes.data, bytes.size, NULL), CAY_OK);
  wasm_byte_vec_delete(&bytes);
  eng_engine_free(engine);
}

TEST(a_module_that_does_not_validate_says_where) {
  static const uint8_t bad_body[] = { 0, 'a',  's', 'm', 1, 0, 0,  0, 1, 5, 1, 0x60, 0,
                                      1, 0x7f, 3,   2,   1, 0, 10, 4, 1, 2, 0, 0x0b };
  eng_engine *engine = fresh_engine(NULL);
  cay_error err;
  EXPECT_EQ(load_bytes(engine, bad_body, sizeof bad_body, &err), CAY_INVALID);
  EXPECT(strstr(err.message, "type mismatch") != NULL && strchr(err.message, '\n') == NULL);
  eng_engine_free(engine);
}

TEST(a_module_larger_than_the_cap_is_not_looked_at) {
  eng_engine *engine = NULL;
  EXPECT_EQ(eng_engine_new(&(eng_options){ .module_max = 100 }, &engine, NULL), CAY_OK);
  char large[101] = "\0asm\1";
  cay_error err;
  EXPECT_EQ(load_bytes(engine, large, sizeof large, &err), CAY_LIMIT);
  eng_engine_free(engine);
}

TEST(exports_of_types_that_the_host_cannot_speak_of_are_left_alone) {
  eng_engine *engine = fresh_engine(NULL);
  eng_module *m = load(
      engine,
      "(module (memory (export \"m\") 1) (tag (export \"e\") (param i64)) (table (export \"t\") 1 externref)"
      " (func (export \"v\") (param v128) (result v128) (local.get 0))"
      " (func (export \"r\") (param externref funcref exnref) (unreachable))"
      " (func (export \"many\") (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32"
      " i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32))"
      " (global (export \"gv\") (mut v128) (v128.const i64x2 0 0)) (global (export \"ge\") exnref (ref.null exn)))",
      ENG_STOP_EPOCH, &imports);
  eng_instance *i = start(m, (eng_instance_options){ 0 });
  eng_global g;
  eng_func f;
  EXPECT(!eng_global_find(i, "gv", &g) && !eng_global_find(i, "ge", &g));
  EXPECT(!eng_func_find(i, "v", "?:?", &f) && !eng_func_find(i, "many", "?", &f));
  EXPECT(eng_module_exports(m, "v", NULL));
  eng_instance_free(i);
  eng_module_unref(m);
  eng_engine_free(engine);
}

TEST(a_module_without_memory_or_with_a_bad_start_makes_no_instance) {
  static const struct {
    const char *text;
    enum eng_stop stop;
    cay_status status;
  } cases[] = {
    { "(module)", ENG_STOP_EPOCH, CAY_INVALID },
    { "(module (memory (export \"m\") 1) (data (i32.const 65535) \"ab\"))", ENG_STOP_EPOCH, CAY_INVALID },
    { "(module (memory (export \"m\") 1) (func $f (unreachable)) (start $f))", ENG_STOP_EPOCH, CAY_INVALID },
    { "(module (memory (export \"m\") 1) (func $f) (start $f))", ENG_STOP_EPOCH, CAY_OK },
    { "(module (memory (export \"m\") 1) (func $f) (start $f))", ENG_STOP_PROTECT, CAY_UNSUPPORTED },
  };
  eng_engine *engine = fresh_engine(NULL);
  for (size_t n = 0; n < COUNT_OF(cases); n++) {
    eng_module *m = load(engine, cases[n].text, cases[n].stop, &imports);
    eng_instance *i = NULL;
    EXPECT_EQ(eng_instance_new(m, &(eng_instance_options){ 0 }, &i, NULL), cases[n].status);
    eng_instance_free(i);
    eng_module_unref(m);
  }
  eng_engine_free(engine);
}

/* ---- ahead of time ---- */

static const char *compiled_file(eng_engine *engine, const char *text, enum eng_stop stop) {
  static char path[256];
  (void)snprintf(path, sizeof path, "%s/ahead.cwasm", test_dir());
  wasm_byte_vec_t bytes = wat(text);
  EXPECT_EQ(eng_module_compile(engine, bytes.data, bytes.size, stop, path, NULL), CAY_OK);
  wasm_byte_vec_delete(&bytes);
  return path;
}

TEST(precompiled_code_is_mapped_and_runs) {
  eng_engine *engine = fresh_engine(NULL);
  const char *path = compiled_file(
      engine, "(module (memory (export \"memory\") 1) (func (export \"f\") (result i32) (i32.const 42)))",
      ENG_STOP_PROTECT);
  eng_module *m = NULL, *again = NULL;
  EXPECT_EQ(eng_module_open_precompiled(engine, path, ENG_STOP_PROTECT, &imports, &m, NULL), CAY_OK);
  EXPECT_EQ(eng_module_open_precompiled(engine, path, ENG_STOP_PROTECT, &imports, &again, NULL), CAY_OK);
  EXPECT(m == again);
  EXPECT(eng_module_why_not_imageable(m) == NULL);
  eng_instance *i = start(m, (eng_instance_options){ 0 });
  EXPECT_EQ(call_i(i, "f", ":i", 0, 0), 42);
  eng_instance_free(i);
  eng_module_unref(m);
  eng_module_unref(again);
  EXPECT_EQ(eng_engine_cache_stats(engine).compiled, 0);
  eng_engine_free(engine);
}

TEST(code_of_packages_has_no_tables_for_debuggers_and_traps_still_tell_functions) {
  eng_engine *engine = fresh_engine(NULL);
  const char *path = compiled_file(engine,
                                   "(module (memory (export \"memory\") 1) (data (i32.const 8) \"hello\")"
                                   " (func $inner (unreachable)) (func $outer (export \"f\") (call $inner)))",
                                   ENG_STOP_EPOCH);
  static uint8_t bytes[1 << 20];
  int fd = open(path, O_RDONLY);
  ssize_t len = read(fd, bytes, sizeof bytes);
  (void)close(fd);
  Elf64_Ehdr head;
  Elf64_Shdr section;
  EXPECT(len > (ssize_t)sizeof head);
  memcpy(&head, bytes, sizeof head);
  EXPECT(head.e_shnum > 2);
  for (size_t n = 0; n < head.e_shnum; n++) {
    memcpy(&section, bytes + head.e_shoff + n * sizeof section, sizeof section);
    EXPECT(section.sh_type != SHT_SYMTAB);
    EXPECT(section.sh_addralign < 2 || section.sh_offset % section.sh_addralign == 0);
  }

  eng_module *m = NULL;
  EXPECT_EQ(eng_module_open_precompiled(engine, path, ENG_STOP_EPOCH, &imports, &m, NULL), CAY_OK);
  eng_instance *i = start(m, (eng_instance_options){ 0 });
  eng_val values[1];
  EXPECT_EQ(call(i, "f", ":", values), ENG_TRAPPED);
  EXPECT_EQ(eng_trap_kind(i), ENG_TRAP_UNREACHABLE);
  char text[256];
  (void)eng_trap_text(i, text, sizeof text);
  EXPECT_TEXT(text, "unreachable instruction (abort)\n  at inner\n  at outer");
  eng_instance_free(i);
  eng_module_unref(m);
  eng_engine_free(engine);
}

TEST(code_laid_out_otherwise_is_left_as_it_is) {
  eng_engine *engine = fresh_engine(NULL);
  wasm_byte_vec_t code;
  eng_module *m = load(engine, plain, ENG_STOP_EPOCH, &imports);
  EXPECT(wasmtime_module_serialize(m->wasm, &code) == NULL);
  uint8_t *copy = malloc(code.size);
  for (size_t len = 0; len < code.size; len += len < sizeof(Elf64_Ehdr) ? 1 : 997) {
    memcpy(copy, code.data, len);
    size_t after = len;
    EXPECT_EQ(eng_code_strip(copy, &after, NULL), CAY_INTERNAL);
    EXPECT(after == len && memcmp(copy, code.data, len) == 0);
  }
  /* A second time there is nothing to take out. */
  size_t len = code.size, once;
  memcpy(copy, code.data, len);
  EXPECT_EQ(eng_code_strip(copy, &len, NULL), CAY_OK);
  EXPECT(len < code.size);
  once = len;
  EXPECT_EQ(eng_code_strip(copy, &len, NULL), CAY_OK);
  EXPECT_EQ(len, once);
  free(copy);
  wasm_byte_vec_delete(&code);
  eng_module_unref(m);
  eng_engine_free(engine);
}

TEST(a_file_that_cannot_be_used_says_whether_the_module_should_be_compiled_instead) {
  eng_engine *engine = fresh_engine(NULL);
  const char *path = compiled_file(engine, plain, ENG_STOP_PROTECT);
  eng_module *m = NULL;
  cay_error err;
  EXPECT_EQ(eng_module_open_precompiled(engine, path, ENG_STOP_EPOCH, &imports, &m, &err), CAY_UNSUPPORTED);
  EXPECT_EQ(eng_module_open_precompiled(engine, "/nowhere.cwasm", ENG_STOP_EPOCH, &imports, &m, &err),
            CAY_NOT_FOUND);
  EXPECT_EQ(eng_module_open_precompiled(engine, "/dev/null", ENG_STOP_EPOCH, &imports, &m, &err),
            CAY_CORRUPT);
  EXPECT_EQ(eng_module_open_precompiled(engine, test_dir(), ENG_STOP_EPOCH, &imports, &m, &err), CAY_CORRUPT);
  /* Another version of the compiler: the artifact's own header no longer agrees. */
  int fd = open(path, O_RDWR);
  off_t len = lseek(fd, 0, SEEK_END);
  for (off_t at = 0; at < len - 3; at++) { /* the major version, behind its length */
    char word[3];
    if (pread(fd, word, 3, at) == 3 && memcmp(word,
                                              "\2"
                                              "50",
                                              3) == 0)
      EXPECT_EQ(pwrite(fd,
                       "\2"
                       "49",
                       3, at),
                3);
  }
  (void)close(fd);
  EXPECT_EQ(eng_module_open_precompiled(engine, path, ENG_STOP_PROTECT, &imports, &m, &err), CAY_UNSUPPORTED);
  EXPECT(m == NULL);
  eng_engine_free(engine);
}

/* ---- several threads ---- */

enum { LOADERS = 4, ROUNDS = 20 };

struct loader {
  eng_engine *engine;
  const wasm_byte_vec_t *modules;
  size_t module_count;
  int failures;
};

static void *load_often(void *arg) {
  struct loader *l = arg;
  for (size_t n = 0; n < ROUNDS; n++) {
    const wasm_byte_vec_t *bytes = &l->modules[n % l->module_count];
    eng_module *m = NULL;
    eng_instance *i = NULL;
    l->failures +=
        eng_module_load(l->engine, bytes->data, bytes->size, NULL, ENG_STOP_EPOCH, &imports, &m, NULL) != 0;
    if (m == NULL) continue;
    l->failures += eng_instance_new(m, &(eng_instance_options){ 0 }, &i, NULL) != 0;
    eng_instance_free(i);
    eng_module_unref(m);
  }
  return NULL;
}

TEST(threads_that_want_one_module_compile_it_once) {
  eng_engine *engine = fresh_engine(NULL);
  wasm_byte_vec_t modules[3] = { wat(plain), wat("(module (memory (export \"memory\") 2))"),
                                 wat("(module (memory (export \"memory\") 3))") };
  struct loader loaders[LOADERS];
  pthread_t threads[LOADERS];
  for (int n = 0; n < LOADERS; n++) {
    loaders[n] = (struct loader){ .engine = engine, .modules = modules, .module_count = COUNT_OF(modules) };
    EXPECT_EQ(pthread_create(&threads[n], NULL, load_often, &loaders[n]), 0);
  }
  for (int n = 0; n < LOADERS; n++) {
    EXPECT_EQ(pthread_join(threads[n], NULL), 0);
    EXPECT_EQ(loaders[n].failures, 0);
  }
  EXPECT_EQ(eng_engine_cache_stats(engine).compiled, COUNT_OF(modules));
  for (size_t n = 0; n < COUNT_OF(modules); n++) wasm_byte_vec_delete(&modules[n]);
  eng_engine_free(engine);
}

TEST(no_memory_makes_no_module_and_leaks_nothing) {
  wasm_byte_vec_t bytes = wat(plain);
  AT_EVERY_FAULT {
    eng_engine *engine = NULL;
    eng_module *m = NULL;
    eng_instance *i = NULL;
    cay_status status = eng_engine_new(&(eng_options){ 0 }, &engine, NULL);
    if (status == CAY_OK)
      status = eng_module_load(engine, bytes.data, bytes.size, NULL, ENG_STOP_EPOCH, &imports, &m, NULL);
    if (status == CAY_OK) status = eng_instance_new(m, &(eng_instance_options){ 0 }, &i, NULL);
    EXPECT(status == CAY_OK ? i != NULL : status == CAY_NO_MEMORY && i == NULL);
    eng_instance_free(i);
    eng_module_unref(m);
    eng_engine_free(engine);
  }
  wasm_byte_vec_delete(&bytes);
}
