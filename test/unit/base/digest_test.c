/* digest_test.c - SHA-256 against the examples of FIPS 180-4. */
#include "base/digest.h"
#include "test.h"

TEST(the_standard_example_gives_the_standard_digest) {
  char hex[DIGEST_HEX];
  digest d = digest_of("abc", 3);
  digest_hex(&d, hex);
  EXPECT_TEXT(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  d = digest_of(NULL, 0);
  digest_hex(&d, hex);
  EXPECT_TEXT(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(pieces_give_the_digest_of_the_whole) {
  digest_state state;
  digest_begin(&state);
  digest_add(&state, "a", 1);
  digest_add(&state, "bc", 2);
  digest pieces = digest_end(&state), whole = digest_of("abc", 3);
  EXPECT(digest_equal(&pieces, &whole));
}

TEST(only_64_hexadecimal_digits_are_a_digest) {
  digest d = digest_of("abc", 3), back;
  char hex[DIGEST_HEX];
  digest_hex(&d, hex);
  EXPECT(digest_parse(hex, &back) && digest_equal(&d, &back));
  hex[5] = 'g';
  EXPECT(!digest_parse(hex, &back));
  EXPECT(!digest_parse("abc", &back));
}
