/* mem_test.c - guest memory, as src/abi/mem.h promises it. */
#include "abi/mem.h"

#include "../engine/wat.h"

enum { LEN = ENG_PAGE };

typedef struct guest {
  eng_engine *engine;
  eng_instance *i;
} guest;

static guest fresh(void) {
  guest g = { .engine = fresh_engine(NULL) };
  eng_module *module = load(g.engine, "(module (memory (export \"memory\") 1))", ENG_STOP_EPOCH, &no_imports);
  g.i = start(module, (eng_instance_options){ 0 });
  eng_module_unref(module);
  return g;
}

static void drop(guest *g) {
  eng_instance_free(g->i);
  eng_engine_free(g->engine);
}

static void poke(guest *g, uint32_t addr, uint32_t value) {
  memcpy(eng_memory(g->i) + addr, &value, sizeof value);
}

TEST(the_last_byte_is_there_and_the_next_is_not) {
  guest g = fresh();
  void *p = NULL;
  EXPECT_EQ(abi_ptr(g.i, LEN - 1, 1, &p), 0);
  EXPECT(p == eng_memory(g.i) + LEN - 1);
  EXPECT_EQ(abi_ptr(g.i, LEN - 1, 2, &p), -K_EFAULT);
  EXPECT_EQ(abi_ptr(g.i, LEN, 1, &p), -K_EFAULT);
  drop(&g);
}

TEST(sums_that_wrap_are_not_there) {
  guest g = fresh();
  void *p = NULL;
  EXPECT_EQ(abi_ptr(g.i, 2048, UINT32_MAX, &p), -K_EFAULT);
  EXPECT_EQ(abi_ptr(g.i, 2048, UINT64_MAX, &p), -K_EFAULT);
  EXPECT_EQ(abi_ptr(g.i, UINT32_MAX, UINT64_MAX - 10, &p), -K_EFAULT);
  EXPECT_EQ(abi_array(g.i, 2048, UINT32_MAX, UINT32_MAX, &p), -K_EFAULT);
  EXPECT_EQ(abi_array(g.i, 2048, 0x40000001, 4, &p), -K_EFAULT);
  drop(&g);
}

TEST(a_null_pointer_is_bad_and_zero_bytes_are_fine_anywhere) {
  guest g = fresh();
  void *p = NULL;
  EXPECT_EQ(abi_ptr(g.i, 0, 1, &p), -K_EFAULT);
  EXPECT_EQ(abi_ptr(g.i, ABI_NULL_LEN - 1, 1, &p), -K_EFAULT);
  EXPECT_EQ(abi_ptr(g.i, ABI_NULL_LEN, 1, &p), 0);
  EXPECT_EQ(abi_ptr(g.i, 0, 0, &p), 0);
  EXPECT_EQ(abi_ptr(g.i, UINT32_MAX, 0, &p), 0);
  drop(&g);
}

TEST(an_object_goes_out_and_comes_back_unaligned) {
  guest g = fresh();
  uint64_t in = 0x1122334455667788, back = 0;
  EXPECT_EQ(abi_put(g.i, 2049, &in), 0);
  EXPECT_EQ(abi_get(g.i, 2049, &back), 0);
  EXPECT(in == back);
  EXPECT_EQ(abi_put(g.i, LEN - 7, &in), -K_EFAULT);
  drop(&g);
}

TEST(a_string_must_end_in_memory_and_in_time) {
  guest g = fresh();
  const char *text = NULL;
  memset(eng_memory(g.i) + 2000, 'x', LEN - 2000);
  EXPECT_EQ(abi_string(g.i, 2000, &text), -K_ENAMETOOLONG);
  EXPECT_EQ(abi_string(g.i, LEN - 10, &text), -K_EFAULT);
  EXPECT_EQ(abi_string(g.i, LEN, &text), -K_EFAULT);
  eng_memory(g.i)[LEN - 1] = 0;
  EXPECT_EQ(abi_string(g.i, LEN - 10, &text), 0);
  EXPECT_EQ(strlen(text), 9);
  eng_memory(g.i)[2000 + K_PATH_MAX - 1] = 0;
  EXPECT_EQ(abi_string(g.i, 2000, &text), 0);
  drop(&g);
}

