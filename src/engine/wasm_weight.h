/* wasm_weight.h - the cost of compiling a module, estimated from its bytes.
 *
 * The cost of most code is proportional to its length. But some instructions say much in few bytes (a block of a type with a
 * thousand parameters, fifty thousand locals in four bytes), some costs of the compiler grow with a product
 * (locals that may differ at every merge of paths, loops inside of loops), and some items of other sections
 * make it write code of its own (types, elements, globals). A function of 17 KB can be made to take 20 GB and
 * hours, a table of a million elements takes a few bytes. So a module is weighed before the compiler sees it.
 *
 * One unit is at most
 *
 *   4 us     of one processor,
 *   64 bytes that stay while the module is compiled, and
 *   1 KiB    more while the function is compiled that it belongs to.
 *
 * Ordinary code weighs its length and a third more. README.md has the figures; compile_cost_test.c holds the
 * bounds against the worst module of each kind. */
#pragma once

#include "base/defs.h"

#include <cay/status.h>

typedef struct eng_weight {
  uint64_t module;   /* all of it */
  uint64_t function; /* the heaviest function */
  uint32_t index;    /* its index, imported ones counted */
} eng_weight;

/* Walks all sections, 11 MB in 30 ms. CAY_CORRUPT: malformed, or with something unknown here, which the
 * compiler would not take either; CAY_NO_MEMORY. */
cay_status eng_weigh(const void *bytes, size_t len, eng_weight *out, cay_error *err) CHECKED;
