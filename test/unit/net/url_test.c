/* url_test.c - URLs are read one way. */
#include "net/url.h"

#include "test.h"

static cay_status read_url(const char *text, char *out, size_t cap) {
  static net_url url;
  buf written = BUF_INIT(2 * NET_URL_MAX);
  cay_status status = net_url_parse(text, strlen(text), &url, NULL);
  if (status == CAY_OK) EXPECT_EQ(net_url_write(&url, &written), CAY_OK);
  (void)snprintf(out, cap, "%s", buf_text(&written));
  buf_free(&written);
  return status;
}

TEST(a_url_is_written_as_it_was_understood) {
  static const struct {
    const char *text, *want;
  } cases[] = {
    { "http://Example.com", "http://example.com/" },
    { "HTTPS://example.com:443/a?b#c", "https://example.com/a?b" },
    { "http://example.com:443?x=1", "http://example.com:443/?x=1" },
    { "http://[::1]:80/", "http://[::1]/" },
    { "http://[::ffff:7f00:1]:81/x", "http://[::ffff:127.0.0.1]:81/x" },
    { "https://example.com./x", "https://example.com/x" },
    { "http://example.com:/x", "http://example.com/x" },
  };
  char text[300];
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    EXPECT_EQ(read_url(cases[i].text, text, sizeof text), CAY_OK);
    EXPECT_TEXT(text, cases[i].want);
  }
}

TEST(ambiguous_urls_are_refused) {
  static const char *const bad[] = {
    "",
    "example.com",
    "ftp://example.com/",
    "file:///etc/passwd",
    "http:example.com",
    "http:///x",
    "http://",
    "http://user@example.com/",
    "http://a:b@127.0.0.1/",
    "http://example.com\\@127.0.0.1/",
    "http://exa mple.com/",
    "http://example.com/\n",
    "http://example.com/\r\nHost: x",
    "http://0x7f000001/",
    "http://2130706433/",
    "http://127.1/",
    "http://0177.0.0.1/",
    "http://[::1",
    "http://::1/",
    "http://[fe80::1%25lo]/",
    "http://example.com:0/",
    "http://example.com:70000/",
    "http://example.com:8o/",
    "http://ex\xc3\xa4mple.com/",
    "http://example.com/\xc3\xa4",
    "http://127.0.0.1%2f/",
    "gopher://x/",
    "http://a]b/",
    "http://[::1]x/",
  };
  char text[300];
  for (size_t i = 0; i < COUNT_OF(bad); i++) EXPECT_EQ(read_url(bad[i], text, sizeof text), CAY_INVALID);
}

TEST(references_are_followed_as_the_rfc_says) {
  static const struct {
    const char *base, *reference, *want;
  } cases[] = {
    { "http://a/b/c?d", "e", "http://a/b/e" },
    { "http://a/b/c?d", "/e", "http://a/e" },
    { "http://a/b/c?d", "?e", "http://a/b/c?e" },
    { "http://a/b/c?d", "#e", "http://a/b/c?d" },
    { "http://a/b/c?d", "", "http://a/b/c?d" },
    { "https://a:8/b", "//c/d", "https://c/d" },
    { "https://a:8/b", "http://c", "http://c/" },
    { "http://a", "e?f", "http://a/e?f" },
    { "http://a/", "/x y\xc3\xa4", "http://a/x%20y%C3%A4" },
  };
  static net_url base, out;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    buf text = BUF_INIT(NET_URL_MAX);
    EXPECT_EQ(net_url_parse(cases[i].base, strlen(cases[i].base), &base, NULL), CAY_OK);
    EXPECT_EQ(net_url_follow(&base, cases[i].reference, &out, NULL), CAY_OK);
    EXPECT_EQ(net_url_write(&out, &text), CAY_OK);
    EXPECT_TEXT(buf_text(&text), cases[i].want);
    buf_free(&text);
  }
  static const char *const bad[] = { "ftp://x", "javascript:x", "http://u@x/", "\\\\x\\y", "//" };
  for (size_t i = 0; i < COUNT_OF(bad); i++)
    EXPECT_EQ(net_url_follow(&base, bad[i], &out, NULL), CAY_INVALID);
}

TEST(a_query_is_escaped_and_has_to_fit) {
  static net_url url;
  buf text = BUF_INIT(2 * NET_URL_MAX);
  EXPECT_EQ(net_url_parse("http://a/b", 10, &url, NULL), CAY_OK);
  EXPECT(net_url_add_query(&url, "q", "a b&c=\xc3\xa4\r\n"));
  EXPECT(net_url_add_query(&url, "n", ""));
  EXPECT_EQ(net_url_write(&url, &text), CAY_OK);
  EXPECT_TEXT(buf_text(&text), "http://a/b?q=a%20b%26c%3D%C3%A4%0D%0A&n=");
  buf_free(&text);
  static char long_value[NET_URL_MAX];
  memset(long_value, 'x', sizeof long_value - 1);
  EXPECT(!net_url_add_query(&url, "q", long_value));
}
