/* host.h - functions of ours that a guest may import.
 *
 * A call costs about 7 ns. Nothing checks the values: the type given here is what the module was linked
 * against, so the arguments are at values[0..] and a result goes to values[0]. Pointers from the guest are
 * numbers until eng_memory_at (instance.h) has accepted them.
 *
 * A host function runs on the guest's thread, on top of its stack, and may call back into the guest
 * (eng_call). */
#pragma once

#include "base/defs.h"

typedef struct eng_instance eng_instance;

/* One WebAssembly value; which member holds is known from the function's type. */
typedef union eng_val {
  int32_t i32;
  uint32_t u32;
  int64_t i64;
  uint64_t u64;
  float f32;
  double f64;
  uint64_t bits[2];
} eng_val;

enum eng_flow {
  ENG_CONTINUE, /* back to the guest */
  ENG_UNWIND, /* never back: every guest frame up to the outermost eng_call is dropped, which answers ENG_LEFT
               */
  ENG_THROW,  /* the exception that the last eng_call let out (ENG_THREW) goes on in the frames that called us
               */
};

/* `ctx` is the instance's (eng_instance_options). */
typedef enum eng_flow eng_host_fn(eng_instance *instance, void *ctx, eng_val *values);

/* `type` is the parameters, a colon, the results: i and I are 32 and 64-bit integers, f and F floats. "iI:i"
 */
typedef struct eng_import {
  const char *module, *name, *type;
  eng_host_fn *fn;
} eng_import;

/* Lives as long as the engine, and is the same object for equal tables: modules are cached by its address. */
typedef struct eng_imports {
  const eng_import *list;
  size_t count;
} eng_imports;
