/* hello_test.c - first bytes, and requests one after the other. */
#include "net/flow.h"

#include "test.h"

static net_hello hello;

static enum net_hello_kind read_text(const char *text) {
  net_hello_read((const uint8_t *)text, strlen(text), &hello);
  return hello.kind;
}

/* ---- TLS ---- */

/* A ClientHello with this name in records of `piece` bytes; NULL: without the extension. */
static size_t client_hello(const char *name, size_t piece, uint8_t out[static 1024]) {
  uint8_t message[512] = { 1, 0, 0, 0, 3, 3 };
  size_t n = 6 + 32;
  message[n++] = 0;                                                          /* session */
  message[n++] = 0, message[n++] = 2, message[n++] = 0x13, message[n++] = 1; /* suites */
  message[n++] = 1, message[n++] = 0;                                        /* compression */
  size_t extensions = n;
  n += 2;
  message[n++] = 0, message[n++] = 43, message[n++] = 0, message[n++] = 3;
  message[n++] = 2, message[n++] = 3, message[n++] = 4;
  if (name != NULL) {
    size_t len = strlen(name);
    message[n++] = 0, message[n++] = 0, message[n++] = 0, message[n++] = (uint8_t)(len + 5);
    message[n++] = 0, message[n++] = (uint8_t)(len + 3), message[n++] = 0, message[n++] = 0;
    message[n++] = (uint8_t)len;
    memcpy(message + n, name, len);
    n += len;
  }
  message[extensions] = (uint8_t)((n - extensions - 2) >> 8);
  message[extensions + 1] = (uint8_t)(n - extensions - 2);
  message[2] = (uint8_t)((n - 4) >> 8);
  message[3] = (uint8_t)(n - 4);
  size_t at = 0;
  for (size_t i = 0; i < n; i += piece) {
    size_t part = n - i < piece ? n - i : piece;
    out[at++] = 22, out[at++] = 3, out[at++] = 1, out[at++] = (uint8_t)(part >> 8), out[at++] = (uint8_t)part;
    memcpy(out + at, message + i, part);
    at += part;
  }
  return at;
}

TEST(the_name_of_a_client_hello) {
  uint8_t bytes[1024];
  size_t len = client_hello("Example.COM", 16384, bytes);
  net_hello_read(bytes, len, &hello);
  EXPECT_EQ(hello.kind, NET_HELLO_TLS);
  EXPECT(hello.has_name);
  EXPECT_TEXT(hello.name, "example.com");
  len = client_hello(NULL, 16384, bytes);
  net_hello_read(bytes, len, &hello);
  EXPECT_EQ(hello.kind, NET_HELLO_TLS);
  EXPECT(!hello.has_name);
}

TEST(a_client_hello_in_many_records) {
  uint8_t bytes[1024];
  for (size_t piece = 1; piece < 40; piece += 3) {
    size_t len =
        piece > 2 ? client_hello("a.example.org", piece, bytes) : client_hello("a.example.org", 50, bytes);
    net_hello_read(bytes, len, &hello);
    EXPECT_EQ(hello.kind, NET_HELLO_TLS);
    EXPECT_TEXT(hello.name, "a.example.org");
  }
}

TEST(a_client_hello_that_is_not_complete_needs_more) {
  uint8_t bytes[1024];
  size_t len = client_hello("example.com", 16384, bytes);
  for (size_t i = 0; i < len; i++) {
    net_hello_read(bytes, i, &hello);
    EXPECT_EQ(hello.kind, NET_HELLO_MORE);
  }
}

TEST(names_that_are_none_make_a_hello_bad) {
  static const char *const bad[] = { "127.0.0.1", "a b", "", "0x7f.1", "a..b" };
  uint8_t bytes[1024];
  for (size_t i = 0; i < COUNT_OF(bad); i++) {
    size_t len = client_hello(bad[i], 16384, bytes);
    net_hello_read(bytes, len, &hello);
    EXPECT_EQ(hello.kind, NET_HELLO_BAD);
  }
  size_t len = client_hello("example.com", 16384, bytes);
  bytes[len - 1 - 11 - 4] ^= 1; /* lengths that do not agree */
  net_hello_read(bytes, len, &hello);
  EXPECT_EQ(hello.kind, NET_HELLO_BAD);
  EXPECT_EQ(read_text("\x16\x03\x01\x7f\xff"), NET_HELLO_BAD);
  EXPECT_EQ(read_text("\x16\x02\x01\x01\x01zz"), NET_HELLO_BAD);
}

/* ---- HTTP ---- */

