/* cache_test.c - which answers are kept, for how long, and for which requests. */
#include "net/cache.h"

#include "test.h"

#include <stdlib.h>
#include <unistd.h>

enum { NOW = 784111777 /* Sun, 06 Nov 1994 08:49:37 GMT */ };

static void take_set(net_take *t, const char *method, const char *request_fields, int status,
                     const char *answer_fields, const char *body) {
  net_take_init(t);
  EXPECT_EQ(buf_append_text(&t->method, method), CAY_OK);
  EXPECT_EQ(buf_append_text(&t->url, "http://a.test:80/"), CAY_OK);
  EXPECT_EQ(buf_append_text(&t->request_fields, request_fields), CAY_OK);
  t->status = status;
  EXPECT_EQ(buf_append_text(&t->reason, "OK"), CAY_OK);
  EXPECT_EQ(buf_append_text(&t->answer_fields, answer_fields), CAY_OK);
  EXPECT_EQ(buf_append_text(&t->answer_body, body), CAY_OK);
}

static bool wanted(const char *request_fields, const char *answer_fields, bool credentials) {
  net_take t;
  take_set(&t, "GET", request_fields, 200, answer_fields, "");
  bool yes = net_cache_wants(&t, credentials);
  net_take_free(&t);
  return yes;
}

static net_cache *cache_with(const char *answer_fields) {
  net_cache *c = NULL;
  net_take t;
  EXPECT_EQ(net_cache_open("/tmp/cay-no-such-cache", NULL, &c, NULL), CAY_OK);
  take_set(&t, "GET", "", 200, answer_fields, "body");
  net_cache_put(c, &t, NOW);
  net_take_free(&t);
  return c;
}

static enum net_cache_found asked(net_cache *c, int64_t at_s, const char *conditions) {
  net_take t;
  OWNED(buf_free) buf got = BUF_INIT(BUF_UNLIMITED);
  take_set(&t, "GET", "", 0, "", "");
  buf_clear(&t.reason);
  enum net_cache_found found = net_cache_find(c, &t, false, at_s, &got);
  if (found == NET_CACHE_FRESH) EXPECT_TEXT(buf_text(&t.answer_body), "body");
  EXPECT_TEXT(buf_text(&got), conditions);
  net_take_free(&t);
  return found;
}

TEST(what_is_private_or_sets_a_cookie_is_not_kept) {
  EXPECT(wanted("", "Cache-Control: max-age=5\r\n", false));
  EXPECT(!wanted("", "Cache-Control: private, max-age=5\r\n", false));
  EXPECT(!wanted("", "Cache-Control: max-age=5, NO-STORE\r\n", false));
  EXPECT(!wanted("", "Cache-Control: max-age=5\r\nSet-Cookie: a\r\n", false));
  EXPECT(!wanted("Cache-Control: no-store\r\n", "Cache-Control: max-age=5\r\n", false));
  EXPECT(!wanted("", "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n", false));
}

TEST(answers_to_credentials_have_to_say_that_they_are_public) {
  EXPECT(!wanted("", "Cache-Control: max-age=5\r\n", true));
  EXPECT(!wanted("Authorization: x\r\n", "Cache-Control: max-age=5\r\n", false));
  EXPECT(wanted("Authorization: x\r\n", "Cache-Control: public, max-age=5\r\n", false));
  EXPECT(wanted("", "Cache-Control: s-maxage=5\r\n", true));
}

TEST(an_answer_is_fresh_as_long_as_it_says) {
  net_cache *c = cache_with("Cache-Control: max-age=60\r\nETag: \"x\"\r\n");
  EXPECT_EQ(asked(c, NOW + 59, ""), NET_CACHE_FRESH);
  EXPECT_EQ(asked(c, NOW + 60, "If-None-Match: \"x\"\r\n"), NET_CACHE_STALE);
  net_cache_free(c);
  c = cache_with("Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nExpires: Sun, 06 Nov 1994 08:50:37 GMT\r\n");
  EXPECT_EQ(asked(c, NOW + 59, ""), NET_CACHE_FRESH);
  EXPECT_EQ(asked(c, NOW + 61, ""), NET_CACHE_NOTHING);
  net_cache_free(c);
  c = cache_with("Age: 50\r\nCache-Control: max-age=60\r\n"); /* another cache had it before */
  EXPECT_EQ(asked(c, NOW + 9, ""), NET_CACHE_FRESH);
  EXPECT_EQ(asked(c, NOW + 11, ""), NET_CACHE_NOTHING);
  net_cache_free(c);
}

