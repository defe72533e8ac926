/* block_map.c - blocks with reference counts, and the radix tree that finds them: lookup, insertion,
 * cutting (block_map.h). */
#include "kernel/fs/mem/block_map.h"

#include "base/alloc.h"

#include <stdatomic.h>

/* ---- blocks ---- */

mem_block *mem_block_new(uint32_t cap) {
  mem_block *b = mem_alloc(sizeof *b + cap);
  if (b == NULL) return NULL;
  atomic_init(&b->refs, 1);
  b->cap = cap;
  return b;
}

mem_block *mem_block_ref(mem_block *b) {
  atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
  return b;
}

void mem_block_unref(mem_block *b) {
  if (b != NULL && atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) == 1) mem_free(b);
}

bool mem_block_is_shared(const mem_block *b) {
  return atomic_load_explicit(&b->refs, memory_order_acquire) > 1;
}

/* ---- the way down ---- */

static size_t slot_at(uint64_t index, uint32_t level) {
  return (size_t)(index >> (MEM_FAN_BITS * (level - 1))) & (MEM_FAN - 1);
}

/* The number of blocks that a tree of this height has room for. */
static uint64_t reach(uint32_t height) { return UINT64_C(1) << (MEM_FAN_BITS * height); }

mem_block *mem_map_get(const mem_map *m, uint64_t index) {
  void *at = m->top;
  if (index >= reach(m->height)) return NULL;
  for (uint32_t level = m->height; level > 0 && at != NULL; level--)
    at = ((mem_knot *)at)->slots[slot_at(index, level)];
  return at;
}

static uint32_t height_for(uint64_t index) {
  uint32_t height = 0;
  while (index >= reach(height)) height++;
  return height;
}

uint32_t mem_map_need(const mem_map *m, uint64_t index) {
  if (m->top == NULL) return height_for(index);
  if (index >= reach(m->height)) {
    uint32_t height = height_for(index);
    return height - m->height + height - 1; /* up to the new top, and down beside the old one */
  }
  const void *at = m->top;
  uint32_t level = m->height;
  while (level > 0 && at != NULL) {
    at = ((const mem_knot *)at)->slots[slot_at(index, level)];
    level--;
  }
  return at == NULL ? level : 0;
}

/* ---- putting ---- */

typedef struct spares {
  mem_knot *list[2 * MEM_MAP_HEIGHT];
  uint32_t count;
} spares;

static bool spares_get(spares *s, uint32_t need) {
  for (s->count = 0; s->count < need; s->count++) {
    s->list[s->count] = mem_zalloc(sizeof(mem_knot));
    if (s->list[s->count] != NULL) continue;
    while (s->count > 0) mem_free(s->list[--s->count]);
    return false;
  }
  return true;
}

static void raise_top(mem_map *m, uint64_t index, spares *s) {
  if (m->top == NULL) m->height = height_for(index);
  while (index >= reach(m->height)) {
    mem_knot *k = s->list[--s->count];
    k->slots[0] = m->top;
    m->top = k;
    m->height++;
  }
}

bool mem_map_put(mem_map *m, uint64_t index, mem_block *b) {
  assert(index < MEM_BLOCKS_MAX);
  spares s;
  uint32_t need = mem_map_need(m, index);
  if (!spares_get(&s, need)) return false;
  raise_top(m, index, &s);
  void **at = &m->top;
  for (uint32_t level = m->height; level > 0; level--) {
    if (*at == NULL) *at = s.list[--s.count];
    at = &((mem_knot *)*at)->slots[slot_at(index, level)];
  }
  assert(s.count == 0);
  mem_block_unref(*at);
  *at = b;
  m->knots += need;
  return true;
}

/* ---- walking; at most MEM_MAP_HEIGHT deep ---- */

static mem_block *next_below(void *at, uint32_t level, uint64_t *index) {
  if (level == 0) return at;
  const mem_knot *k = at;
  uint64_t span = reach(level - 1);
  for (size_t i = slot_at(*index, level); i < MEM_FAN; i++) {
    uint64_t after = (*index & ~(span - 1)) + span;
    mem_block *found = k->slots[i] != NULL ? next_below(k->slots[i], level - 1, index) : NULL;
    if (found != NULL) return found;
    *index = after;
  }
  return NULL;
}

mem_block *mem_map_next(const mem_map *m, uint64_t *index) {
  if (m->top == NULL || *index >= reach(m->height)) return NULL;
  return next_below(m->top, m->height, index);
}

typedef struct cutting {
  mem_map *map;
  uint64_t index, end;
  mem_cut *cut;
} cutting;

static void cut_block(const cutting *c, mem_block *b) {
  c->cut->budget--;
  c->cut->bytes += b->cap;
  if (atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) != 1) return;
  mem_freed *freed = (mem_freed *)(void *)b;
  freed->next = c->cut->freed;
  c->cut->freed = freed;
}

/* Frees this subtree's blocks, which begins at block `first`; true: nothing is left of it. */
static bool cut_below(const cutting *c, void *at, uint32_t level, uint64_t first) {
  if (level == 0) {
    if (first < c->index || first >= c->end || c->cut->budget == 0) return false;
    cut_block(c, at);
    return true;
  }
  mem_knot *k = at;
  uint64_t span = reach(level - 1);
  bool empty = true;
  for (size_t i = 0; i < MEM_FAN; i++) {
    uint64_t start = first + i * span;
    if (k->slots[i] == NULL) continue;
    bool inside = start + span > c->index && start < c->end;
    if (inside && cut_below(c, k->slots[i], level - 1, start)) k->slots[i] = NULL;
    empty = empty && k->slots[i] == NULL;
  }
  if (!empty) return false;
  mem_free(k);
  c->map->knots--;
  return true;
}

bool mem_map_cut_some(mem_map *m, uint64_t index, uint64_t end, mem_cut *cut) {
  cutting c = { .map = m, .index = index, .end = end, .cut = cut };
  if (m->top != NULL && cut_below(&c, m->top, m->height, 0)) *m = (mem_map){ 0 };
  return mem_map_next(m, &index) == NULL || index >= end;
}

void mem_map_cut(mem_map *m, uint64_t index) {
  mem_cut cut = { 0 };
  do cut.budget = UINT32_MAX;
  while (!mem_map_cut_some(m, index, MEM_BLOCKS_MAX, &cut));
  mem_freed_free(cut.freed);
}
