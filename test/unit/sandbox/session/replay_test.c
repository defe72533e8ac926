/* replay_test.c - requests that are kept to be made again (src/sandbox/session/replay.h). */
#include "sandbox/session/replay.h"
#include "test.h"

#include <string.h>

static cay_slice text(const char *s) { return (cay_slice){ s, strlen(s) }; }

TEST(requests_come_out_as_they_went_in) {
  sb_replay r = SB_REPLAY_INIT;
  EXPECT(sb_replay_add(&r, TALK_EXECUTE, text("one"), 5));
  EXPECT(sb_replay_add(&r, TALK_NAMES, (cay_slice){ 0 }, 5));
  EXPECT(sb_replay_add(&r, TALK_EXECUTE, text("three"), 5));
  static const struct {
    enum talk_op op;
    const char *fields;
  } expected[] = { { TALK_EXECUTE, "one" }, { TALK_NAMES, "" }, { TALK_EXECUTE, "three" } };
  size_t at = 0, i = 0;
  enum talk_op op;
  for (cay_slice fields; sb_replay_next(&r, &at, &op, &fields); i++) {
    EXPECT(i < COUNT_OF(expected));
    EXPECT_EQ(op, expected[i].op);
    EXPECT_EQ(fields.len, strlen(expected[i].fields));
    EXPECT(memcmp(fields.data, expected[i].fields, fields.len) == 0);
  }
  EXPECT_EQ(i, COUNT_OF(expected));
  sb_replay_clear(&r);
  at = 0;
  cay_slice none;
  EXPECT(!sb_replay_next(&r, &at, &op, &none));
  sb_replay_free(&r);
}

TEST(it_holds_only_so_much) {
  static uint8_t big[SB_REPLAY_LEN_MAX / 2 + 1];
  sb_replay r = SB_REPLAY_INIT;
  EXPECT(!sb_replay_add(&r, TALK_EXECUTE, text("x"), SB_REPLAY_NS_MAX + 1));
  EXPECT(sb_replay_add(&r, TALK_EXECUTE, (cay_slice){ big, sizeof big }, SB_REPLAY_NS_MAX));
  EXPECT(!sb_replay_add(&r, TALK_EXECUTE, text("x"), 1));
  EXPECT(!sb_replay_add(&r, TALK_EXECUTE, (cay_slice){ big, sizeof big }, 0));
  EXPECT(sb_replay_add(&r, TALK_EXECUTE, text("x"), 0));
  sb_replay_clear(&r);
  EXPECT(sb_replay_add(&r, TALK_EXECUTE, text("x"), SB_REPLAY_NS_MAX));
  sb_replay_free(&r);
}
