/* contents_test.c - the bytes of a file in memory against a plain array, and their quota. */
#include "kernel/fs/mem/contents.h"

#include "base/random.h"
#include "test.h"

#include <stdatomic.h>

static k_kernel *kernel_with(uint64_t disk) {
  k_kernel *k = mem_zalloc(sizeof *k);
  EXPECT(k != NULL);
  k->limits.disk = disk;
  k_mutex_init(&k->mu);
  list_init(&k->chores);
  k_lock(k);
  return k;
}

/* A kernel and the contents of one live file; ends with everything given back. */
#define WITH_FILE(disk)                                                                                      \
  k_kernel *k = kernel_with(disk);                                                                           \
  mem_contents c = { 0 };

static void end(k_kernel *k, mem_contents *c) {
  mem_contents_free(c, k);
  EXPECT_EQ(k->used.disk, 0);
  k_unlock(k);
  k_mutex_destroy(&k->mu);
  mem_free(k);
}

static uint8_t byte_at(const mem_contents *c, uint64_t pos) {
  uint8_t byte = 0xee;
  EXPECT_EQ(mem_contents_read(c, &byte, 1, pos), 1);
  return byte;
}

TEST(written_bytes_are_read_back) {
  WITH_FILE(1 << 20);
  char text[8];
  EXPECT_EQ(mem_contents_write(&c, k, "hello", 5, 0), 5);
  EXPECT_EQ(mem_contents_read(&c, text, 8, 0), 5);
  EXPECT_EQ(memcmp(text, "hello", 5), 0);
  EXPECT_EQ(mem_contents_read(&c, text, 8, 3), 2);
  EXPECT_EQ(mem_contents_read(&c, text, 8, 5), 0);
  EXPECT_EQ(mem_contents_read(&c, text, 8, UINT64_MAX), 0);
  end(k, &c);
}

TEST(a_small_file_costs_little) {
  WITH_FILE(1 << 20);
  EXPECT_EQ(mem_contents_write(&c, k, "x", 1, 0), 1);
  EXPECT_EQ(k->used.disk, 512);
  end(k, &c);
}

TEST(a_hole_costs_nothing_and_reads_as_zeros) {
  WITH_FILE(1 << 20);
  EXPECT_EQ(mem_contents_write(&c, k, "x", 1, UINT64_C(1) << 40), 1);
  EXPECT_EQ(c.size, (UINT64_C(1) << 40) + 1);
  EXPECT(k->used.disk < 8192);
  EXPECT_EQ(byte_at(&c, 12345), 0);
  EXPECT_EQ(byte_at(&c, UINT64_C(1) << 40), 'x');
  end(k, &c);
}

TEST(a_file_has_a_largest_size) {
  WITH_FILE(1 << 20);
  EXPECT_EQ(mem_contents_write(&c, k, "x", 1, MEM_BLOCKS_MAX * MEM_BLOCK), -K_EFBIG);
  EXPECT_EQ(mem_contents_write(&c, k, "xy", 2, MEM_BLOCKS_MAX * MEM_BLOCK - 1), 1);
  EXPECT_EQ(mem_contents_resize(&c, k, MEM_BLOCKS_MAX * MEM_BLOCK + 1), -K_EFBIG);
  EXPECT_EQ(mem_contents_resize(&c, k, MEM_BLOCKS_MAX * MEM_BLOCK), 0);
  end(k, &c);
}

TEST(the_quota_is_used_up_to_the_last_byte_and_no_further) {
  WITH_FILE(100000);
  static uint8_t bytes[200000];
  k_ret n = mem_contents_write(&c, k, bytes, sizeof bytes, 0);
  EXPECT(n > 98000 && n < 100000);
  EXPECT_EQ(k->used.disk, 100000);
  EXPECT_EQ(mem_contents_write(&c, k, bytes, 1, (uint64_t)n), -K_ENOSPC);
  EXPECT_EQ(c.size, n);
  EXPECT_EQ(mem_contents_write(&c, k, "y", 1, 5), 1);
  EXPECT_EQ(byte_at(&c, 5), 'y');
  end(k, &c);
}

TEST(a_write_that_is_refused_changes_nothing) {
  WITH_FILE(512);
  EXPECT_EQ(mem_contents_write(&c, k, "x", 1, 0), 1);
  EXPECT_EQ(mem_contents_write(&c, k, "y", 1, 1000), -K_ENOSPC);
  EXPECT_EQ(mem_contents_write(&c, k, "y", 1, 10 * MEM_BLOCK), -K_ENOSPC);
  EXPECT_EQ(c.size, 1);
  EXPECT_EQ(k->used.disk, 512);
  end(k, &c);
}

