/* secret_test.c - secrets: placeholders, hosts, substitution, scrubbing. */
#include "net/secret.h"

#include "base/alloc.h"
#include "base/base64.h"

#include "test.h"

static const char value[] = "sk-Live/42+Qz\"7&n";

static net_secrets *made(const char *const *hosts, unsigned places) {
  net_secrets *s = NULL;
  net_secret_spec spec = {
    .name = "KEY", .value = value, .placeholder = "PLACEHOLDER", .hosts = hosts, .places = places
  };
  EXPECT_EQ(net_secrets_new(&spec, 1, &s, NULL), CAY_OK);
  return s;
}

static const char *const one_host[] = { "api.test", NULL };

/* The text after it came in pieces of `piece` bytes. */
static cay_buf scrubbed(const net_secrets *s, const void *data, size_t len, size_t piece) {
  buf held = BUF_INIT(BUF_UNLIMITED), out = BUF_INIT(BUF_UNLIMITED);
  for (size_t i = 0; i < len; i += piece) {
    size_t n = len - i < piece ? len - i : piece;
    EXPECT_EQ(net_scrub(s, &held, (const uint8_t *)data + i, n, false, &out), CAY_OK);
  }
  EXPECT_EQ(net_scrub(s, &held, NULL, 0, true, &out), CAY_OK);
  EXPECT_EQ(held.len, 0);
  buf_free(&held);
  return buf_take(&out);
}

static void expect_scrubbed(const net_secrets *s, const char *text, const char *wanted) {
  for (size_t piece = 1; piece <= strlen(text); piece++) {
    cay_buf got = scrubbed(s, text, strlen(text), piece);
    EXPECT_EQ(got.len, strlen(text));
    EXPECT_TEXT((const char *)got.data, wanted);
    cay_buf_free(&got);
  }
}

TEST(a_value_is_scrubbed_across_pieces) {
  OWNED(net_secrets_free) net_secrets *s = made(one_host, 0);
  expect_scrubbed(s, "a sk-Live/42+Qz\"7&n b", "a ***************** b");
  expect_scrubbed(s, "sk-Live/42+Qz\"7&nsk-Live/42+Qz\"7&n", "**********************************");
  expect_scrubbed(s, "sk-sk-Live/42+Qz\"7&n", "sk-*****************");
  expect_scrubbed(s, "SK-LIVE/42+QZ\"7&N", "*****************");
}

TEST(a_part_of_a_value_is_no_value) {
  OWNED(net_secrets_free) net_secrets *s = made(one_host, 0);
  expect_scrubbed(s, "sk-Live/42+Qz\"7&", "sk-Live/42+Qz\"7&");
  expect_scrubbed(s, "sk-Live/42-Qz\"7&n", "sk-Live/42-Qz\"7&n");
  expect_scrubbed(s, "50% of \\ and & are = nothing", "50% of \\ and & are = nothing");
}

TEST(escaped_characters_are_seen) {
  OWNED(net_secrets_free) net_secrets *s = made(one_host, 0);
  expect_scrubbed(s, "sk-Live%2F42%2BQz%227%26n", "*************************");
  expect_scrubbed(s, "sk-Live\\/42+Qz\\\"7&n", "*******************");
  expect_scrubbed(s, "sk-Live/42+Qz&quot;7&amp;n", "**************************");
  expect_scrubbed(s, "\\u0073k-Live/42+Qz\"7&n", "**********************");
}

TEST(base64_of_every_alignment_is_seen) {
  OWNED(net_secrets_free) net_secrets *s = made(one_host, 0);
  for (size_t before = 0; before < 6; before++) {
    buf plain = BUF_INIT(1000), coded = BUF_INIT(1000);
    EXPECT_EQ(buf_append(&plain, "abcdef", before), CAY_OK);
    EXPECT_EQ(buf_append_text(&plain, value), CAY_OK);
    EXPECT_EQ(buf_append_text(&plain, "xyz"), CAY_OK);
    EXPECT_EQ(base64_append(&coded, plain.data, plain.len), CAY_OK);
    cay_buf got = scrubbed(s, coded.data, coded.len, 3);
    size_t stars = 0;
    for (size_t i = 0; i < got.len; i++) stars += ((const char *)got.data)[i] == '*';
    EXPECT(stars >= strlen(value) * 4 / 3 - 2);
    cay_buf_free(&got);
    buf_free(&plain);
    buf_free(&coded);
  }
}

