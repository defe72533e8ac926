/* contents.c - bytes of a file in blocks over a base: reading, writing, resizing, holes, comparing and
 * freezing (contents.h). */
#include "kernel/fs/mem/contents.h"

#include <stdatomic.h>
#include <string.h>

#define SIZE_LIMIT (MEM_BLOCKS_MAX * MEM_BLOCK)

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* The part of [0, len) that falls into block `index`. */
static uint32_t part(uint64_t len, uint64_t index) {
  uint64_t start = index * MEM_BLOCK;
  return len > start ? (uint32_t)least(len - start, MEM_BLOCK) : 0;
}

/* ---- what shows ---- */

typedef struct view {
  const uint8_t *data;
  uint32_t len; /* zeros follow */
} view;

static const uint8_t *floor_of(const mem_contents *c) {
  if (c->later == NULL) return c->floor;
  const uint8_t *data = atomic_load_explicit(&c->later->data, memory_order_acquire);
  return data != NULL ? data : c->later->fetch(c->later);
}

static view view_of_frozen(const mem_contents *c, uint64_t index) {
  const mem_block *b = mem_map_get(&c->own, index);
  if (b != NULL) return (view){ b->data, b->cap };
  uint32_t len = part(c->floor_len, index);
  const uint8_t *floor = len != 0 ? floor_of(c) : NULL;
  return floor != NULL ? (view){ floor + index * MEM_BLOCK, len } : (view){ NULL, 0 };
}

static view view_below(const mem_contents *c, uint64_t index) {
  if (c->base == NULL) return (view){ NULL, 0 };
  view v = view_of_frozen(c->base, index);
  v.len = (uint32_t)least(v.len, part(c->base_len, index));
  return v;
}

static view view_of(const mem_contents *c, uint64_t index) {
  if (mem_map_get(&c->own, index) != NULL || c->base == NULL) return view_of_frozen(c, index);
  return view_below(c, index);
}

size_t mem_contents_read(const mem_contents *c, void *buf, size_t len, uint64_t pos) {
  if (pos >= c->size) return 0;
  len = (size_t)least(len, c->size - pos);
  uint8_t *to = buf;
  for (size_t left = len; left > 0;) {
    uint32_t at = (uint32_t)(pos % MEM_BLOCK), n = (uint32_t)least(MEM_BLOCK - at, left);
    view v = view_of(c, pos / MEM_BLOCK);
    uint32_t real = v.len > at ? (uint32_t)least(v.len - at, n) : 0;
    if (real != 0) memcpy(to, v.data + at, real);
    memset(to + real, 0, n - real);
    to += n;
    pos += n;
    left -= n;
  }
  return len;
}

/* ---- quota ---- */

K_LOCKED static void charge(mem_contents *c, k_kernel *k, uint64_t bytes) {
  c->charged += bytes;
  k->used.disk += bytes;
  if (k->used.disk > k->used.disk_peak) k->used.disk_peak = k->used.disk;
}

K_LOCKED static void uncharge(mem_contents *c, k_kernel *k, uint64_t bytes) {
  c->charged -= bytes;
  k->used.disk -= bytes;
}

K_LOCKED static uint64_t room(const k_kernel *k) {
  return k->limits.disk > k->used.disk ? k->limits.disk - k->used.disk : 0;
}

/* ---- one block ---- */

/* Small blocks double, so that a file written piece by piece is copied few times. */
static uint32_t rounded(uint32_t need) {
  uint32_t cap = 512;
  while (cap < need) cap *= 2;
  return cap;
}

/* A block of `cap` bytes for slot `index`, with the slot's present bytes but for [from, to), which is about to
 * be overwritten. */
static mem_block *copy_of(const mem_contents *c, uint64_t index, uint32_t cap, uint32_t from, uint32_t to) {
  mem_block *b = mem_block_new(cap);
  if (b == NULL) return NULL;
  view v = view_of(c, index);
  uint32_t len = (uint32_t)least(v.len, cap);
  if (len <= from || len > to) {
    if (len != 0) memcpy(b->data, v.data, len);
  } else if (from != 0) {
    memcpy(b->data, v.data, from);
  }
  if (len < from) memset(b->data + len, 0, from - len);
  uint32_t tail = len > to ? len : to;
  memset(b->data + tail, 0, cap - tail);
  return b;
}

