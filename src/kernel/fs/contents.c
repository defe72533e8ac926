#include "kernel/fs/contents.h"

#include "base/alloc.h"

#include <stdatomic.h>
#include <string.h>

struct mem_block {
  _Atomic uint32_t refs;
  uint32_t cap;
  uint8_t data[]; /* bytes beyond the end of the file are zero */
};

#define SIZE_LIMIT (UINT64_C(1) << 46)

/* ---- blocks ---- */

static void block_unref(mem_block *b) {
  if (b != NULL && atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) == 1) mem_free(b);
}

static uint32_t rounded(uint32_t need) {
  uint32_t step = need <= 512 ? 64 : need <= 4096 ? 512 : 4096;
  return (need + step - 1) / step * step;
}

static void uncharge(k_kernel *k, mem_slot *s) {
  if (s->charged && k != NULL) k->used.disk -= s->block->cap;
  s->charged = false;
}

static void drop(k_kernel *k, mem_slot *s) {
  if (s->block == NULL) return;
  uncharge(k, s);
  block_unref(s->block);
  s->block = NULL;
}

static void charge(k_kernel *k, uint64_t bytes) {
  k->used.disk += bytes;
  if (k->used.disk > k->used.disk_peak) k->used.disk_peak = k->used.disk;
}

/* The most that a block may become under the quota, given what it was charged. */
static uint32_t affordable(const k_kernel *k, uint32_t charged, uint32_t want) {
  uint64_t room = k->limits.disk > k->used.disk ? k->limits.disk - k->used.disk : 0;
  uint64_t most = charged + room;
  return want <= most ? want : (uint32_t)most;
}

/* ---- one block of a file ---- */

static uint32_t floor_part(const mem_contents *c, size_t index) {
  uint64_t start = (uint64_t)index * MEM_BLOCK;
  if (c->floor_len <= start) return 0;
  uint64_t n = c->floor_len - start;
  return n < MEM_BLOCK ? (uint32_t)n : MEM_BLOCK;
}

static bool is_ours(const mem_slot *s) {
  return s->block != NULL && atomic_load_explicit(&s->block->refs, memory_order_acquire) == 1;
}

/* A block of `cap` bytes with what slot `index` shows now. */
static mem_block *copy_of(const mem_contents *c, size_t index, uint32_t cap) {
  const mem_slot *s = &c->slots[index];
  mem_block *b = mem_alloc(sizeof *b + cap);
  if (b == NULL) return NULL;
  uint32_t len = s->block != NULL ? s->block->cap : floor_part(c, index);
  const uint8_t *from = s->block != NULL ? s->block->data
                        : len != 0       ? c->floor + (uint64_t)index * MEM_BLOCK
                                         : NULL;
  if (len > cap) len = cap;
  atomic_init(&b->refs, 1);
  b->cap = cap;
  if (len != 0) memcpy(b->data, from, len);
  memset(b->data + len, 0, cap - len);
  return b;
}

/* Makes slot `index` a block of its own that holds its first `need` bytes, or as many as the quota allows:
 * the count, at least `least`. */
static k_ret own_block(mem_contents *c, k_kernel *k, size_t index, uint32_t need, uint32_t least) {
  mem_slot *s = &c->slots[index];
  bool ours = is_ours(s) && s->charged;
  if (ours && s->block->cap >= need) return need;
  uint32_t shown = s->block != NULL ? s->block->cap : floor_part(c, index);
  uint32_t charged = s->charged ? s->block->cap : 0;
  uint32_t want = rounded(need > shown ? need : shown);
  if (ours && want < 2 * s->block->cap) want = 2 * s->block->cap < MEM_BLOCK ? 2 * s->block->cap : MEM_BLOCK;
  uint32_t cap = affordable(k, charged, want);
  if (cap < shown || cap < least) return -K_ENOSPC;
  mem_block *b = copy_of(c, index, cap);
  if (b == NULL) return -K_ENOMEM;
  drop(k, s);
  *s = (mem_slot){ b, true };
  charge(k, cap);
  return cap < need ? cap : need;
}

static k_ret reserve_slots(mem_contents *c, size_t count) {
  if (count <= c->count) return 0;
  size_t cap = 1;
  while (cap < count) cap *= 2;
  mem_slot *slots = mem_realloc_array(c->slots, cap, sizeof *slots);
  if (slots == NULL) return -K_ENOMEM;
  memset(slots + c->count, 0, (cap - c->count) * sizeof *slots);
  c->slots = slots;
  c->count = cap;
  return 0;
}

/* ---- the whole ---- */

