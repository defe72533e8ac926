/* buf_test.c - growing bytes, as src/base/buf.h promises them. */
#include "base/buf.h"
#include "test.h"

TEST(contents_are_always_followed_by_a_nul) {
  OWNED(buf_free) buf b = BUF_INIT(BUF_UNLIMITED);
  EXPECT_TEXT(buf_text(&b), "");
  for (int i = 0; i < 200; i++) EXPECT_EQ(buf_appendf(&b, "%d,", i % 10), CAY_OK);
  EXPECT_EQ(b.len, 400);
  EXPECT_EQ(strlen(buf_text(&b)), 400);
  EXPECT_EQ(buf_append_byte(&b, 'x'), CAY_OK);
  EXPECT_TEXT(buf_text(&b) + 398, "9,x");
}

TEST(a_full_buffer_takes_all_or_nothing) {
  OWNED(buf_free) buf b = BUF_INIT(4);
  EXPECT_EQ(buf_append_text(&b, "abc"), CAY_OK);
  EXPECT_EQ(buf_append_text(&b, "de"), CAY_LIMIT);
  EXPECT_EQ(buf_appendf(&b, "%d", 45), CAY_LIMIT);
  EXPECT_EQ(buf_append_text(&b, "d"), CAY_OK);
  EXPECT_EQ(buf_append(&b, NULL, 0), CAY_OK);
  EXPECT_TEXT(buf_text(&b), "abcd");
}

TEST(taking_leaves_it_empty_and_usable) {
  buf b = BUF_INIT(100);
  EXPECT_EQ(buf_append_text(&b, "abc"), CAY_OK);
  cay_buf taken = buf_take(&b);
  EXPECT_EQ(taken.len, 3);
  EXPECT_TEXT(taken.data, "abc");
  cay_buf_free(&taken);
  EXPECT_EQ(b.len, 0);
  EXPECT_EQ(buf_append_text(&b, "d"), CAY_OK);
  buf_free(&b);
}

TEST(room_can_be_filled_from_outside) {
  OWNED(buf_free) buf b = BUF_INIT(10);
  char *room = buf_room(&b, 10);
  EXPECT(room != NULL);
  memcpy(room, "0123456789", 10);
  buf_grew(&b, 10);
  EXPECT_TEXT(buf_text(&b), "0123456789");
  EXPECT(buf_room(&b, 1) == NULL);
}

TEST(without_memory_a_buffer_keeps_what_it_has) {
  AT_EVERY_FAULT {
    buf b = BUF_INIT(BUF_UNLIMITED);
    cay_status status = buf_append_text(&b, "abc");
    if (status == CAY_OK) status = buf_appendf(&b, "%0200d", 7);
    EXPECT(status == CAY_OK ? b.len == 203 : status == CAY_NO_MEMORY && (b.len == 0 || b.len == 3));
    buf_free(&b);
  }
}
