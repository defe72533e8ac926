/* tape_test.c - recordings: written, read, searched. */
#include "net/tape.h"

#include "base/alloc.h"

#include "test.h"

#include <stdlib.h>
#include <unistd.h>

static void fill(buf *b, const char *text) {
  buf_clear(b);
  EXPECT_EQ(buf_append_text(b, text), CAY_OK);
}

static void ask(net_take *t, const char *method, const char *url, const char *body) {
  net_take_free(t);
  fill(&t->method, method);
  fill(&t->url, url);
  fill(&t->request_body, body);
}

static void record(net_tape *tape, const char *url, const char *answer, size_t len) {
  net_take t;
  net_take_init(&t);
  ask(&t, "GET", url, "");
  t.status = 200;
  fill(&t.reason, "OK");
  fill(&t.answer_fields, "A: b\r\nContent-Length: 1\r\n");
  EXPECT_EQ(buf_append(&t.answer_body, answer, len), CAY_OK);
  EXPECT(net_tape_put(tape, NULL, &t));
  net_take_free(&t);
}

static bool found(net_tape *tape, const char *url, const char *answer) {
  net_take t;
  net_take_init(&t);
  ask(&t, "GET", url, "");
  bool got = net_tape_find(tape, NULL, &t);
  if (got) {
    EXPECT_TEXT(buf_text(&t.answer_body), answer);
    EXPECT_TEXT(buf_text(&t.answer_fields), "A: b\r\nContent-Length: 1\r\n");
    EXPECT_EQ(t.status, 200);
  }
  net_take_free(&t);
  return got;
}

static net_tape *recorded(char path[static 64]) {
  net_tape *tape = NULL;
  (void)snprintf(path, 64, "/tmp/cay-tape-XXXXXX");
  int fd = mkstemp(path);
  EXPECT(fd >= 0);
  (void)close(fd);
  EXPECT_EQ(net_tape_record(path, &tape, NULL), CAY_OK);
  return tape;
}

TEST(equal_requests_get_their_answers_in_order_each_once) {
  char path[64];
  net_tape *tape = recorded(path);
  record(tape, "http://a.test:80/", "one", 3);
  record(tape, "http://a.test:80/", "two", 3);
  record(tape, "http://a.test:80/bytes", "\xff\xfe", 2);
  net_addrs addrs = { .list = { { .family = 4, .bytes = { 192, 0, 2, 7 } } }, .count = 1 };
  net_tape_put_name(tape, "a.test", &addrs);
  EXPECT_EQ(net_tape_save(tape, NULL), CAY_OK);
  net_tape_free(tape);

  EXPECT_EQ(net_tape_replay(path, &tape, NULL), CAY_OK);
  EXPECT(net_tape_replays(tape) && !net_tape_records(tape));
  EXPECT(found(tape, "http://a.test:80/bytes", "\xff\xfe"));
  EXPECT(found(tape, "http://a.test:80/", "one"));
  EXPECT(found(tape, "http://a.test:80/", "two"));
  EXPECT(!found(tape, "http://a.test:80/", ""));
  EXPECT(!found(tape, "http://a.test:80/other", ""));
  net_addrs known;
  EXPECT(net_tape_name(tape, "a.test", &known));
  EXPECT(net_addr_equal(&known.list[0], &addrs.list[0]));
  EXPECT(!net_tape_name(tape, "b.test", &known));
  net_tape_free(tape);
  (void)unlink(path);
}

TEST(a_tape_without_memory) {
  char path[64];
  net_tape *tape = recorded(path);
  record(tape, "http://a.test:80/", "one", 3);
  EXPECT_EQ(net_tape_save(tape, NULL), CAY_OK);
  net_tape_free(tape);
  AT_EVERY_FAULT {
    cay_error err;
    tape = NULL;
    cay_status status = net_tape_replay(path, &tape, &err);
    EXPECT(status == CAY_OK || mem_has_failed());
    net_tape_free(tape);
  }
  (void)unlink(path);
}
