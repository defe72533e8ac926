/* ring_test.c - the queue of bytes inside pipes and stream sockets. */
#include "kernel/file/ring.h"
#include "native_runner.h"

typedef struct place {
  native *world;
  k_kernel *kernel;
  k_ring ring;
} place;

static place place_new(size_t cap) {
  place at = { .world = native_new(NULL) };
  at.kernel = native_kernel(at.world);
  k_ring_init(&at.ring, cap);
  return at;
}

static void place_free(place *at) {
  k_ring_free(&at->ring, at->kernel);
  EXPECT_EQ(at->kernel->used.memory, 0);
  native_free(at->world);
}

TEST(a_ring_grows_by_doubling_and_keeps_its_order) {
  place at = place_new(16 * K_PAGE);
  static uint8_t in[3 * K_PAGE], out[sizeof in];
  for (size_t i = 0; i < sizeof in; i++) in[i] = (uint8_t)(i * 7);
  EXPECT_EQ(k_ring_put(&at.ring, at.kernel, in, 3000), 3000);
  EXPECT_EQ(at.ring.size, K_PAGE);
  k_ring_skip(&at.ring, 2000);
  EXPECT_EQ(k_ring_put(&at.ring, at.kernel, in + 3000, 3000), 3000); /* goes round the end */
  EXPECT_EQ(at.ring.size, K_PAGE);
  EXPECT_EQ(k_ring_put(&at.ring, at.kernel, in + 6000, 3000), 3000);
  EXPECT_EQ(at.ring.size, 2 * K_PAGE);
  EXPECT_EQ(k_ring_peek(&at.ring, out, sizeof out), 7000);
  EXPECT_EQ(memcmp(out, in + 2000, 7000), 0);
  place_free(&at);
}

TEST(a_ring_takes_no_more_than_its_capacity) {
  place at = place_new(3 * K_PAGE);
  static uint8_t block[4 * K_PAGE];
  EXPECT_EQ(k_ring_put(&at.ring, at.kernel, block, sizeof block), 3 * K_PAGE);
  EXPECT_EQ(k_ring_room(&at.ring), 0);
  EXPECT_EQ(k_ring_put(&at.ring, at.kernel, block, 1), 0);
  EXPECT_EQ(at.kernel->used.memory, 3 * K_PAGE);
  place_free(&at);
}

TEST(a_ring_that_is_empty_begins_anew) {
  place at = place_new(K_PAGE);
  EXPECT_EQ(k_ring_put(&at.ring, at.kernel, "abc", 3), 3);
  k_ring_skip(&at.ring, 3);
  EXPECT_EQ(at.ring.head, 0);
  place_free(&at);
}

TEST(a_ring_shrinks_with_its_capacity) {
  place at = place_new(4 * K_PAGE);
  static uint8_t block[4 * K_PAGE];
  EXPECT_EQ(k_ring_put(&at.ring, at.kernel, block, sizeof block), sizeof block);
  k_ring_skip(&at.ring, 3 * K_PAGE + 1);
  EXPECT_EQ(k_ring_resize(&at.ring, at.kernel, 100), -K_EBUSY);
  EXPECT_EQ(k_ring_resize(&at.ring, at.kernel, K_PAGE), 0);
  EXPECT_EQ(at.ring.size, K_PAGE);
  EXPECT_EQ(at.ring.len, K_PAGE - 1);
  EXPECT_EQ(at.kernel->used.memory, K_PAGE);
  place_free(&at);
}

TEST(a_ring_without_memory_asks_to_wait_while_something_is_in_it) {
  place at = place_new(4 * K_PAGE);
  EXPECT_EQ(k_ring_reserve(&at.ring, at.kernel, 10), 0);
  EXPECT_EQ(k_ring_put(&at.ring, at.kernel, "abc", 3), 3);
  mem_fail_at(1);
  EXPECT_EQ(k_ring_reserve(&at.ring, at.kernel, 2 * K_PAGE), -K_EAGAIN);
  mem_fail_at(0);
  EXPECT_EQ(at.kernel->used.memory, K_PAGE);
  place_free(&at);
}