TEST(truncating_gives_back_what_it_cuts) {
  WITH_FILE(64 << 20);
  static uint8_t bytes[5 * MEM_BLOCK];
  memset(bytes, 'x', sizeof bytes);
  EXPECT_EQ(mem_contents_write(&c, k, bytes, sizeof bytes, 0), sizeof bytes);
  uint64_t full = k->used.disk;
  EXPECT_EQ(c.held, sizeof bytes);
  EXPECT_EQ(mem_contents_resize(&c, k, 2 * MEM_BLOCK + 1), 0);
  EXPECT_EQ(full - k->used.disk, 2 * MEM_BLOCK);
  EXPECT_EQ(c.held, 3 * MEM_BLOCK);
  EXPECT_EQ(mem_contents_resize(&c, k, 0), 0);
  EXPECT_EQ(k->used.disk, 0);
  EXPECT_EQ(c.held, 0);
  end(k, &c);
}

TEST(truncated_bytes_never_come_back) {
  WITH_FILE(1 << 20);
  EXPECT_EQ(mem_contents_write(&c, k, "secret", 6, 0), 6);
  EXPECT_EQ(mem_contents_resize(&c, k, 2), 0);
  EXPECT_EQ(mem_contents_resize(&c, k, 6), 0);
  char text[8];
  EXPECT_EQ(mem_contents_read(&c, text, 8, 0), 6);
  EXPECT_EQ(memcmp(text, "se\0\0\0\0", 6), 0);
  end(k, &c);
}

TEST(data_and_holes_can_be_told_apart) {
  WITH_FILE(1 << 20);
  EXPECT_EQ(mem_contents_write(&c, k, "x", 1, 3 * MEM_BLOCK + 5), 1);
  EXPECT_EQ(mem_contents_resize(&c, k, 6 * MEM_BLOCK), 0);
  EXPECT_EQ(mem_contents_seek(&c, 0, false), 3 * MEM_BLOCK);
  EXPECT_EQ(mem_contents_seek(&c, 0, true), 0);
  EXPECT_EQ(mem_contents_seek(&c, 3 * MEM_BLOCK + 9, false), 3 * MEM_BLOCK + 9);
  EXPECT_EQ(mem_contents_seek(&c, 3 * MEM_BLOCK + 9, true), 4 * MEM_BLOCK);
  EXPECT_EQ(mem_contents_seek(&c, 4 * MEM_BLOCK, false), -K_ENXIO);
  EXPECT_EQ(mem_contents_seek(&c, 6 * MEM_BLOCK, true), -K_ENXIO);
  EXPECT_EQ(mem_contents_write(&c, k, "x", 1, 5 * MEM_BLOCK), 1);
  EXPECT_EQ(mem_contents_seek(&c, 5 * MEM_BLOCK + 1, true), 6 * MEM_BLOCK);
  end(k, &c);
}

TEST(data_is_found_behind_the_largest_hole) {
  WITH_FILE(1 << 20);
  const uint64_t far = UINT64_C(1) << 45;
  EXPECT_EQ(mem_contents_write(&c, k, "x", 1, 0), 1);
  EXPECT_EQ(mem_contents_write(&c, k, "x", 1, far), 1);
  EXPECT_EQ(mem_contents_seek(&c, MEM_BLOCK, false), (k_ret)far);
  EXPECT_EQ(mem_contents_seek(&c, 5, true), MEM_BLOCK);
  end(k, &c);
}

/* ---- over other contents ---- */

TEST(contents_over_others_show_them_at_no_cost) {
  WITH_FILE(1 << 20);
  mem_contents base = mem_contents_of("inherited", 9);
  c = mem_contents_over(&base);
  char text[16];
  EXPECT_EQ(mem_contents_read(&c, text, 16, 0), 9);
  EXPECT_EQ(memcmp(text, "inherited", 9), 0);
  EXPECT_EQ(k->used.disk, 0);
  EXPECT_EQ(c.held, 9);
  EXPECT_EQ(mem_contents_write(&c, k, "IN", 2, 0), 2);
  EXPECT_EQ(mem_contents_read(&c, text, 16, 0), 9);
  EXPECT_EQ(memcmp(text, "INherited", 9), 0);
  EXPECT_EQ(memcmp(base.floor, "inherited", 9), 0);
  end(k, &c);
}

