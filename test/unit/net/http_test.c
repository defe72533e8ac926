/* http_test.c - refusals before anything is sent. Requests to servers: test/reach. */
#include "net/http.h"

#include "base/clock.h"
#include "test.h"

TEST(no_header_can_carry_another_or_frame_the_message) {
  EXPECT(net_http_header_fits("X-A", "b c\t\xc3\xa4"));
  EXPECT(net_http_header_fits("Accept", ""));
  static const char *const values[] = { "a\r\nB: c", "a\nb", "a\rb", "\x01", "\x7f" };
  for (size_t i = 0; i < COUNT_OF(values); i++) EXPECT(!net_http_header_fits("X-A", values[i]));
  static const char *const names[] = { "",
                                       "a b",
                                       "a:",
                                       "a\r\n",
                                       "Host",
                                       "hOsT",
                                       "content-length",
                                       "Transfer-Encoding",
                                       "Connection",
                                       "Upgrade",
                                       "TE",
                                       "Trailer",
                                       "Expect",
                                       "Proxy-Authorization" };
  for (size_t i = 0; i < COUNT_OF(names); i++) EXPECT(!net_http_header_fits(names[i], "x"));
}

TEST(nothing_is_sent_where_no_rule_allows_it) {
  static net_url url;
  EXPECT_EQ(net_url_parse("http://127.0.0.1:1/", 19, &url, NULL), CAY_OK);
  net_http_request request = { .method = "GET",
                               .url = &url,
                               .deadline_ns = clock_mono_ns() + 20 * NS_PER_SEC };
  net_http_response response = { 0 };
  cay_error err = { 0 };
  EXPECT_EQ(net_http(&request, &response, &err), CAY_DENIED);
  EXPECT_TEXT(err.message, "the egress policy has no rule that allows 127.0.0.1:1");
  request.method = "GET /\r\n";
  EXPECT_EQ(net_http(&request, &response, &err), CAY_INVALID);
  request.method = "GET";
  request.any_address = true;
  EXPECT_EQ(net_http(&request, &response, &err), CAY_IO);
  request.deadline_ns = 0;
  EXPECT_EQ(net_http(&request, &response, &err), CAY_TIMEOUT);
}