TEST(a_304_makes_it_fresh_again) {
  net_cache *c = cache_with("Cache-Control: max-age=1\r\nETag: \"x\"\r\n");
  OWNED(buf_free) buf fields = BUF_INIT(BUF_UNLIMITED);
  net_take t;
  EXPECT_EQ(asked(c, NOW + 5, "If-None-Match: \"x\"\r\n"), NET_CACHE_STALE);
  take_set(&t, "GET", "", 0, "", "");
  EXPECT_EQ(buf_append_text(&fields, "Cache-Control: max-age=100\r\n"), CAY_OK);
  EXPECT(net_cache_freshen(c, &t, &fields, NOW + 5));
  EXPECT_TEXT(buf_text(&t.answer_body), "body");
  net_take_free(&t);
  EXPECT_EQ(asked(c, NOW + 100, ""), NET_CACHE_FRESH);
  net_cache_free(c);
}

TEST(the_oldest_go_when_there_is_no_room) {
  net_cache *c = cache_with("Cache-Control: max-age=60\r\n");
  char *body = malloc(NET_CACHE_ANSWER_MAX);
  memset(body, 'x', NET_CACHE_ANSWER_MAX);
  body[NET_CACHE_ANSWER_MAX - 1] = '\0';
  for (int i = 0; i < 5; i++) {
    net_take t;
    take_set(&t, "GET", "", 200, "Cache-Control: max-age=60\r\n", body);
    EXPECT_EQ(buf_appendf(&t.url, "%d", i), CAY_OK);
    EXPECT_EQ(asked(c, NOW, ""), NET_CACHE_FRESH); /* used, so it stays */
    net_cache_put(c, &t, NOW);
    net_take_free(&t);
  }
  net_take first;
  OWNED(buf_free) buf none = BUF_INIT(BUF_UNLIMITED);
  take_set(&first, "GET", "", 0, "", "");
  EXPECT_EQ(buf_append_text(&first.url, "0"), CAY_OK);
  EXPECT_EQ(net_cache_find(c, &first, false, NOW, &none), NET_CACHE_NOTHING);
  net_take_free(&first);
  free(body);
  net_cache_free(c);
}

TEST(a_file_brings_the_answers_back) {
  char path[] = "/tmp/cay-cache-XXXXXX";
  int fd = mkstemp(path);
  EXPECT(fd >= 0);
  (void)close(fd);
  net_cache *c = NULL;
  net_take t;
  EXPECT_EQ(net_cache_open(path, NULL, &c, NULL), CAY_OK); /* an empty file is an empty cache */
  take_set(&t, "GET", "Accept: a\r\nAuthorization: secret\r\n", 200,
           "Cache-Control: public, max-age=60\r\nVary: Accept\r\n", "body");
  EXPECT(net_cache_wants(&t, false));
  net_cache_put(c, &t, NOW);
  EXPECT_EQ(net_cache_save(c, NULL), CAY_OK);
  net_cache_free(c);
  EXPECT_EQ(net_cache_open(path, NULL, &c, NULL), CAY_OK);
  OWNED(buf_free) buf none = BUF_INIT(BUF_UNLIMITED);
  net_take_free(&t);
  take_set(&t, "GET", "Accept: a\r\n", 0, "", "");
  EXPECT_EQ(net_cache_find(c, &t, true, NOW + 1, &none), NET_CACHE_FRESH);
  net_take_free(&t);
  take_set(&t, "GET", "Accept: b\r\n", 0, "", "");
  EXPECT_EQ(net_cache_find(c, &t, false, NOW + 1, &none), NET_CACHE_NOTHING);
  net_take_free(&t);
  net_cache_free(c);
  FILE *file = fopen(path, "r");
  char text[4096] = "";
  EXPECT(fread(text, 1, sizeof text - 1, file) > 0);
  (void)fclose(file);
  EXPECT(strstr(text, "secret") == NULL);
  (void)unlink(path);
}