K_LOCKED static k_ret replace(mem_contents *c, k_kernel *k, uint64_t index, mem_block *b, uint32_t shown) {
  const mem_block *old = mem_map_get(&c->own, index);
  uint64_t old_cap = old != NULL ? old->cap : 0, knots = c->own.knots;
  if (!mem_map_put(&c->own, index, b)) {
    mem_block_unref(b);
    return -K_ENOMEM;
  }
  charge(c, k, b->cap + (c->own.knots - knots) * sizeof(mem_knot));
  uncharge(c, k, old_cap);
  c->held += b->cap;
  c->held -= shown;
  return 0;
}

/* Makes slot `index` a block that may be written in [from, to), or in a first part of it when the quota does
 * not reach further: where that ends. -K_ENOSPC: not one byte. */
K_LOCKED static k_ret own_block(mem_contents *c, k_kernel *k, uint64_t index, uint32_t from, uint32_t to) {
  const mem_block *old = mem_map_get(&c->own, index);
  if (old != NULL && old->cap >= to && !mem_block_is_shared(old)) return to;
  uint32_t shown = view_of(c, index).len, cap = rounded(to > shown ? to : shown);
  uint64_t knots = mem_map_need(&c->own, index) * sizeof(mem_knot);
  uint64_t most = room(k) + (old != NULL ? old->cap : 0);
  if (most < knots) return -K_ENOSPC;
  cap = (uint32_t)least(cap, most - knots);
  if (cap < shown || cap <= from) return -K_ENOSPC;
  if (to > cap) to = cap;
  mem_block *b = copy_of(c, index, cap, from, to);
  if (b == NULL) return -K_ENOMEM;
  K_TRY(replace(c, k, index, b, shown));
  return to;
}

/* ---- the whole ---- */

k_ret mem_contents_write(mem_contents *c, k_kernel *k, const void *buf, size_t len, uint64_t pos) {
  if (len == 0) return 0;
  if (pos >= SIZE_LIMIT) return -K_EFBIG;
  len = (size_t)least(len, SIZE_LIMIT - pos);
  const uint8_t *from = buf;
  size_t done = 0;
  while (done < len) {
    uint64_t index = pos / MEM_BLOCK;
    uint32_t at = (uint32_t)(pos % MEM_BLOCK), want = (uint32_t)least(MEM_BLOCK - at, len - done);
    k_ret end = own_block(c, k, index, at, at + want);
    if (end < 0) return done != 0 ? (k_ret)done : end;
    uint32_t n = (uint32_t)end - at;
    memcpy(mem_map_get(&c->own, index)->data + at, from + done, n);
    done += n;
    pos += n;
    if (pos > c->size) c->size = pos;
    if (n < want) break;
  }
  return (k_ret)done;
}

/* The own block at the new end must read as zeros behind it if the file grows again. */
K_LOCKED static k_ret clear_tail(mem_contents *c, k_kernel *k, uint64_t size) {
  uint64_t index = size / MEM_BLOCK;
  uint32_t keep = (uint32_t)(size % MEM_BLOCK);
  mem_block *b = mem_map_get(&c->own, index);
  if (keep == 0 || b == NULL || b->cap <= keep) return 0;
  if (mem_block_is_shared(b)) {
    mem_block *copy = copy_of(c, index, b->cap, b->cap, b->cap);
    if (copy == NULL) return -K_ENOMEM;
    K_TRY(replace(c, k, index, copy, b->cap));
    b = copy;
  }
  memset(b->data + keep, 0, b->cap - keep);
  return 0;
}

/* What of the base shows at or after block `index`. */
static uint64_t held_below(const mem_contents *c, uint64_t index) {
  uint64_t held = 0;
  if (c->base == NULL) return held;
  for (uint64_t i = index; mem_map_next(&c->base->own, &i) != NULL; i++)
    if (mem_map_get(&c->own, i) == NULL) held += view_below(c, i).len;
  for (uint64_t i = index; i * MEM_BLOCK < least(c->base->floor_len, c->base_len); i++)
    if (mem_map_get(&c->own, i) == NULL && mem_map_get(&c->base->own, i) == NULL)
      held += view_below(c, i).len;
  return held;
}

enum { SOME = 64 /* blocks that are freed in one piece */ };

/* Frees some of the own blocks of [index, end); true: there is none left. */
K_LOCKED static bool drop_some(mem_contents *c, k_kernel *k, uint64_t index, uint64_t end) {
  uint64_t knots = c->own.knots;
  mem_cut cut = { .budget = SOME, .freed = k->freed };
  bool all = mem_map_cut_some(&c->own, index, end, &cut);
  k->freed = cut.freed;
  c->held -= cut.bytes;
  uncharge(c, k, cut.bytes + (knots - c->own.knots) * sizeof(mem_knot));
  return all;
}

