/* reach_sse_test.c - events come out the same however the stream is cut. */
#include "tool/capability/net/sse.h"

#include "test.h"

static char seen[400];

static bool on_event(void *ctx, const char *data, size_t len) {
  (void)ctx;
  size_t at = strlen(seen);
  (void)snprintf(seen + at, sizeof seen - at, "<%.*s>", (int)len, data);
  return len != 4 || memcmp(data, "stop", 4) != 0;
}

static bool feed(const char *text, size_t piece) {
  reach_sse sse = REACH_SSE_INIT(64, on_event, NULL);
  bool go_on = true;
  seen[0] = '\0';
  for (size_t at = 0, len = strlen(text); go_on && at < len; at += piece)
    go_on = reach_sse_feed(&sse, text + at, piece < len - at ? piece : len - at);
  reach_sse_free(&sse);
  return go_on;
}

TEST(events_do_not_depend_on_where_the_stream_is_cut) {
  static const char text[] =
      "\xef\xbb\xbf"
      "data: a\n\n: comment\nevent: x\ndata:b\r\ndata: c\r\n\r\ndata\rid: 3\r\rdatax: no\n\n\n"
      "data:  d\n\ndata: unfinished\n";
  for (size_t piece = 1; piece < sizeof text; piece++) {
    EXPECT(feed(text, piece));
    EXPECT_TEXT(seen, "<a><b\nc><>< d>");
  }
}

TEST(a_callback_that_has_enough_ends_it) {
  EXPECT(!feed("data: stop\n\ndata: more\n\n", 100));
  EXPECT_TEXT(seen, "<stop>");
}

TEST(a_line_and_an_event_have_a_greatest_length) {
  char text[200];
  memset(text, 'x', 100);
  memcpy(text, "data: ", 6);
  text[100] = '\0';
  EXPECT(!feed(text, 10));
  EXPECT(!feed(
      "data: 0123456789012345678901234567890123456789\ndata: 0123456789012345678901234567890123456789\n\n",
      7));
}
