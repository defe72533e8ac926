/* h2_test.c - requests of HTTP/1.1 as frames, and frames as answers. */
#include "net/h2.h"

#include "net/exchange.h"

#include "test.h"

static const uint8_t settings[] = { 0, 0, 0, 4, 0, 0, 0, 0, 0 };

/* The head of stream 1: ":status: 200" is entry 8 of the static table. */
static const uint8_t head_200[] = { 0, 0, 1, 1, 4, 0, 0, 0, 1, 0x88 };
static const uint8_t data_ok[] = { 0, 0, 2, 0, 1, 0, 0, 0, 1, 'o', 'k' };

static net_h2 *asked(const char *request, buf *frames) {
  net_h2 *h = net_h2_new();
  OWNED(buf_free) buf in = BUF_INIT(BUF_UNLIMITED);
  EXPECT(h != NULL);
  EXPECT_EQ(buf_append_text(&in, request), CAY_OK);
  EXPECT(net_h2_put(h, &in));
  EXPECT_EQ(in.len, 0);
  EXPECT(net_h2_write(h, frames));
  return h;
}

static void reads(net_h2 *h, const uint8_t *data, size_t len, buf *answer) {
  for (size_t i = 0; i < len; i++) EXPECT(net_h2_read(h, data + i, 1, answer));
}

TEST(frames_become_an_answer_in_chunks) {
  OWNED(buf_free) buf frames = BUF_INIT(BUF_UNLIMITED), answer = BUF_INIT(BUF_UNLIMITED);
  net_h2 *h = asked("GET /a HTTP/1.1\r\nHost: a.test\r\nX-Key: value\r\n\r\n", &frames);
  EXPECT(memmem(frames.data, frames.len, "PRI * HTTP/2.0", 14) != NULL);
  reads(h, settings, sizeof settings, &answer);
  reads(h, head_200, sizeof head_200, &answer);
  reads(h, data_ok, sizeof data_ok, &answer);
  EXPECT_TEXT(buf_text(&answer),
              "HTTP/1.1 200 \r\ntransfer-encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\n\r\n");
  EXPECT(!net_h2_is_over(h));
  net_h2_free(h);
}

TEST(an_answer_to_head_has_no_framing) {
  OWNED(buf_free) buf frames = BUF_INIT(BUF_UNLIMITED), answer = BUF_INIT(BUF_UNLIMITED);
  net_h2 *h = asked("HEAD / HTTP/1.1\r\nHost: a.test\r\n\r\n", &frames);
  uint8_t last[sizeof head_200];
  memcpy(last, head_200, sizeof last);
  last[4] = 5;
  reads(h, settings, sizeof settings, &answer);
  reads(h, last, sizeof last, &answer);
  EXPECT_TEXT(buf_text(&answer), "HTTP/1.1 200 \r\n\r\n");
  net_h2_free(h);
}

TEST(a_reset_stream_ends_the_answer) {
  static const uint8_t reset[] = { 0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, 2 };
  OWNED(buf_free) buf frames = BUF_INIT(BUF_UNLIMITED), answer = BUF_INIT(BUF_UNLIMITED);
  net_h2 *h = asked("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n", &frames);
  reads(h, settings, sizeof settings, &answer);
  reads(h, head_200, sizeof head_200, &answer);
  reads(h, reset, sizeof reset, &answer);
  EXPECT(net_h2_is_over(h));
  net_h2_free(h);
}

TEST(what_is_no_http_2_fails) {
  OWNED(buf_free) buf frames = BUF_INIT(BUF_UNLIMITED), answer = BUF_INIT(BUF_UNLIMITED);
  net_h2 *h = asked("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n", &frames);
  static const char text[] = "HTTP/1.1 400 Bad Request\r\n\r\n";
  bool fine = net_h2_read(h, text, sizeof text - 1, &answer) && net_h2_write(h, &frames);
  EXPECT(!fine || net_h2_is_over(h));
  EXPECT_EQ(answer.len, 0);
  net_h2_free(h);
}