K_LOCKED static void drop_blocks(mem_contents *c, k_kernel *k, uint64_t index, uint64_t end) {
  while (!drop_some(c, k, index, end)) (void)k_work(k, NULL, K_WORK_MAX);
}

/* The size goes first: blocks beyond it are not read any more. */
K_LOCKED static k_ret shrink(mem_contents *c, k_kernel *k, uint64_t size) {
  K_TRY(clear_tail(c, k, size));
  uint64_t end = (size + MEM_BLOCK - 1) / MEM_BLOCK, first = size / MEM_BLOCK;
  c->held -= held_below(c, first);
  c->base_len = least(c->base_len, size);
  c->held += held_below(c, first);
  c->size = size;
  drop_blocks(c, k, end, MEM_BLOCKS_MAX);
  return 0;
}

K_LOCKED k_ret mem_contents_resize(mem_contents *c, k_kernel *k, uint64_t size) {
  if (size > SIZE_LIMIT) return -K_EFBIG;
  if (size < c->size) K_TRY(shrink(c, k, size));
  c->size = size;
  return 0;
}

/* ---- holes ---- */

/* The number of the first block at or after `index` with something in it; beyond the end: none. */
static uint64_t next_held(const mem_contents *c, uint64_t index) {
  uint64_t own = index, below = index, none = MEM_BLOCKS_MAX;
  if (mem_map_next(&c->own, &own) == NULL) own = none;
  if (c->base == NULL) return part(c->floor_len, index) != 0 ? index : own;
  if (part(least(c->base->floor_len, c->base_len), index) != 0) return index;
  if (mem_map_next(&c->base->own, &below) == NULL || view_below(c, below).len == 0) below = none;
  return own < below ? own : below;
}

k_ret mem_contents_seek(const mem_contents *c, uint64_t pos, bool hole) {
  if (pos >= c->size) return -K_ENXIO;
  uint64_t index = pos / MEM_BLOCK, found = next_held(c, index);
  if (hole) {
    while (found == index) found = next_held(c, ++index);
  } else {
    index = found;
  }
  if (index == pos / MEM_BLOCK) return (k_ret)pos;
  if (index * MEM_BLOCK < c->size) return (k_ret)(index * MEM_BLOCK);
  return hole ? (k_ret)c->size : -K_ENXIO;
}

/* Makes a block read as zeros over a base that would show through without it. */
K_LOCKED static k_ret hide_block(mem_contents *c, k_kernel *k, uint64_t index, uint32_t shown) {
  const mem_block *old = mem_map_get(&c->own, index);
  uint32_t cap = rounded(1);
  uint64_t need = cap + mem_map_need(&c->own, index) * sizeof(mem_knot);
  if (room(k) + (old != NULL ? old->cap : 0) < need) return -K_ENOSPC;
  mem_block *b = mem_block_new(cap);
  if (b == NULL) return -K_ENOMEM;
  memset(b->data, 0, cap);
  return replace(c, k, index, b, shown);
}

K_LOCKED static k_ret clear_part(mem_contents *c, k_kernel *k, uint64_t index, uint32_t from, uint32_t to) {
  k_ret end = own_block(c, k, index, from, to);
  if (end < 0) return end;
  memset(mem_map_get(&c->own, index)->data + from, 0, (size_t)end - from);
  return end < to ? -K_ENOSPC : 0;
}

K_LOCKED static k_ret punch_block(mem_contents *c, k_kernel *k, uint64_t index, uint32_t from, uint32_t to) {
  uint32_t shown = view_of(c, index).len;
  if (shown <= from) return 0;
  if (from > 0 || to < shown) return clear_part(c, k, index, from, to < shown ? to : shown);
  if (view_below(c, index).len != 0) return hide_block(c, k, index, shown);
  drop_blocks(c, k, index, index + 1);
  return 0;
}

K_LOCKED k_ret mem_contents_punch(mem_contents *c, k_kernel *k, uint64_t from, uint64_t to) {
  to = least(to, c->size);
  if (from >= to) return 0;
  for (uint64_t i = next_held(c, from / MEM_BLOCK); i * MEM_BLOCK < to; i = next_held(c, i + 1)) {
    uint64_t start = i * MEM_BLOCK;
    K_TRY(punch_block(c, k, i, from > start ? (uint32_t)(from - start) : 0, part(to, i)));
    (void)k_work(k, NULL, K_WORK_MAX / SOME);
  }
  return 0;
}

/* ---- frozen and live ---- */

