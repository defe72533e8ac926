/* tools.h - tools written as text, with a body for each function that a test wants otherwise. */
#pragma once

#include "../engine/wat.h"
#include "base/clock.h"
#include "tool/run/call.h"
#include "tool/run/check.h"

#define TOOL_MEMORY "(memory (export \"memory\") 1)"
#define TOOL_ALLOC "(func (export \"alloc\") (param i32) (result i32) (i32.const 1024))"
#define TOOL_DEALLOC "(func (export \"dealloc\") (param i32 i32))"
/* `at` and `len` are texts of i32 constants. */
#define TOOL_GIVES(at, len)                                                                                   \
  "(func (export \"execute\") (param i32 i32) (result i64) (i64.or (i64.shl (i64.extend_i32_u (i32.const " at \
  ")) (i64.const 32)) (i64.extend_i32_u (i32.const " len "))))"
#define TOOL_EXECUTE(body) "(func (export \"execute\") (param i32 i32) (result i64) " body ")"
#define TOOL_PARTS TOOL_MEMORY TOOL_ALLOC TOOL_DEALLOC
/* Gives its input back. */
#define TOOL_ECHO                                                                                            \
  TOOL_EXECUTE("(i64.or (i64.shl (i64.extend_i32_u (local.get 0)) (i64.const 32)) (i64.extend_i32_u "        \
               "(local.get 1)))")

static inline enum tool_code check_text(eng_engine *engine, const char *text, tool_check_options options,
                                        eng_module **out, tool_end *end) {
  wasm_byte_vec_t bytes = wat(text);
  cay_error err = { 0 };
  eng_module *module = NULL;
  cay_status status = tool_check(engine, (cay_slice){ bytes.data, bytes.size }, &options, &module, end, &err);
  wasm_byte_vec_delete(&bytes);
  EXPECT_EQ(status, CAY_OK);
  EXPECT_EQ(module != NULL, end->code == TOOL_OK);
  if (out != NULL)
    *out = module;
  else
    eng_module_unref(module);
  return end->code;
}
