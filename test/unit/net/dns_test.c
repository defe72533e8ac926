/* dns_test.c - questions and answers of the resolver, and the names it remembers. */
#include "net/dns.h"
#include "net/names.h"

#include "test.h"

static size_t question(const char *name, uint16_t type, uint8_t out[static 300]) {
  static const uint8_t header[12] = { 0x12, 0x34, 1, 0, 0, 1 };
  size_t n = sizeof header;
  memcpy(out, header, n);
  for (const char *label = name; *label != '\0';) {
    size_t len = strcspn(label, ".");
    out[n++] = (uint8_t)len;
    memcpy(out + n, label, len);
    n += len;
    label += len + (label[len] == '.');
  }
  out[n++] = 0;
  out[n++] = (uint8_t)(type >> 8), out[n++] = (uint8_t)type, out[n++] = 0, out[n++] = 1;
  return n;
}

TEST(a_question_is_read) {
  uint8_t bytes[300];
  net_dns_query q;
  size_t len = question("WWW.Example.com", NET_DNS_AAAA, bytes);
  EXPECT(net_dns_read(bytes, len, &q));
  EXPECT_EQ(q.code, NET_DNS_OK);
  EXPECT_EQ(q.type, NET_DNS_AAAA);
  EXPECT_TEXT(q.host, "www.example.com");
  EXPECT_EQ(q.question_len, len);
}

TEST(what_is_no_question_has_no_answer) {
  uint8_t bytes[300];
  net_dns_query q;
  size_t len = question("a.org", NET_DNS_A, bytes);
  for (size_t i = 0; i < 12; i++) EXPECT(!net_dns_read(bytes, i, &q));
  bytes[2] |= 0x80;
  EXPECT(!net_dns_read(bytes, len, &q));
}

TEST(damaged_questions_are_format_errors) {
  uint8_t bytes[300];
  net_dns_query q;
  size_t len = question("a.org", NET_DNS_A, bytes);
  for (size_t i = 12; i < len; i++) {
    EXPECT(net_dns_read(bytes, i, &q));
    EXPECT_EQ(q.code, NET_DNS_FORMAT);
    EXPECT_EQ(q.question_len, 12);
  }
  bytes[5] = 2;
  EXPECT(net_dns_read(bytes, len, &q));
  EXPECT_EQ(q.code, NET_DNS_FORMAT);
  bytes[5] = 1, bytes[12] = 0xc0; /* compressed */
  EXPECT(net_dns_read(bytes, len, &q));
  EXPECT_EQ(q.code, NET_DNS_FORMAT);
  bytes[12] = 1, bytes[2] = 0x10; /* a status request */
  EXPECT(net_dns_read(bytes, len, &q));
  EXPECT_EQ(q.code, NET_DNS_NOT_DONE);
}

TEST(names_that_no_host_has_are_empty) {
  uint8_t bytes[300];
  net_dns_query q;
  size_t len = question("a b.org", NET_DNS_A, bytes);
  EXPECT(net_dns_read(bytes, len, &q));
  EXPECT_TEXT(q.host, "");
  len = question("aXb.org", NET_DNS_A, bytes);
  bytes[14] = '.'; /* a dot inside of a label */
  EXPECT(net_dns_read(bytes, len, &q));
  EXPECT_TEXT(q.host, "");
}

TEST(an_answer_has_the_addresses_of_its_type) {
  static const net_addr addrs[] = { { 4, { 1, 2, 3, 4 } }, { 6, { 0x20, 1 } }, { 4, { 5, 6, 7, 8 } } };
  uint8_t bytes[300], out[NET_DNS_MAX];
  net_dns_query q;
  size_t len = question("a.org", NET_DNS_A, bytes);
  EXPECT(net_dns_read(bytes, len, &q));
  EXPECT_EQ(net_dns_write(&q, NET_DNS_OK, addrs, COUNT_OF(addrs), 30, out), len + 2 * 16);
  EXPECT_EQ(memcmp(out, bytes, 2), 0);
  EXPECT_EQ(out[2] & 0x80, 0x80);
  EXPECT_EQ(out[7], 2);
  EXPECT_EQ(memcmp(out + len + 12, addrs[0].bytes, 4), 0);
  EXPECT_EQ(net_dns_write(&q, NET_DNS_NO_NAME, addrs, 3, 30, out), len);
  EXPECT_EQ(out[3] & 0xf, NET_DNS_NO_NAME);
}

TEST(an_answer_fits_into_a_datagram) {
  char name[NET_HOST_MAX + 1];
  uint8_t bytes[300], out[NET_DNS_MAX];
  net_addr many[NET_ADDRS_MAX];
  net_dns_query q;
  for (size_t i = 0; i < 250; i++) name[i] = i % 50 == 49 ? '.' : 'a';
  memcpy(name + 249, "", 1);
  for (size_t i = 0; i < NET_ADDRS_MAX; i++) many[i] = (net_addr){ 6, { 0x20, (uint8_t)i } };
  EXPECT(net_dns_read(bytes, question(name, NET_DNS_AAAA, bytes), &q));
  EXPECT(q.host[0] != '\0');
  EXPECT(net_dns_write(&q, NET_DNS_OK, many, NET_ADDRS_MAX, 30, out) <= NET_DNS_MAX);
  EXPECT(out[7] > 5);
}

/* ---- names ---- */

TEST(names_lead_to_their_addresses_and_back) {
  net_names names;
  net_names_init(&names);
  net_addrs one = { .list = { { 4, { 1, 1, 1, 1 } } }, .count = 1 },
            two = { .list = { { 4, { 2, 2, 2, 2 } } }, .count = 1 };
  const char *found[4];
  EXPECT(net_names_put(&names, "a.org", &one, 100));
  EXPECT(net_names_put(&names, "b.org", &one, 100));
  EXPECT(net_names_put(&names, "a.org", &two, 200)); /* the old address is still its */
  EXPECT_EQ(net_names_of(&names, &one.list[0], found, 4), 2);
  EXPECT_TEXT(found[0], "a.org");
  EXPECT(net_names_lead(&names, "a.org", &two.list[0]));
  EXPECT(!net_names_lead(&names, "b.org", &two.list[0]));
  EXPECT(net_names_find(&names, "b.org", 99) != NULL);
  EXPECT(net_names_find(&names, "b.org", 100) == NULL);
  net_names_free(&names);
}

TEST(the_oldest_names_are_forgotten) {
  net_names names;
  net_names_init(&names);
  net_addrs one = { .list = { { 4, { 1, 1, 1, 1 } } }, .count = 1 };
  char name[32];
  for (int i = 0; i < NET_NAMES_MAX + 5; i++) {
    (void)snprintf(name, sizeof name, "h%d.org", i);
    EXPECT(net_names_put(&names, name, &one, 100));
    EXPECT(net_names_find(&names, "h0.org", 0) != NULL); /* used all the time */
  }
  EXPECT_EQ(names.count, NET_NAMES_MAX);
  EXPECT(net_names_find(&names, "h1.org", 0) == NULL);
  net_names_free(&names);
}