mem_contents mem_contents_of(const void *data, size_t len) {
  return (mem_contents){ .size = len, .held = len, .floor = data, .floor_len = len };
}

mem_contents mem_contents_of_later(mem_later *later, size_t len) {
  return (mem_contents){ .size = len, .held = len, .later = later, .floor_len = len };
}

k_ret mem_contents_ready(const mem_contents *c) {
  const mem_contents *frozen = c->base != NULL ? c->base : c;
  return frozen->later == NULL || floor_of(frozen) != NULL ? 0 : -K_EIO;
}

mem_contents mem_contents_over(const mem_contents *base) {
  return (mem_contents){ .size = base->size, .held = base->held, .base = base, .base_len = base->size };
}

static k_ret add_shared(const mem_map *from, mem_map *to) {
  mem_block *b;
  for (uint64_t i = 0; (b = mem_map_next(from, &i)) != NULL; i++) {
    if (mem_map_put(to, i, mem_block_ref(b))) continue;
    mem_block_unref(b);
    return -K_ENOMEM;
  }
  return 0;
}

k_ret mem_contents_own_all(mem_contents *c) {
  mem_map own = { 0 };
  c->charged = mem_contents_size(c->base);
  k_ret r = add_shared(&c->base->own, &own);
  if (r < 0)
    mem_map_cut(&own, 0);
  else
    c->own = own;
  return r;
}

static bool view_is_zero_from(view v, uint32_t from) {
  if (v.len <= from) return true;
  const uint8_t *data = v.data + from;
  return data[0] == 0 && memcmp(data, data + 1, v.len - from - 1) == 0;
}

static bool contents_same_block(const mem_contents *a, const mem_contents *b, uint64_t index) {
  view x = view_of(a, index), y = view_of(b, index);
  uint32_t both = x.len < y.len ? x.len : y.len;
  if (x.data != y.data && both != 0 && memcmp(x.data, y.data, both) != 0) return false;
  return view_is_zero_from(x, both) && view_is_zero_from(y, both);
}

bool mem_contents_equal(const mem_contents *a, const mem_contents *b) {
  if (a->size != b->size) return false;
  for (uint64_t i = 0;; i++) {
    uint64_t x = next_held(a, i), y = next_held(b, i);
    i = x < y ? x : y;
    if (i * MEM_BLOCK >= a->size) return true;
    if (!contents_same_block(a, b, i)) return false;
  }
}

uint64_t mem_contents_size(const mem_contents *c) {
  uint64_t size = c->own.knots * sizeof(mem_knot);
  const mem_block *b;
  for (uint64_t i = 0; (b = mem_map_next(&c->own, &i)) != NULL; i++) size += b->cap;
  return size;
}

/* The visible part of a block of the base, as a block: the same one, or a copy of the rest. */
static mem_block *block_below(const mem_contents *live, uint64_t index, mem_block *b) {
  uint32_t len = view_below(live, index).len;
  return len == b->cap ? mem_block_ref(b) : copy_of(live, index, len, len, len);
}

static k_ret add_below(const mem_contents *live, mem_contents *out) {
  mem_block *b;
  for (uint64_t i = 0; (b = mem_map_next(&live->base->own, &i)) != NULL; i++) {
    if (mem_map_get(&live->own, i) != NULL) continue;
    if (view_below(live, i).len == 0) break;
    b = block_below(live, i, b);
    if (b == NULL || !mem_map_put(&out->own, i, b)) {
      mem_block_unref(b);
      return -K_ENOMEM;
    }
  }
  return 0;
}

k_ret mem_contents_freeze(const mem_contents *live, mem_contents *out) {
  mem_contents c = { .size = live->size };
  k_ret r = add_shared(&live->own, &c.own);
  if (r >= 0 && live->base != NULL) {
    r = add_below(live, &c);
    c.floor = live->base->floor;
    c.later = live->base->later;
    c.floor_len = least(live->base->floor_len, live->base_len);
  }
  if (r < 0) {
    mem_contents_free(&c, NULL);
    return r;
  }
  c.held = live->held;
  *out = c;
  return 0;
}

bool mem_contents_free_some(mem_contents *c, k_kernel *k) {
  if (!drop_some(c, k, 0, MEM_BLOCKS_MAX)) return false;
  mem_contents_free(c, k);
  return true;
}

void mem_contents_free(mem_contents *c, k_kernel *k) {
  mem_map_cut(&c->own, 0);
  if (k != NULL) uncharge(c, k, c->charged);
  *c = (mem_contents){ 0 };
}
