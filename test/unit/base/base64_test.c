/* base64_test.c - base64 and back, as src/base/base64.h promises. */
#include "base/base64.h"

#include "base/alloc.h"
#include "test.h"

TEST(base64_goes_there_and_back) {
  static const uint8_t bytes[] = { 0, 1, 2, 250, 251, 252, 253, 254, 255 };
  for (size_t len = 0; len <= sizeof bytes; len++) {
    buf out = BUF_INIT(BUF_UNLIMITED);
    cay_buf back = { 0 };
    EXPECT(base64_append(&out, bytes, len) == CAY_OK);
    EXPECT_EQ(base64_decode_new(buf_text(&out), out.len, &back), CAY_OK);
    EXPECT_EQ(back.len, len);
    EXPECT_EQ(memcmp(back.data, bytes, len), 0);
    buf_free(&out);
    mem_free(back.data);
  }
}

TEST(malformed_base64_is_invalid) {
  static const char *const wrong[] = { "a", "ab", "abc", "a$==", "====", "ab=c", "abcd=" };
  for (size_t i = 0; i < COUNT_OF(wrong); i++) {
    cay_buf back = { 0 };
    EXPECT_EQ(base64_decode_new(wrong[i], strlen(wrong[i]), &back), CAY_INVALID);
    EXPECT(back.data == NULL);
  }
}

TEST(decoded_bytes_follow_what_is_there_and_failure_changes_nothing) {
  OWNED(buf_free) buf out = BUF_INIT(8);
  EXPECT_EQ(buf_append_text(&out, "ab"), CAY_OK);
  EXPECT_EQ(base64_decode("Y2Q=", 4, &out), CAY_OK);
  EXPECT_TEXT(buf_text(&out), "abcd");
  EXPECT_EQ(base64_decode("Y$==", 4, &out), CAY_INVALID);
  EXPECT_EQ(base64_decode("MDEyMzQ1Njc4", 12, &out), CAY_NO_MEMORY);
  EXPECT_EQ(out.len, 4);
}
