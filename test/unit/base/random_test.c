/* random_test.c - the generator of src/base/random.h. */
#include "base/random.h"
#include "test.h"

TEST(equal_seeds_give_equal_bytes_however_they_are_asked_for) {
  rng a, b;
  rng_seed_number(&a, 42);
  rng_seed_number(&b, 42);
  uint8_t whole[1000], pieces[1000];
  rng_bytes(&a, whole, sizeof whole);
  for (size_t at = 0, n = 1; at < sizeof pieces; at += n, n = n % 97 + 1) {
    if (n > sizeof pieces - at) n = sizeof pieces - at;
    rng_bytes(&b, pieces + at, n);
  }
  EXPECT_EQ(memcmp(whole, pieces, sizeof whole), 0);
}

TEST(the_sequence_of_a_number_never_changes) {
  rng r;
  rng_seed_number(&r, 1);
  EXPECT_EQ(rng_u64(&r), (int64_t)UINT64_C(0x785235E7F4B07344));
  EXPECT_EQ(rng_u64(&r), (int64_t)UINT64_C(0xB1BD3EA1FFA3BA65));
}

TEST(other_seeds_give_other_bytes) {
  rng a, b;
  rng_seed_number(&a, 1);
  rng_seed_number(&b, 2);
  EXPECT(rng_u64(&a) != rng_u64(&b));
  EXPECT_EQ(rng_seed(&a, NULL), CAY_OK);
  EXPECT_EQ(rng_seed(&b, NULL), CAY_OK);
  EXPECT(rng_u64(&a) != rng_u64(&b));
}

TEST(a_host_without_randomness_is_an_error_and_not_a_constant) {
  AT_EVERY_FAULT {
    rng r;
    cay_error err;
    cay_status status = rng_seed(&r, &err);
    EXPECT(status == (mem_has_failed() ? CAY_IO : CAY_OK));
  }
}
