/* exchange_test.c - requests and answers between a guest and a server of secrets. */
#include "net/exchange.h"

#include "test.h"

static net_hello hello;
static int told_put, told_left;
static bool allowed = true;

static bool on_check(void *ctx, const net_hello *head, const char **why) {
  (void)ctx, (void)head;
  *why = "no rule allows it";
  return allowed;
}

static void on_tell(void *ctx, const char *secret, bool put) {
  (void)ctx, (void)secret;
  *(put ? &told_put : &told_left) += 1;
}

static const net_exchange_ops ops = { on_check, on_tell };

static net_secrets *secrets_for(unsigned places) {
  static const char *const hosts[] = { "api.test", NULL };
  net_secrets *s = NULL;
  net_secret_spec spec = {
    .name = "KEY", .value = "s3cr3t-value", .placeholder = "PLACEHOLDER", .hosts = hosts, .places = places
  };
  EXPECT_EQ(net_secrets_new(&spec, 1, &s, NULL), CAY_OK);
  return s;
}

static void begin(net_exchange *x, const net_secrets *s) {
  net_exchange_init(x, s, "api.test", 443);
  x->ops = &ops;
  x->scratch = &hello;
  told_put = told_left = 0;
  allowed = true;
}

static void ask(net_exchange *x, const char *text, size_t piece) {
  for (size_t i = 0, len = strlen(text); i < len; i += piece) {
    EXPECT_EQ(buf_append(&x->request_in, text + i, len - i < piece ? len - i : piece), CAY_OK);
    EXPECT(net_exchange_request(x));
  }
}

static void reply(net_exchange *x, const char *text, size_t piece) {
  for (size_t i = 0, len = strlen(text); i < len; i += piece) {
    EXPECT_EQ(buf_append(&x->answer_in, text + i, len - i < piece ? len - i : piece), CAY_OK);
    EXPECT(net_exchange_answer(x, false));
  }
}

#define GET "GET /a?b HTTP/1.1\r\nHost: api.test\r\nX-Key: PLACEHOLDER\r\nRange: bytes=0-1\r\n\r\n"

TEST(a_request_gets_the_value_and_loses_what_would_hide_the_answer) {
  OWNED(net_secrets_free) net_secrets *s = secrets_for(0);
  for (size_t piece = 1; piece < sizeof GET; piece += 7) {
    net_exchange x;
    begin(&x, s);
    ask(&x, GET, piece);
    EXPECT_TEXT(
        buf_text(&x.request_out),
        "GET /a?b HTTP/1.1\r\nHost: api.test\r\nX-Key: s3cr3t-value\r\nAccept-Encoding: identity\r\n\r\n");
    EXPECT_EQ(told_put, 1);
    EXPECT_EQ(told_left, 0);
    net_exchange_free(&x);
  }
}

TEST(a_second_request_waits_for_the_first_answer) {
  OWNED(net_secrets_free) net_secrets *s = secrets_for(0);
  net_exchange x;
  begin(&x, s);
  ask(&x, GET GET, 1000);
  size_t first = x.request_out.len;
  reply(&x, "HTTP/1.1 204 No\r\n\r\n", 1000);
  EXPECT(net_exchange_is_idle(&x));
  EXPECT(net_exchange_request(&x));
  EXPECT_EQ(x.request_out.len, 2 * first);
  net_exchange_free(&x);
}

TEST(a_body_is_collected_where_it_may_have_the_value) {
  OWNED(net_secrets_free) net_secrets *s = secrets_for(NET_SECRET_IN_BODY);
  static const char length[] =
      "POST / HTTP/1.1\r\nHost: api.test\r\nContent-Length: 15\r\n\r\n<<PLACEHOLDER>>";
  static const char chunks[] =
      "POST / HTTP/1.1\r\nHost: api.test\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n<<PLACE\r\n8\r\nHOLDER>>\r\n0\r\n\r\n";
  const char *const both[] = { length, chunks };
  for (size_t i = 0; i < 2; i++) {
    net_exchange x;
    begin(&x, s);
    ask(&x, both[i], 5);
    EXPECT_TEXT(
        buf_text(&x.request_out),
        "POST / HTTP/1.1\r\nHost: api.test\r\nAccept-Encoding: identity\r\nContent-Length: 16\r\n\r\n<<s3cr3t-value>>");
    net_exchange_free(&x);
  }
}

