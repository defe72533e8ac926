/* wasm_weight_inner.h - what wasm_weight.c and wasm_weight_code.c share. */
#pragma once

#include "engine/wasm_read.h"
#include "engine/wasm_weight.h"

enum {
  WEIGHT_OF_FUNCTION = 192, /* with its trampoline; an import has one, too */
  TABLES_MAX = 100,         /* more than these the compiler refuses */
};

typedef struct arity {
  uint16_t params, results;
} arity;

/* The types of a module, or its functions: parameters and results. */
typedef struct arities {
  arity *list;
  uint32_t count, room;
} arities;

/* A block that is open: how many values are on the stack where it begins and behind its end, and how many
 * clauses catch exceptions thrown there. */
typedef struct frame {
  uint64_t inside, behind, catches;
} frame;

typedef struct frames {
  frame *list;
  size_t room;
} frames;

typedef struct scales {
  arities types, functions;
  uint32_t imported, bodies;
  uint32_t reach[TABLES_MAX]; /* how far segments fill a table */
  uint64_t data_end;          /* how far segments fill the memory */
  eng_weight weight;
  frames frames;
  bool no_memory;
} scales;

/* A type that is not there weighs nothing: the compiler refuses the module. */
static inline arity arity_at(const arities *a, uint64_t index) {
  return index < a->count ? a->list[index] : (arity){ 0 };
}

static inline uint64_t beyond(uint64_t values, uint64_t usual) { return values > usual ? values - usual : 0; }

/* The code section. */
void wasm_weigh_code(scales *s, wasm_reader *r);