TEST(the_head_of_a_request) {
  EXPECT_EQ(read_text("GET /a/../b?c HTTP/1.1\r\nAccept: */*\r\nHost: Example.com:8080\r\n\r\nrest"),
            NET_HELLO_HTTP);
  EXPECT_TEXT(hello.name, "example.com");
  EXPECT_EQ(hello.name_port, 8080);
  EXPECT_TEXT(hello.method, "GET");
  EXPECT_TEXT(hello.path, "/b");
  EXPECT_EQ(hello.head_len,
            strlen("GET /a/../b?c HTTP/1.1\r\nAccept: */*\r\nHost: Example.com:8080\r\n\r\n"));
  EXPECT_EQ(hello.body, NET_BODY_LENGTH);
  EXPECT_EQ(hello.body_len, 0);
}

TEST(bodies_of_requests) {
  EXPECT_EQ(read_text("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 12\r\n\r\n"), NET_HELLO_HTTP);
  EXPECT_EQ(hello.body_len, 12);
  EXPECT_EQ(read_text("POST / HTTP/1.1\r\nHost: a\r\ntransfer-encoding:  chunked \r\n\r\n"), NET_HELLO_HTTP);
  EXPECT_EQ(hello.body, NET_BODY_CHUNKED);
  EXPECT_EQ(read_text("GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n\r\n"), NET_HELLO_HTTP);
  EXPECT(hello.upgrade && hello.body == NET_BODY_LENGTH);
  EXPECT_EQ(read_text("GET / HTTP/1.1\r\nHost: a\r\nUpgrade: x\r\nTransfer-Encoding: chunked\r\n\r\n"),
            NET_HELLO_HTTP);
  EXPECT(hello.upgrade && hello.body == NET_BODY_CHUNKED);
}

TEST(an_absolute_target_and_the_host_agree) {
  EXPECT_EQ(read_text("GET http://a.org/x HTTP/1.1\r\nHost: a.org\r\n\r\n"), NET_HELLO_HTTP);
  EXPECT_TEXT(hello.path, "/x");
  EXPECT_EQ(read_text("GET http://a.org/x HTTP/1.1\r\nHost: b.org\r\n\r\n"), NET_HELLO_BAD);
}

TEST(requests_with_two_meanings_are_bad) {
  static const char *const bad[] = {
    "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
    "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a@b\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a:99999\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\n\r\n",
    "GET / HTTP/1.1\r\nno colon\r\n\r\n",
    "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n",
    "GET / HTTP/1.9\r\nHost: a\r\n\r\n",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "CONNECT b.org:443 HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET https://b.org/ HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET ftp://b.org/ HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET x+y://a.b.org HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET ://b.org HTTP/1.1\r\nHost: a\r\n\r\n",
    "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "\n\nget / HTTP/1.1\r\nHost: a\r\n\r\n",
    " GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET\v/ HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET / HTTP/1.1 \r\nHost: a\r\n\r\n",
    "GET / HTTP/1.1\nHost: a\n\n",
    "GET / http/1.1\r\nHost: a\r\n\r\n",
    "GET /x y HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET / HTTP/11.1\r\nHost: a\r\n\r\n",
  };
  for (size_t i = 0; i < COUNT_OF(bad); i++)
    if (read_text(bad[i]) != NET_HELLO_BAD) test_fail_text(__FILE__, __LINE__, "taken", "bad", bad[i]);
}

TEST(other_protocols_are_other) {
  static const char *const other[] = { "SSH-2.0-x\r\n", "EHLO me\r\n", "USER me\r\n",    "\x80\x01",
                                       "{\"a\":1}",     "GET \r\n",    "HELO a HTTP\r\n" };
  for (size_t i = 0; i < COUNT_OF(other); i++)
    if (read_text(other[i]) != NET_HELLO_OTHER)
      test_fail_text(__FILE__, __LINE__, "taken", "other", other[i]);
  EXPECT_EQ(read_text("GET / HT"), NET_HELLO_MORE);
  EXPECT_EQ(read_text("GE"), NET_HELLO_MORE);
  EXPECT(hello.open);
  EXPECT_EQ(read_text("a"), NET_HELLO_MORE);
  EXPECT(hello.open);
  EXPECT_EQ(read_text("GET / HTTP/1.1\r\nHos"), NET_HELLO_MORE);
  EXPECT(!hello.open);
  EXPECT_EQ(read_text(""), NET_HELLO_MORE);
}

/* ---- one after the other ---- */