TEST(a_cut_hides_what_is_below_for_ever) {
  WITH_FILE(1 << 20);
  mem_contents base = mem_contents_of("inherited", 9);
  c = mem_contents_over(&base);
  EXPECT_EQ(mem_contents_resize(&c, k, 2), 0);
  EXPECT_EQ(mem_contents_resize(&c, k, 9), 0);
  EXPECT_EQ(byte_at(&c, 1), 'n');
  EXPECT_EQ(byte_at(&c, 2), 0);
  EXPECT_EQ(k->used.disk, 0);
  EXPECT_EQ(mem_contents_write(&c, k, "x", 1, 8), 1);
  EXPECT_EQ(byte_at(&c, 2), 0);
  EXPECT_EQ(byte_at(&c, 0), 'i');
  end(k, &c);
}

TEST(a_shared_block_is_copied_when_written) {
  WITH_FILE(1 << 20);
  mem_contents frozen;
  EXPECT_EQ(mem_contents_write(&c, k, "before", 6, 0), 6);
  EXPECT_EQ(mem_contents_freeze(&c, &frozen), 0);
  uint64_t used = k->used.disk;
  EXPECT_EQ(mem_contents_write(&c, k, "after ", 6, 0), 6);
  EXPECT_EQ(k->used.disk, used);
  EXPECT_EQ(byte_at(&frozen, 0), 'b');
  EXPECT_EQ(byte_at(&c, 0), 'a');
  mem_contents_free(&frozen, NULL);
  end(k, &c);
}

TEST(a_shared_block_is_copied_when_cut) {
  WITH_FILE(1 << 20);
  mem_contents frozen;
  EXPECT_EQ(mem_contents_write(&c, k, "before", 6, 0), 6);
  EXPECT_EQ(mem_contents_freeze(&c, &frozen), 0);
  EXPECT_EQ(mem_contents_resize(&c, k, 1), 0);
  EXPECT_EQ(mem_contents_resize(&c, k, 6), 0);
  EXPECT_EQ(byte_at(&frozen, 1), 'e');
  EXPECT_EQ(byte_at(&c, 1), 0);
  mem_contents_free(&frozen, NULL);
  end(k, &c);
}

/* ---- against a plain array ---- */

enum { MODEL = 6 * MEM_BLOCK };

typedef struct model {
  uint8_t bytes[MODEL];
  size_t size;
} model;

static void check_same(const mem_contents *c, const model *m) {
  static uint8_t back[MODEL];
  EXPECT_EQ(c->size, m->size);
  EXPECT_EQ(mem_contents_read(c, back, MODEL, 0), m->size);
  EXPECT_EQ(memcmp(back, m->bytes, m->size), 0);
}

static void random_write(rng *r, mem_contents *c, k_kernel *k, model *m) {
  static uint8_t bytes[2 * MEM_BLOCK];
  size_t len = rng_u64(r) % (rng_u64(r) % 2 ? sizeof bytes : 700), pos = rng_u64(r) % (MODEL - len);
  memset(bytes, (int)(1 + rng_u64(r) % 255), len);
  k_ret n = mem_contents_write(c, k, bytes, len, pos);
  if (len == 0 || n < 0) {
    EXPECT(n == 0 || n == -K_ENOSPC);
    return;
  }
  memcpy(m->bytes + pos, bytes, (size_t)n);
  if (pos + (size_t)n > m->size) m->size = pos + (size_t)n;
}

static void random_resize(rng *r, mem_contents *c, k_kernel *k, model *m) {
  size_t size = rng_u64(r) % 3 == 0 ? rng_u64(r) % 10 * (MODEL / 10) : rng_u64(r) % MODEL;
  EXPECT_EQ(mem_contents_resize(c, k, size), 0);
  if (size < m->size) memset(m->bytes + size, 0, m->size - size);
  m->size = size;
}

static void random_steps(rng *r, mem_contents *c, k_kernel *k, model *m, int steps) {
  for (int i = 0; i < steps; i++) {
    if (rng_u64(r) % 4 == 0)
      random_resize(r, c, k, m);
    else
      random_write(r, c, k, m);
    check_same(c, m);
    EXPECT_EQ(c->charged, k->used.disk);
    EXPECT(k->used.disk <= k->limits.disk);
  }
}

TEST(writes_and_cuts_at_random_agree_with_an_array) {
  rng r;
  static model m;
  for (uint64_t seed = 1; seed <= 20; seed++) {
    rng_seed_number(&r, test_seed(0) + seed);
    memset(&m, 0, sizeof m);
    WITH_FILE(seed % 2 ? 64 << 20 : 3 * MEM_BLOCK);
    random_steps(&r, &c, k, &m, 60);
    EXPECT_EQ(mem_contents_resize(&c, k, 0), 0);
    EXPECT_EQ(k->used.disk, 0);
    EXPECT_EQ(c.held, 0);
    end(k, &c);
  }
}

