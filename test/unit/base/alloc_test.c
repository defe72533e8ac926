/* alloc_test.c - memory, as src/base/alloc.h promises it. */
#include "base/alloc.h"
#include "test.h"

TEST(the_chosen_allocation_fails_once) {
  mem_fail_at(2);
  void *a = mem_alloc(1), *b = mem_zalloc(1), *c = mem_alloc(1);
  EXPECT(a != NULL && b == NULL && c != NULL);
  EXPECT(mem_has_failed());
  mem_free(a);
  mem_free(c);
}

TEST(a_product_that_overflows_is_out_of_memory) {
  EXPECT(mem_zalloc_array(SIZE_MAX / 2, 3) == NULL);
  EXPECT(mem_realloc_array(NULL, SIZE_MAX / 2, 3) == NULL);
}

TEST(nothing_has_an_address_of_its_own) {
  void *a = mem_alloc(0), *b = mem_alloc(0);
  EXPECT(a != NULL && b != NULL && a != b);
  mem_free(a);
  mem_free(b);
}

TEST(a_part_of_a_text_is_ended) {
  char *part = mem_strndup("abcdef", 3);
  EXPECT_TEXT(part, "abc");
  mem_free(part);
}

TEST(every_fault_is_reached_and_then_none) {
  int rounds = 0;
  AT_EVERY_FAULT {
    void *a = mem_alloc(1), *b = mem_alloc(1);
    EXPECT(mem_has_failed() == (a == NULL || b == NULL));
    mem_free(a);
    mem_free(b);
    rounds++;
  }
  EXPECT_EQ(rounds, 3);
}
