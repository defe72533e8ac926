/* talk_test.c - fields of requests and replies (src/guest/talk.h). */
#include "guest/talk.h"
#include "test.h"

#include <string.h>

static buf three_fields(void) {
  buf b = BUF_INIT(1 << 20);
  EXPECT_EQ(talk_put_text(&b, TALK_REPR, "42"), CAY_OK);
  EXPECT_EQ(talk_put_u32(&b, TALK_STATUS, TALK_EXIT), CAY_OK);
  EXPECT_EQ(talk_put(&b, TALK_JSON, "", 0), CAY_OK);
  return b;
}

TEST(metadata_is_read_back) {
  OWNED(buf_free) buf b = three_fields();
  talk_reply reply;
  EXPECT_EQ(b.len % 4, 0);
  EXPECT(talk_read((cay_slice){ b.data, b.len }, &reply));
  EXPECT_EQ(reply.fields[TALK_REPR].len, 2);
  EXPECT(memcmp(reply.fields[TALK_REPR].data, "42", 2) == 0);
  EXPECT_EQ(talk_u32(&reply, TALK_STATUS, 99), TALK_EXIT);
  EXPECT(reply.fields[TALK_JSON].data != NULL && reply.fields[TALK_JSON].len == 0);
  EXPECT(reply.fields[TALK_TRACEBACK].data == NULL);
  EXPECT_EQ(talk_u32(&reply, TALK_EXIT_CODE, 99), 99);
  EXPECT_EQ(talk_u32(&reply, TALK_REPR, 99), 99); /* not four bytes */
}

TEST(a_reply_that_is_cut_anywhere_inside_a_field_is_refused) {
  OWNED(buf_free) buf b = three_fields();
  talk_reply reply;
  for (size_t len = 0; len < b.len; len++) {
    bool whole = len == 0 || len == 12 || len == 24;
    EXPECT_EQ(talk_read((cay_slice){ b.data, len }, &reply), whole);
  }
}

TEST(lengths_that_wrap_round_are_refused) {
  const uint32_t lengths[] = { 0xffffffff, 0xfffffffd, 0x80000000, 5 };
  for (size_t i = 0; i < COUNT_OF(lengths); i++) {
    const uint32_t bytes[] = { TALK_REPR, lengths[i], 0 };
    talk_reply reply;
    EXPECT(!talk_read((cay_slice){ bytes, sizeof bytes }, &reply));
  }
}

TEST(the_first_of_a_tag_counts_and_unknown_tags_are_passed_over) {
  const uint32_t bytes[] = { 0xdead, 4, 1, TALK_STATUS, 4, 2, TALK_STATUS, 4, 3, TALK_TAG_END, 0 };
  talk_reply reply;
  EXPECT(talk_read((cay_slice){ bytes, sizeof bytes }, &reply));
  EXPECT_EQ(talk_u32(&reply, TALK_STATUS, 0), 2);
}

TEST(a_request_that_there_is_no_memory_for_is_left_as_it_was) {
  AT_EVERY_FAULT {
    OWNED(buf_free) buf b = BUF_INIT(1 << 20);
    cay_status status = talk_put_text(&b, TALK_CODE, "print(1)");
    EXPECT(status == CAY_OK || (status == CAY_NO_MEMORY && b.len == 0));
  }
}
