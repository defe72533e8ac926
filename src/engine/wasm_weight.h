/* wasm_weight.h - what compiling a module will cost, told from its bytes.
 *
 * Most code costs what it is long. But some instructions say much in few bytes (a block of a type with a
 * thousand parameters, fifty thousand locals in four bytes), and some costs of the compiler grow with a
 * product: locals that may differ at every merge of paths, loops inside of loops. A function of 17 KB can be
 * made to take 20 GB and hours. So a module is weighed before the compiler sees it: one unit is some
 * microseconds of one processor and a kilobyte of memory at the worst, and ordinary code weighs its length
 * and a quarter more. README.md has the figures. */
#pragma once

#include "base/defs.h"

#include <cay/status.h>

typedef struct eng_weight {
  uint64_t module;   /* all of it */
  uint64_t function; /* the heaviest function */
  uint32_t index;    /* which that is, imported ones counted */
} eng_weight;

/* Walks all of the code, 11 MB in 30 ms. CAY_CORRUPT: malformed, or with something unknown to us, which the
 * compiler would not take either; CAY_NO_MEMORY. */
cay_status eng_weigh(const void *bytes, size_t len, eng_weight *out, cay_error *err) CHECKED;