TEST(answers_are_scrubbed_and_keep_their_length) {
  OWNED(net_secrets_free) net_secrets *s = secrets_for(0);
  static const char plain[] =
      "HTTP/1.1 200 OK\r\nX: s3cr3t-value\r\nContent-Length: 14\r\n\r\n<s3cr3t-value>";
  for (size_t piece = 1; piece < sizeof plain; piece += 3) {
    net_exchange x;
    begin(&x, s);
    ask(&x, GET, 1000);
    reply(&x, plain, piece);
    EXPECT_TEXT(buf_text(&x.answer_out),
                "HTTP/1.1 200 OK\r\nX: ************\r\nContent-Length: 14\r\n\r\n<************>");
    EXPECT(net_exchange_is_idle(&x));
    net_exchange_free(&x);
  }
}

TEST(chunks_of_an_answer_hide_nothing) {
  OWNED(net_secrets_free) net_secrets *s = secrets_for(0);
  net_exchange x;
  begin(&x, s);
  ask(&x, GET, 1000);
  reply(
      &x,
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\ns3cr3\r\n7;x\r\nt-value\r\n2\r\nab\r\n0\r\nT: s3cr3t-value\r\n\r\n",
      1);
  EXPECT_TEXT(
      buf_text(&x.answer_out),
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nc\r\n************\r\n1\r\na\r\n1\r\nb\r\n0\r\n\r\n");
  EXPECT(net_exchange_is_idle(&x));
  net_exchange_free(&x);
}

TEST(answers_that_cannot_be_searched_are_refused) {
  static const char *const bad[] = {
    "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx",
    "HTTP/1.1 101 Switching Protocols\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
    "HTTP/1.1 2xx OK\r\n\r\n",
    "HTTP/2 200\r\n\r\n",
    "no http\r\n\r\n",
  };
  OWNED(net_secrets_free) net_secrets *s = secrets_for(0);
  for (size_t i = 0; i < COUNT_OF(bad); i++) {
    net_exchange x;
    begin(&x, s);
    ask(&x, GET, 1000);
    reply(&x, bad[i], 1000);
    EXPECT(x.closed);
    EXPECT(strncmp(buf_text(&x.answer_out), "HTTP/1.1 502 Bad Gateway\r\n", 26) == 0);
    net_exchange_free(&x);
  }
}

TEST(requests_for_others_are_refused) {
  static const char *const bad[] = {
    "GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: api.test:80\r\n\r\n",
    "GET / HTTP/1.1\r\n\r\n",
    "GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n",
    "GET https://evil.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n",
    "CONNECT api.test:443 HTTP/1.1\r\nHost: api.test\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: api.test\r\nHost: evil.test\r\n\r\n",
    "GET / HTTP/1.1\nHost: api.test\n\n",
    "\x01 no HTTP",
  };
  OWNED(net_secrets_free) net_secrets *s = secrets_for(0);
  for (size_t i = 0; i < COUNT_OF(bad); i++) {
    net_exchange x;
    begin(&x, s);
    ask(&x, bad[i], 1000);
    EXPECT_EQ(x.request_out.len, 0);
    EXPECT(x.closed);
    net_exchange_free(&x);
  }
}

TEST(a_server_that_ends_early_cuts_the_answer) {
  OWNED(net_secrets_free) net_secrets *s = secrets_for(0);
  net_exchange x;
  begin(&x, s);
  ask(&x, GET, 1000);
  reply(&x, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc", 1000);
  EXPECT(net_exchange_answer(&x, true));
  EXPECT(x.closed);
  net_exchange_free(&x);
}