size_t mem_contents_read(const mem_contents *c, void *buf, size_t len, uint64_t pos) {
  if (pos >= c->size) return 0;
  if (len > c->size - pos) len = (size_t)(c->size - pos);
  uint8_t *to = buf;
  for (size_t left = len; left > 0;) {
    size_t index = (size_t)(pos / MEM_BLOCK), at = (size_t)(pos % MEM_BLOCK),
           n = MEM_BLOCK - at < left ? MEM_BLOCK - at : left;
    const mem_block *b = index < c->count ? c->slots[index].block : NULL;
    size_t have = b != NULL ? b->cap : floor_part(c, index);
    const uint8_t *from = b != NULL ? b->data : have != 0 ? c->floor + (uint64_t)index * MEM_BLOCK : NULL;
    size_t real = have > at ? (have - at < n ? have - at : n) : 0;
    if (real != 0) memcpy(to, from + at, real);
    memset(to + real, 0, n - real);
    to += n;
    pos += n;
    left -= n;
  }
  return len;
}

k_ret mem_contents_write(mem_contents *c, k_kernel *k, const void *buf, size_t len, uint64_t pos) {
  if (len == 0) return 0;
  if (pos >= SIZE_LIMIT) return -K_EFBIG;
  if (len > SIZE_LIMIT - pos) len = (size_t)(SIZE_LIMIT - pos);
  const uint8_t *from = buf;
  size_t done = 0;
  while (done < len) {
    size_t index = (size_t)(pos / MEM_BLOCK);
    uint32_t at = (uint32_t)(pos % MEM_BLOCK), room = MEM_BLOCK - at;
    uint32_t n = len - done < room ? (uint32_t)(len - done) : room;
    k_ret r = reserve_slots(c, index + 1);
    if (r >= 0) r = own_block(c, k, index, at + n, at + 1);
    if (r < 0) return done != 0 ? (k_ret)done : r;
    uint32_t got = (uint32_t)r - at;
    memcpy(c->slots[index].block->data + at, from + done, got);
    done += got;
    pos += got;
    if (pos > c->size) c->size = pos;
    if (got < n) break;
  }
  return (k_ret)done;
}

/* What lies beyond the new end must read as zeros if the file grows again. */
static k_ret clear_tail(mem_contents *c, k_kernel *k, uint64_t size) {
  size_t index = (size_t)(size / MEM_BLOCK);
  uint32_t keep = (uint32_t)(size % MEM_BLOCK);
  if (keep == 0 || index >= c->count || c->slots[index].block == NULL || c->slots[index].block->cap <= keep)
    return 0;
  k_ret r = own_block(c, k, index, keep, keep);
  if (r < 0) return r;
  mem_block *b = c->slots[index].block;
  memset(b->data + keep, 0, b->cap - keep);
  return 0;
}

k_ret mem_contents_resize(mem_contents *c, k_kernel *k, uint64_t size) {
  if (size > SIZE_LIMIT) return -K_EFBIG;
  if (size < c->size) {
    K_TRY(clear_tail(c, k, size));
    for (size_t i = (size_t)((size + MEM_BLOCK - 1) / MEM_BLOCK); i < c->count; i++) drop(k, &c->slots[i]);
    if (c->floor_len > size) c->floor_len = size;
    if (size == 0) {
      mem_free(c->slots);
      c->slots = NULL;
      c->count = 0;
    }
  }
  c->size = size;
  return 0;
}

static bool is_hole(const mem_contents *c, size_t index) {
  return (index >= c->count || c->slots[index].block == NULL) && floor_part(c, index) == 0;
}

k_ret mem_contents_seek(const mem_contents *c, uint64_t pos, bool hole) {
  if (pos >= c->size) return -K_ENXIO;
  size_t index = (size_t)(pos / MEM_BLOCK), end = (size_t)((c->size + MEM_BLOCK - 1) / MEM_BLOCK);
  if (is_hole(c, index) == hole) return (k_ret)pos;
  while (index < end && is_hole(c, index) != hole) index++;
  if (index == end) return hole ? (k_ret)c->size : -K_ENXIO;
  return (k_ret)((uint64_t)index * MEM_BLOCK);
}

uint64_t mem_contents_held(const mem_contents *c) {
  uint64_t held = 0;
  size_t floor_blocks = (size_t)((c->floor_len + MEM_BLOCK - 1) / MEM_BLOCK);
  for (size_t i = 0; i < c->count || i < floor_blocks; i++)
    held += i < c->count && c->slots[i].block != NULL ? c->slots[i].block->cap : floor_part(c, i);
  return held;
}

k_ret mem_contents_share(mem_contents *to, const mem_contents *from) {
  mem_contents c = { .size = from->size, .floor = from->floor, .floor_len = from->floor_len };
  if (from->count != 0) {
    c.slots = mem_zalloc_array(from->count, sizeof *c.slots);
    if (c.slots == NULL) return -K_ENOMEM;
    c.count = from->count;
  }
  for (size_t i = 0; i < c.count; i++) {
    c.slots[i].block = from->slots[i].block;
    if (c.slots[i].block != NULL) atomic_fetch_add_explicit(&c.slots[i].block->refs, 1, memory_order_relaxed);
  }
  *to = c;
  return 0;
}

void mem_contents_free(mem_contents *c, k_kernel *k) {
  for (size_t i = 0; i < c->count; i++) drop(k, &c->slots[i]);
  mem_free(c->slots);
  *c = (mem_contents){ 0 };
}
