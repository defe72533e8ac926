#include "grpc/wire/frame.h"

#include "test.h"

static const char two[] = "\0\0\0\0\3abc\1\0\0\0\0";

/* The events of `two`, given in pieces of `step` bytes, as letters. */
static void feed(size_t step, char out[static 64]) {
  frame_reader f;
  frame_reader_init(&f, 100);
  size_t count = 0;
  for (size_t at = 0; at < sizeof two - 1; at += step) {
    size_t left = sizeof two - 1 - at;
    cay_slice data = { two + at, left < step ? left : step };
    while (data.len != 0) {
      if (frame_take(&f, &data) != FRAME_MESSAGE) continue;
      out[count++] = f.compressed ? 'C' : 'P';
      out[count++] = (char)('0' + f.message.len);
      frame_next(&f);
    }
  }
  out[count] = '\0';
  EXPECT(!frame_inside(&f));
  frame_reader_free(&f);
}

TEST(messages_come_out_whole_however_they_are_cut) {
  for (size_t step = 1; step < sizeof two; step++) {
    char events[64];
    feed(step, events);
    EXPECT_TEXT(events, "P3C0");
  }
}

TEST(a_claimed_length_beyond_the_limit_is_refused_before_its_bytes) {
  frame_reader f;
  frame_reader_init(&f, 100);
  cay_slice data = { "\0\0\0\0\x65", 5 };
  EXPECT_EQ(frame_take(&f, &data), FRAME_TOO_LONG);
  EXPECT_EQ(f.message.cap, 0);
  frame_reader_free(&f);
}

TEST(unknown_flags_are_refused) {
  frame_reader f;
  frame_reader_init(&f, 100);
  cay_slice data = { "\2\0\0\0\0", 5 };
  EXPECT_EQ(frame_take(&f, &data), FRAME_BAD_FLAG);
  frame_reader_free(&f);
}

TEST(half_a_head_is_inside_a_message) {
  frame_reader f;
  frame_reader_init(&f, 100);
  cay_slice data = { "\0\0", 2 };
  EXPECT_EQ(frame_take(&f, &data), FRAME_MORE);
  EXPECT(frame_inside(&f));
  frame_reader_free(&f);
}

TEST(a_head_has_a_flag_and_a_length) {
  uint8_t head[FRAME_HEAD];
  frame_head(head, true, 0x01020304);
  EXPECT_EQ(memcmp(head, "\1\1\2\3\4", 5), 0);
}
