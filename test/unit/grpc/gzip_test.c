#include "grpc/wire/gzip.h"

#include "test.h"

static buf packed_of(const char *data, size_t len) {
  buf out = BUF_INIT(BUF_UNLIMITED);
  EXPECT_EQ(gzip_pack((cay_slice){ data, len }, &out), CAY_OK);
  return out;
}

static cay_status unpack(const buf *packed, size_t len, size_t max, buf *out) {
  *out = BUF_INIT(max);
  return gzip_unpack((cay_slice){ packed->data, len }, out);
}

TEST(what_is_packed_is_unpacked) {
  static char zeros[200000];
  buf packed = packed_of(zeros, sizeof zeros), plain;
  EXPECT(packed.len < 2000);
  EXPECT_EQ(unpack(&packed, packed.len, sizeof zeros, &plain), CAY_OK);
  EXPECT_EQ(plain.len, sizeof zeros);
  EXPECT_EQ(memcmp(plain.data, zeros, sizeof zeros), 0);
  buf_free(&plain);
  EXPECT_EQ(unpack(&packed, packed.len, sizeof zeros - 1, &plain), CAY_LIMIT);
  buf_free(&plain);
  buf_free(&packed);
}

TEST(nothing_packed_is_nothing) {
  buf packed = packed_of("", 0), plain;
  EXPECT_EQ(unpack(&packed, packed.len, 0, &plain), CAY_OK);
  EXPECT_EQ(plain.len, 0);
  buf_free(&plain);
  buf_free(&packed);
}

TEST(every_cut_is_corrupt_and_so_is_what_follows) {
  buf packed = packed_of("hello hello hello", 17), plain;
  for (size_t len = 0; len < packed.len; len++) {
    EXPECT_EQ(unpack(&packed, len, 1000, &plain), CAY_CORRUPT);
    buf_free(&plain);
  }
  EXPECT_EQ(buf_append_byte(&packed, 0), CAY_OK);
  EXPECT_EQ(unpack(&packed, packed.len, 1000, &plain), CAY_CORRUPT);
  buf_free(&plain);
  buf_free(&packed);
}

TEST(lack_of_memory_is_told) {
  AT_EVERY_FAULT {
    buf packed = BUF_INIT(1000), plain = BUF_INIT(1000);
    cay_status status = gzip_pack((cay_slice){ "abc", 3 }, &packed);
    if (status == CAY_OK) status = gzip_unpack((cay_slice){ packed.data, packed.len }, &plain);
    EXPECT(status == CAY_OK || status == CAY_NO_MEMORY);
    buf_free(&packed);
    buf_free(&plain);
  }
}