TEST(a_vector_of_strings_is_translated_and_paid_for) {
  guest g = fresh();
  const char **list = NULL;
  size_t budget = 100;
  memcpy(eng_memory(g.i) + 3000, "one\0two", 8);
  poke(&g, 2048, 3000), poke(&g, 2052, 3004), poke(&g, 2056, 0);
  EXPECT_EQ(abi_strings(g.i, 2048, &budget, &list), 0);
  EXPECT_TEXT(list[0], "one");
  EXPECT_TEXT(list[1], "two");
  EXPECT(list[2] == NULL);
  EXPECT_EQ(budget, 100 - 2 * 4 - 2 * 4);
  mem_free(list);
  budget = 15;
  EXPECT_EQ(abi_strings(g.i, 2048, &budget, &list), -K_E2BIG);
  budget = 100;
  EXPECT_EQ(abi_strings(g.i, 0, &budget, &list), 0);
  EXPECT(list[0] == NULL);
  mem_free(list);
  drop(&g);
}

TEST(a_vector_without_end_is_too_big_or_bad_never_more) {
  guest g = fresh();
  const char **list = NULL;
  size_t budget = ABI_STRINGS_MAX;
  for (uint32_t at = 2048; at < LEN; at += 4) poke(&g, at, 2048);
  EXPECT_EQ(abi_strings(g.i, 2048, &budget, &list), -K_EFAULT);
  budget = 1000;
  EXPECT_EQ(abi_strings(g.i, 2048, &budget, &list), -K_E2BIG);
  budget = ABI_STRINGS_MAX;
  EXPECT_EQ(abi_strings(g.i, UINT32_MAX - 3, &budget, &list), -K_EFAULT);
  drop(&g);
}

TEST(no_memory_for_a_vector_leaves_nothing_behind) {
  guest g = fresh();
  memcpy(eng_memory(g.i) + 3000, "one", 4);
  poke(&g, 2048, 3000), poke(&g, 2052, 0);
  AT_EVERY_FAULT {
    const char **list = NULL;
    size_t budget = 100;
    k_ret r = abi_strings(g.i, 2048, &budget, &list);
    EXPECT(r == 0 ? list != NULL : r == -K_ENOMEM && list == NULL && budget == 100);
    mem_free(list);
  }
  drop(&g);
}

TEST(buffers_are_checked_one_by_one_and_together) {
  guest g = fresh();
  k_iov few[ABI_IOV_FEW], *iov = NULL;
  poke(&g, 2048, 4096), poke(&g, 2052, 10), poke(&g, 2056, 5000), poke(&g, 2060, 20);
  EXPECT_EQ(abi_iov(g.i, 2048, 2, few, &iov), 0);
  EXPECT(iov == few && iov[0].data == eng_memory(g.i) + 4096 && iov[1].len == 20);
  EXPECT_EQ(abi_iov(g.i, 2048, -1, few, &iov), -K_EINVAL);
  EXPECT_EQ(abi_iov(g.i, 2048, ABI_IOV_MAX + 1, few, &iov), -K_EINVAL);
  EXPECT_EQ(abi_iov(g.i, LEN - 8, 2, few, &iov), -K_EFAULT);
  EXPECT_EQ(abi_iov(g.i, 0, 0, few, &iov), 0);
  poke(&g, 2060, LEN);
  EXPECT_EQ(abi_iov(g.i, 2048, 2, few, &iov), -K_EFAULT);
  poke(&g, 2052, INT32_MAX), poke(&g, 2060, 1);
  EXPECT_EQ(abi_iov(g.i, 2048, 2, few, &iov), -K_EFAULT);
  poke(&g, 2048, 0), poke(&g, 2052, 0), poke(&g, 2060, UINT32_MAX);
  EXPECT_EQ(abi_iov(g.i, 2048, 2, few, &iov), -K_EINVAL);
  drop(&g);
}

TEST(many_buffers_are_allocated_and_given_back) {
  guest g = fresh();
  for (uint32_t n = 0; n < 20; n++) poke(&g, 2048 + 8 * n, 4096), poke(&g, 2052 + 8 * n, n);
  AT_EVERY_FAULT {
    k_iov few[ABI_IOV_FEW], *iov = NULL;
    k_ret r = abi_iov(g.i, 2048, 20, few, &iov);
    EXPECT(r == 0 ? iov[19].len == 19 : r == -K_ENOMEM && iov == NULL);
    abi_iov_free(few, iov);
  }
  drop(&g);
}
