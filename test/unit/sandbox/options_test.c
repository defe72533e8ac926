/* options_test.c - option structs of callers that were compiled with another version of cay.h. */
#include "sandbox/sandbox.h"
#include "test.h"

TEST(no_options_are_all_defaults) {
  cay_limits l = { .memory = 7 };
  EXPECT(sb_options_copy(&l, sizeof l, NULL));
  EXPECT_EQ(l.memory, 0);
}

TEST(an_older_caller_leaves_the_newer_fields_at_zero) {
  cay_limits old = { .size = offsetof(cay_limits, disk), .memory = 5, .disk = 9 }, now;
  EXPECT(sb_options_copy(&now, sizeof now, &old));
  EXPECT_EQ(now.memory, 5);
  EXPECT_EQ(now.disk, 0);
}

TEST(a_newer_caller_is_understood_while_its_new_fields_are_zero) {
  struct {
    cay_limits known;
    uint64_t more;
  } newer = { .known = CAY_INIT(cay_limits, .memory = 5) };
  newer.known.size = sizeof newer;
  cay_limits now;
  EXPECT(sb_options_copy(&now, sizeof now, &newer));
  EXPECT_EQ(now.memory, 5);
  newer.more = 1;
  EXPECT(!sb_options_copy(&now, sizeof now, &newer));
}

TEST(a_struct_without_its_size_is_refused) {
  cay_limits none = { .size = 0 }, now;
  EXPECT(!sb_options_copy(&now, sizeof now, &none));
}
