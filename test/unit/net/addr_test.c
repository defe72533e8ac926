/* addr_test.c - which addresses are special, and what a block covers. */
#include "net/addr.h"

#include "base/random.h"
#include "test.h"

static net_addr at(const char *text) {
  net_addr addr = { 0 };
  EXPECT(net_addr_parse(text, &addr));
  return addr;
}

static const char *class_of(const char *text) {
  net_addr addr = at(text);
  return net_class_name(net_addr_class(&addr));
}

TEST(every_special_range_is_known) {
  static const struct {
    const char *addr, *class;
  } cases[] = {
    { "1.1.1.1", "public" },
    { "9.255.255.255", "public" },
    { "11.0.0.0", "public" },
    { "0.0.0.0", "unspecified" },
    { "0.1.2.3", "unspecified" },
    { "10.0.0.1", "private" },
    { "100.63.255.255", "public" },
    { "100.64.0.0", "shared" },
    { "100.127.255.255", "shared" },
    { "100.100.100.200", "metadata" },
    { "127.0.0.1", "loopback" },
    { "127.255.255.254", "loopback" },
    { "168.63.129.16", "metadata" },
    { "169.254.0.1", "link-local" },
    { "169.254.169.254", "metadata" },
    { "169.254.170.2", "metadata" },
    { "172.15.255.255", "public" },
    { "172.16.0.0", "private" },
    { "172.31.255.255", "private" },
    { "172.32.0.0", "public" },
    { "192.0.0.192", "metadata" },
    { "192.0.2.1", "reserved" },
    { "192.168.1.1", "private" },
    { "198.19.0.1", "reserved" },
    { "224.0.0.1", "multicast" },
    { "255.255.255.255", "reserved" },
    { "2606:4700:4700::1111", "public" },
    { "::", "unspecified" },
    { "::1", "loopback" },
    { "::2", "translated" },
    { "::ffff:8.8.8.8", "translated" },
    { "::7f00:1", "translated" },
    { "64:ff9b::a9fe:a9fe", "translated" },
    { "64:ff9b:1::a00:1", "translated" },
    { "2002:7f00:1::", "translated" },
    { "2001::1", "translated" },
    { "2001:db8::1", "reserved" },
    { "fd00:ec2::254", "metadata" },
    { "fd20:ce::254", "metadata" },
    { "fc00::1", "private" },
    { "fdff::1", "private" },
    { "fe80::1", "link-local" },
    { "fec0::1", "private" },
    { "ff02::1", "multicast" },
    { "100::1", "reserved" },
    { "4000::1", "reserved" },
    { "8000::1", "reserved" },
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) EXPECT_TEXT(class_of(cases[i].addr), cases[i].class);
}

TEST(the_address_inside_is_found) {
  static const char *const forms[] = { "::ffff:10.1.2.3",   "::10.1.2.3",          "2002:a01:203::1",
                                       "64:ff9b::10.1.2.3", "64:ff9b:1::10.1.2.3", "2001::f5fe:fdfc",
                                       "::ffff:0a01:0203" };
  net_addr want = at("10.1.2.3"), inner;
  for (size_t i = 0; i < COUNT_OF(forms); i++) {
    net_addr outer = at(forms[i]);
    EXPECT(net_addr_inner(&outer, &inner));
    EXPECT(net_addr_equal(&inner, &want));
  }
  static const char *const others[] = { "::", "::1", "2606::1", "fe80::1", "10.1.2.3" };
  for (size_t i = 0; i < COUNT_OF(others); i++) {
    net_addr outer = at(others[i]);
    EXPECT(!net_addr_inner(&outer, &inner));
  }
}

TEST(texts_that_only_some_readers_take_are_no_addresses) {
  static const char *const bad[] = { "",           "1.2.3",        "01.2.3.4", "0x7f.0.0.1",
                                     "2130706433", "1.2.3.4.",     "[::1]",    "fe80::1%lo",
                                     "1.2.3.256",  "::ffff:1.2.3", " 1.2.3.4", "1.2.3.4 " };
  net_addr addr;
  for (size_t i = 0; i < COUNT_OF(bad); i++) EXPECT(!net_addr_parse(bad[i], &addr));
}

TEST(blocks_are_read_strictly) {
  static const char *const bad[] = { "10.0.0.1/8",
                                     "10.0.0.0/33",
                                     "10.0.0.0/",
                                     "10.0.0.0/-1",
                                     "10.0.0.0/8/8",
                                     "fd00::/129",
                                     "10.0.0.0/0008",
                                     "10/8",
                                     "",
                                     "*" };
  net_block block;
  for (size_t i = 0; i < COUNT_OF(bad); i++) EXPECT(!net_block_parse(bad[i], &block));
  EXPECT(net_block_parse("10.0.0.1", &block));
  EXPECT_EQ(block.bits, 32);
  EXPECT(net_block_parse("0.0.0.0/0", &block));
  EXPECT(net_block_parse("fe80::/10", &block));
  net_addr in = at("febf::1"), out = at("fec0::");
  EXPECT(net_block_has(&block, &in));
  EXPECT(!net_block_has(&block, &out));
}

TEST(only_a_block_within_the_range_names) {
  static const struct {
    const char *block, *addr;
    bool names;
  } cases[] = {
    { "10.0.0.0/8", "10.1.2.3", true },
    { "10.1.0.0/16", "10.1.2.3", true },
    { "10.2.0.0/16", "10.1.2.3", false },
    { "0.0.0.0/0", "10.1.2.3", false },
    { "8.0.0.0/6", "10.1.2.3", false },
    { "169.254.0.0/16", "169.254.1.1", true },
    { "169.254.0.0/16", "169.254.169.254", false },
    { "169.254.169.254", "169.254.169.254", true },
    { "::/0", "::1", false },
    { "::1", "::1", true },
    { "::/0", "fe80::1", false },
    { "::ffff:0:0/96", "::ffff:10.1.2.3", true },
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    net_block block;
    net_addr addr = at(cases[i].addr);
    EXPECT(net_block_parse(cases[i].block, &block));
    EXPECT_EQ(net_block_names(&block, &addr), cases[i].names);
  }
}

TEST(any_address_written_and_read_again_is_the_same) {
  rng r;
  rng_seed_number(&r, 7);
  for (int i = 0; i < 20000; i++) {
    net_addr addr = { .family = i % 2 != 0 ? 6 : 4 };
    rng_bytes(&r, addr.bytes, addr.family == 6 ? 16 : 4);
    char text[NET_ADDR_TEXT];
    net_addr_format(&addr, text);
    net_addr back = at(text);
    EXPECT(net_addr_equal(&addr, &back));
    EXPECT(net_class_name(net_addr_class(&addr))[0] != '\0');
  }
}