static char *substituted(net_secret_use *use, unsigned place, enum net_secret_form form, const char *text) {
  buf out = BUF_INIT(10000);
  EXPECT_EQ(net_secret_substitute(use, place, form, text, strlen(text), &out), CAY_OK);
  EXPECT(out.len <= net_secret_bound(use->secrets, text, strlen(text)));
  return (char *)buf_take(&out).data;
}

TEST(a_placeholder_is_replaced_in_its_place_for_its_host) {
  OWNED(net_secrets_free) net_secrets *s = made(one_host, NET_SECRET_IN_HEADER | NET_SECRET_IN_BODY);
  net_secret_use use = { .secrets = s, .host = "api.test", .port = 443 };
  char *text = substituted(&use, NET_SECRET_IN_HEADER, NET_FORM_PLAIN, "a PLACEHOLDER b PLACEHOLDER");
  EXPECT_TEXT(text, "a sk-Live/42+Qz\"7&n b sk-Live/42+Qz\"7&n");
  EXPECT_EQ(use.put, 1);
  EXPECT_EQ(use.left, 0);
  cay_buf_free(&(cay_buf){ .data = text });
  text = substituted(&use, NET_SECRET_IN_BODY, NET_FORM_JSON, "{\"a\":\"PLACEHOLDER\"}");
  EXPECT_TEXT(text, "{\"a\":\"sk-Live/42+Qz\\\"7&n\"}");
  cay_buf_free(&(cay_buf){ .data = text });
  text = substituted(&use, NET_SECRET_IN_QUERY, NET_FORM_URL, "?PLACEHOLDER");
  EXPECT_TEXT(text, "?PLACEHOLDER");
  EXPECT_EQ(use.left, 1);
  cay_buf_free(&(cay_buf){ .data = text });
}

TEST(hosts_of_a_secret_are_names_with_ports) {
  static const char *const hosts[] = { "api.test", "*.many.test:8443", NULL };
  OWNED(net_secrets_free) net_secrets *s = made(hosts, 0);
  EXPECT(net_secrets_have(s, "api.test", 443));
  EXPECT(!net_secrets_have(s, "api.test", 8443));
  EXPECT(!net_secrets_have(s, "x.api.test", 443));
  EXPECT(!net_secrets_have(s, "evilapi.test", 443));
  EXPECT(net_secrets_have(s, "a.many.test", 8443));
  EXPECT(!net_secrets_have(s, "many.test", 8443));
  EXPECT(!net_secrets_have(s, "xmany.test", 8443));
  EXPECT(!net_secrets_have(NULL, "api.test", 443));
}

TEST(placeholders_are_seen_across_pieces_once) {
  OWNED(net_secrets_free) net_secrets *s = made(one_host, 0);
  static const char text[] = "x=PLACEHOLDER&y";
  for (size_t piece = 1; piece < sizeof text; piece++) {
    net_sighting at = { .len = 0 };
    int seen = 0;
    for (size_t i = 0; i < strlen(text); i += piece)
      seen += net_secrets_see(s, &at, text + i, strlen(text) - i < piece ? strlen(text) - i : piece) != 0;
    EXPECT_EQ(seen, 1);
  }
}

TEST(secrets_that_make_no_sense_are_refused_without_their_value) {
  static const char *const none[] = { NULL }, *const address[] = { "10.0.0.1", NULL },
                           *const all[] = { "*", NULL };
  const net_secret_spec bad[] = {
    { .name = "", .value = value, .hosts = one_host },
    { .name = "1A", .value = value, .hosts = one_host },
    { .name = "A", .value = "short", .hosts = one_host },
    { .name = "A", .value = "line\nend-of-it", .hosts = one_host },
    { .name = "A", .value = value, .hosts = none },
    { .name = "A", .value = value, .hosts = address },
    { .name = "A", .value = value, .hosts = all },
    { .name = "A", .value = value, .hosts = one_host, .placeholder = "with blank" },
    { .name = "A", .value = "abcdefgh", .hosts = one_host, .placeholder = "x-abcdefgh" },
  };
  for (size_t i = 0; i < COUNT_OF(bad); i++) {
    net_secrets *s = NULL;
    cay_error err = { 0 };
    EXPECT_EQ(net_secrets_new(&bad[i], 1, &s, &err), CAY_INVALID);
    EXPECT(strstr(err.message, value) == NULL && strstr(err.message, "short") == NULL);
  }
}

TEST(secrets_without_memory) {
  net_secret_spec spec = { .name = "KEY", .value = value, .hosts = one_host };
  AT_EVERY_FAULT {
    net_secrets *s = NULL;
    cay_status status = net_secrets_new(&spec, 1, &s, NULL);
    EXPECT(status == CAY_OK || mem_has_failed());
    net_secrets_free(s);
  }
}
