/* ring.h - the queue of bytes inside pipes and stream sockets.
 *
 * It takes no memory until something is written, grows by doubling up to its capacity, and its memory is
 * charged to the kernel's memory.
 *
 * Locks       all require kernel.mu.
 * Invariant   len <= size <= cap. */
#pragma once

#include "kernel/core/kernel.h"

typedef struct k_ring {
  uint8_t *data; /* NULL while nothing was ever written */
  size_t size;   /* bytes of data */
  size_t cap;    /* what size may become */
  size_t head;   /* bytes [head, head + len) modulo size are queued */
  size_t len;
} k_ring;

static inline void k_ring_init(k_ring *r, size_t cap) { *r = (k_ring){ .cap = cap }; }
void k_ring_free(k_ring *r, k_kernel *k) K_LOCKED;

static inline size_t k_ring_room(const k_ring *r) { return r->cap - r->len; }

/* Makes sure of memory for `len` bytes more, len <= room. -K_EAGAIN when there is none now but a reader will
 * make room; -K_ENOMEM when there would never be. */
k_ret k_ring_reserve(k_ring *r, k_kernel *k, size_t len) CHECKED K_LOCKED;

/* Puts what fits, growing if it can. */
k_ret k_ring_put(k_ring *r, k_kernel *k, const void *data, size_t len) CHECKED K_LOCKED;
size_t k_ring_peek(const k_ring *r, void *out, size_t len); /* copies without taking */
void k_ring_skip(k_ring *r, size_t len);

/* A new capacity, at least the queued length. -K_EBUSY, -K_ENOMEM. */
k_ret k_ring_resize(k_ring *r, k_kernel *k, size_t cap) CHECKED K_LOCKED;