/* Generations: each is frozen at random moments, and the next goes on over it. */
TEST(frozen_generations_keep_their_bytes) {
  enum { GENERATIONS = 5 };
  rng r;
  static model now, then[GENERATIONS];
  for (uint64_t seed = 1; seed <= 8; seed++) {
    rng_seed_number(&r, 100 + seed);
    memset(&now, 0, sizeof now);
    mem_contents floor = mem_contents_of(now.bytes, 0), frozen[GENERATIONS];
    k_kernel *k = kernel_with(64 << 20);
    mem_contents c = mem_contents_over(&floor);
    for (int g = 0; g < GENERATIONS; g++) {
      random_steps(&r, &c, k, &now, 10);
      EXPECT_EQ(mem_contents_freeze(&c, &frozen[g]), 0);
      then[g] = now;
      if (g % 2) random_steps(&r, &c, k, &now, 5); /* the live one may go on first */
      mem_contents_free(&c, k);
      EXPECT_EQ(k->used.disk, 0);
      c = mem_contents_over(&frozen[g]);
      now = then[g];
      check_same(&c, &now);
      EXPECT_EQ(c.held, frozen[g].held);
    }
    random_steps(&r, &c, k, &now, 10);
    end(k, &c);
    for (int g = 0; g < GENERATIONS; g++) {
      check_same(&frozen[g], &then[g]);
      mem_contents_free(&frozen[g], NULL);
    }
  }
}

/* ---- failures ---- */

TEST(writing_without_memory_changes_nothing) {
  WITH_FILE(1 << 20);
  EXPECT_EQ(mem_contents_write(&c, k, "x", 1, 0), 1);
  uint64_t used = k->used.disk;
  AT_EVERY_FAULT {
    k_ret n = mem_contents_write(&c, k, "y", 1, UINT64_C(1) << 40);
    EXPECT(n == 1 || n == -K_ENOMEM);
    if (n == 1) continue;
    EXPECT_EQ(k->used.disk, used);
    EXPECT_EQ(c.size, 1);
    EXPECT_EQ(c.held, 512);
  }
  end(k, &c);
}

TEST(freezing_without_memory_changes_nothing) {
  WITH_FILE(64 << 20);
  static uint8_t bytes[3 * MEM_BLOCK];
  EXPECT_EQ(mem_contents_write(&c, k, bytes, sizeof bytes, 0), sizeof bytes);
  AT_EVERY_FAULT {
    mem_contents frozen;
    k_ret r = mem_contents_freeze(&c, &frozen);
    EXPECT(r == 0 || r == -K_ENOMEM);
    if (r == 0) mem_contents_free(&frozen, NULL);
  }
  end(k, &c);
}

/* ---- bytes that come later ---- */

typedef struct later_bytes {
  mem_later later;
  const uint8_t *bytes; /* NULL: they cannot be had */
  int asked;
} later_bytes;

static const uint8_t *later_fetch(mem_later *later) {
  later_bytes *l = CONTAINER_OF(later, later_bytes, later);
  l->asked++;
  atomic_store(&later->data, l->bytes);
  return l->bytes;
}

TEST(bytes_that_come_later_are_asked_for_once_when_they_are_read) {
  WITH_FILE(1 << 20);
  later_bytes l = { .later.fetch = later_fetch, .bytes = (const uint8_t *)"hello" };
  const mem_contents frozen = mem_contents_of_later(&l.later, 5);
  c = mem_contents_over(&frozen);
  EXPECT_EQ(c.size, 5);
  EXPECT_EQ(mem_contents_seek(&c, 1, false), 1);
  EXPECT_EQ(l.asked, 0);
  EXPECT_EQ(byte_at(&c, 4), 'o');
  EXPECT_EQ(mem_contents_ready(&c), 0);
  EXPECT_EQ(byte_at(&c, 0), 'h');
  EXPECT_EQ(l.asked, 1);
  end(k, &c);
}

TEST(bytes_that_cannot_be_had_are_an_error_and_else_zeros) {
  WITH_FILE(1 << 20);
  later_bytes l = { .later.fetch = later_fetch };
  const mem_contents frozen = mem_contents_of_later(&l.later, 5);
  c = mem_contents_over(&frozen);
  EXPECT_EQ(mem_contents_ready(&frozen), -K_EIO);
  EXPECT_EQ(mem_contents_ready(&c), -K_EIO);
  EXPECT_EQ(byte_at(&c, 0), 0);
  l.bytes = (const uint8_t *)"hello";
  EXPECT_EQ(mem_contents_ready(&c), 0);
  EXPECT_EQ(byte_at(&c, 0), 'h');
  end(k, &c);
}