/* The requests of a connection whose bytes come `piece` at a time, as "METHOD path;"; "!" for an error. */
static const char *requests(const char *bytes, size_t piece) {
  static char seen[512];
  net_flow flow = { 0 };
  const net_hello *head;
  size_t at = 0, len = strlen(bytes), have = 0;
  seen[0] = '\0';
  while (at < len) {
    int64_t n = net_flow_pass(&flow, (const uint8_t *)bytes + at, have - at, &hello, &head);
    if (head != NULL) {
      (void)snprintf(seen + strlen(seen), sizeof seen - strlen(seen), "%s %.50s;", head->method, head->path);
      net_flow_begin(&flow, head);
      n = (int64_t)head->head_len;
    }
    if (n < 0) return strcat(seen, "!");
    at += (size_t)n;
    if (n > 0) continue;
    if (have == len) return strcat(seen, "?");
    have = have + piece < len ? have + piece : len;
  }
  return seen;
}

TEST(each_request_of_a_connection_is_seen) {
  static const char bytes[] =
      "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n"
      "POST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 24\r\n\r\nGET /no HTTP/1.1\r\nHost: "
      "PUT /3 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5\r\nGET /\r\n1A\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\nTrailer: x\r\n\r\n"
      "DELETE /4 HTTP/1.1\r\nHost: a\r\n\r\n";
  for (size_t piece = 1; piece < 60; piece += 7)
    EXPECT_TEXT(requests(bytes, piece), "GET /1;POST /2;PUT /3;DELETE /4;");
}

TEST(chunks_with_two_meanings_are_errors) {
#define CHUNKED "PUT /3 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
  static const char *const bad[] = {
    "5;x=1\r\nabcde\r\n",       "5\nabcde\r\n",   "-1\r\n", "0x5\r\nabcde\r\n", "11112222333344445\r\n",
    "5\r\nabcdeGET / HTTP/1.1", " 5\r\nabcde\r\n"
  };
  for (size_t i = 0; i < COUNT_OF(bad); i++) {
    char bytes[200];
    (void)snprintf(bytes, sizeof bytes, CHUNKED "%s", bad[i]);
    EXPECT_TEXT(requests(bytes, 200), "PUT /3;!");
  }
}

/* What may pass behind a request for another protocol, when these bytes have come from the server `piece` at a time. */
static enum net_flow_state after_answer(const char *answer, size_t piece) {
  static const char request[] = "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: x\r\n\r\n";
  net_flow flow = { 0 };
  const net_hello *head;
  EXPECT_EQ(net_flow_pass(&flow, (const uint8_t *)request, strlen(request), &hello, &head), 0);
  EXPECT(head != NULL);
  net_flow_begin(&flow, &hello);
  EXPECT_EQ(net_flow_pass(&flow, (const uint8_t *)"DELETE", 6, &hello, &head), 0);
  for (size_t at = 0, len = strlen(answer); at < len; at += piece)
    net_flow_answer(&flow, (const uint8_t *)answer + at, len - at < piece ? len - at : piece);
  return flow.state;
}

TEST(another_protocol_begins_when_the_server_agrees) {
#define CONTINUE "HTTP/1.1 100 Continue\r\n\r\n"
#define HINTS "HTTP/1.1 103 Early Hints\r\nLink: </HTTP/1.1 101>\r\n\r\n"
  static const struct {
    const char *answer;
    enum net_flow_state state;
  } cases[] = {
    { "HTTP/1.1 101 Switching Protocols\r\n", NET_FLOW_TUNNEL },
    { CONTINUE HINTS "HTTP/1.1 101 ", NET_FLOW_TUNNEL },
    { "HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 101 no", NET_FLOW_HEAD },
    { HINTS CONTINUE "HTTP/1.0 404 ", NET_FLOW_HEAD },
    { "101 101 101 101", NET_FLOW_HEAD },
    { "HTTP/1.1 10", NET_FLOW_ASKED },
    { CONTINUE "HTTP/1.1 ", NET_FLOW_ASKED },
    { "HTTP/1.1 103 \r\nHTTP/1.1 101 \r\n", NET_FLOW_ASKED },
    { "", NET_FLOW_ASKED },
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    for (size_t piece = 1; piece < 40; piece += 3)
      EXPECT_EQ(after_answer(cases[i].answer, piece), cases[i].state);
}

TEST(what_follows_a_request_and_is_no_request_is_an_error) {
  EXPECT_TEXT(requests("GET /1 HTTP/1.1\r\nHost: a\r\n\r\n\x16\x03\x01zzzz", 200), "GET /1;!");
  EXPECT_TEXT(requests("GET /1 HTTP/1.1\r\nHost: a\r\n\r\nhello there\r\n", 200), "GET /1;!");
}
