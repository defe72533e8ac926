#include "grpc/wire/pb.h"

#include "test.h"

static pb_reader read_text(const char *bytes, size_t len) { return pb_read((cay_slice){ bytes, len }); }

static bool is_bad(const char *bytes, size_t len) {
  pb_reader r = read_text(bytes, len);
  pb_field f;
  while (pb_next(&r, &f)) continue;
  return r.bad;
}
#define BAD(text) is_bad(text, sizeof(text) - 1)

TEST(what_is_written_is_read_again) {
  pb_writer w = PB_WRITER(1000);
  pb_put_int(&w, 1, 300);
  pb_put_int(&w, 2, -1);
  pb_put_bytes(&w, 3, (cay_slice){ "a\0b", 3 });
  EXPECT_EQ(w.failed, CAY_OK);
  pb_reader r = pb_read((cay_slice){ w.out.data, w.out.len });
  pb_field f;
  EXPECT(pb_next(&r, &f) && f.number == 1 && f.value == 300);
  EXPECT(pb_next(&r, &f) && f.number == 2 && (int64_t)f.value == -1);
  EXPECT(pb_next(&r, &f) && f.number == 3 && f.bytes.len == 3 && memcmp(f.bytes.data, "a\0b", 3) == 0);
  EXPECT(!pb_next(&r, &f) && !r.bad);
  buf_free(&w.out);
}

TEST(defaults_of_proto3_are_left_out) {
  pb_writer w = PB_WRITER(1000);
  pb_put_int(&w, 1, 0);
  pb_put_text(&w, 2, "");
  EXPECT_EQ(w.out.len, 0);
  pb_put_int_always(&w, 1, 0);
  pb_put_bytes_always(&w, 2, (cay_slice){ "", 0 });
  EXPECT_EQ(w.out.len, 4);
  buf_free(&w.out);
}

TEST(a_long_message_within_gets_a_long_length) {
  pb_writer w = PB_WRITER(BUF_UNLIMITED);
  char text[300];
  memset(text, 'x', sizeof text);
  size_t outer = pb_begin(&w, 1), inner = pb_begin(&w, 2);
  pb_put_bytes(&w, 3, (cay_slice){ text, sizeof text });
  pb_end(&w, inner);
  pb_end(&w, outer);
  cay_slice at = { w.out.data, w.out.len };
  for (uint32_t number = 1; number <= 3; number++) {
    pb_reader r = pb_read(at);
    pb_field f;
    EXPECT(pb_next(&r, &f) && f.number == number && r.at == r.end);
    at = f.bytes;
  }
  EXPECT_EQ(at.len, sizeof text);
  buf_free(&w.out);
}

TEST(damaged_messages_are_bad) {
  EXPECT(BAD("\x08"));                                             /* no value */
  EXPECT(BAD("\x0a\x05xx"));                                       /* cut */
  EXPECT(BAD("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01x"));    /* a length of 2^64 - 1 */
  EXPECT(BAD("\x0b\x0c"));                                         /* a group */
  EXPECT(BAD("\x00\x01"));                                         /* field 0 */
  EXPECT(BAD("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")); /* eleven bytes of a number */
  EXPECT(BAD("\x0d\x01\x02\x03") && BAD("\x09\x01"));
  EXPECT(!BAD("") && !BAD("\x0d\x01\x02\x03\x04"));
}

TEST(a_writer_keeps_its_first_failure) {
  pb_writer w = PB_WRITER(4);
  pb_put_text(&w, 1, "abc");
  EXPECT_EQ(w.failed, CAY_LIMIT);
  size_t len = w.out.len;
  pb_put_int(&w, 2, 1);
  pb_end(&w, pb_begin(&w, 3));
  EXPECT_EQ(w.out.len, len);
  buf_free(&w.out);
}
