/* block_map.h - which blocks a file in memory has: a radix tree from the number of a block to the block.
 *
 * A file of one block needs no tree at all, and a sparse file only the path to its blocks. A block is
 * counted and may stand in the maps of several files, frozen ones included; with more than one reference it
 * is never written. The map of a live file belongs to its kernel.mu; frozen ones never change.
 *
 * Invariant   without blocks there are no knots, and no knot is empty. */
#pragma once

#include "base/alloc.h"

enum { MEM_BLOCK = 65536, MEM_FAN_BITS = 6, MEM_FAN = 1 << MEM_FAN_BITS, MEM_MAP_HEIGHT = 5 };
#define MEM_BLOCKS_MAX (UINT64_C(1) << (MEM_FAN_BITS * MEM_MAP_HEIGHT)) /* numbers stay below */

typedef struct mem_block {
  _Atomic uint32_t refs;
  uint32_t cap;   /* of MEM_BLOCK; what lies beyond reads as zeros */
  uint8_t data[]; /* zero beyond the end of the file */
} mem_block;

typedef struct mem_knot {
  void *slots[MEM_FAN]; /* knots, or blocks in the lowest */
} mem_knot;

typedef struct mem_map {
  void *top;       /* a knot, at height 0 a block, or NULL */
  uint32_t height; /* knots on each way down */
  uint32_t knots;  /* in all */
} mem_map;

mem_block *mem_block_new(uint32_t cap) CHECKED; /* refs 1, contents undefined; NULL: out of memory */
mem_block *mem_block_ref(mem_block *b);
void mem_block_unref(mem_block *b);
bool mem_block_is_shared(const mem_block *b);

mem_block *mem_map_get(const mem_map *m, uint64_t index); /* borrowed, or NULL */

/* The knots that a block at `index` would add. */
uint32_t mem_map_need(const mem_map *m, uint64_t index);

/* Takes the reference over and gives up that to the block that was there. false, with nothing changed: out of
 * memory, which cannot be when none is needed. */
bool mem_map_put(mem_map *m, uint64_t index, mem_block *b) CHECKED;

/* The first block at or after `index`, whose number goes to *index; NULL when there is none. Borrowed. */
mem_block *mem_map_next(const mem_map *m, uint64_t *index);

/* Gives up blocks of [index, end), at most `budget` of them. */
typedef struct mem_cut {
  uint32_t budget;  /* the rest of it */
  uint64_t bytes;   /* of the blocks that were given up, added */
  mem_freed *freed; /* those that were the map's alone, in front of the list: the caller frees them */
} mem_cut;
/* True: there is no block left in the range. */
bool mem_map_cut_some(mem_map *m, uint64_t index, uint64_t end, mem_cut *cut);

/* Gives up every block from `index` on. */
void mem_map_cut(mem_map *m, uint64_t index);
