/* ring.c - a ring of bytes that doubles as it fills, charged to the kernel's memory (ring.h). */
#include "kernel/file/ring.h"

#include "base/alloc.h"

#include <string.h>

void k_ring_free(k_ring *r, k_kernel *k) {
  mem_free(r->data);
  k_memory_uncharge(k, r->size);
  k_ring_init(r, r->cap);
}

size_t k_ring_peek(const k_ring *r, void *out, size_t len) {
  size_t n = len < r->len ? len : r->len;
  if (n == 0) return 0;
  size_t first = n < r->size - r->head ? n : r->size - r->head;
  memcpy(out, r->data + r->head, first);
  memcpy((uint8_t *)out + first, r->data, n - first);
  return n;
}

void k_ring_skip(k_ring *r, size_t len) {
  assert(len <= r->len);
  r->len -= len;
  /* An empty queue starts over, so that a pipe that keeps up stays in the same few cache lines. */
  r->head = r->len == 0 ? 0 : (r->head + len) % r->size;
}

K_LOCKED static k_ret ring_move_to(k_ring *r, k_kernel *k, size_t size) {
  if (size > r->size) K_TRY(k_memory_charge(k, size - r->size));
  uint8_t *data = mem_alloc(size);
  if (data == NULL) {
    if (size > r->size) k_memory_uncharge(k, size - r->size);
    return -K_ENOMEM;
  }
  (void)k_ring_peek(r, data, r->len);
  mem_free(r->data);
  if (size < r->size) k_memory_uncharge(k, r->size - size);
  r->data = data;
  r->size = size;
  r->head = 0;
  return 0;
}

k_ret k_ring_reserve(k_ring *r, k_kernel *k, size_t len) {
  size_t want = r->len + len;
  if (want <= r->size) return 0;
  size_t size = r->size == 0 ? K_PAGE : r->size;
  while (size < want) size *= 2;
  if (ring_move_to(r, k, size < r->cap ? size : r->cap) >= 0) return 0;
  return r->len > 0 ? -K_EAGAIN : -K_ENOMEM;
}

k_ret k_ring_put(k_ring *r, k_kernel *k, const void *data, size_t len) {
  size_t fits = len < k_ring_room(r) ? len : k_ring_room(r);
  (void)!k_ring_reserve(r, k, fits); /* what there is has to do */
  size_t room = r->size - r->len, n = len < room ? len : room;
  if (n == 0) return 0;
  size_t tail = (r->head + r->len) % r->size;
  size_t first = n < r->size - tail ? n : r->size - tail;
  memcpy(r->data + tail, data, first);
  memcpy(r->data, (const uint8_t *)data + first, n - first);
  r->len += n;
  return (k_ret)n;
}

k_ret k_ring_resize(k_ring *r, k_kernel *k, size_t cap) {
  if (cap < r->len) return -K_EBUSY;
  if (cap < r->size) K_TRY(ring_move_to(r, k, cap));
  r->cap = cap;
  return 0;
}
