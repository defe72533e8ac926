/* addr.c - IP addresses and blocks: parsing, formatting, and the table of special ranges (addr.h). */
#include "net/addr.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

typedef struct range {
  net_block block;
  enum net_class class;
} range;

#define V4(a, b, c, d, n, what) { { { 4, { a, b, c, d } }, n }, what }
#define V6(n, what, ...) { { { 6, { __VA_ARGS__ } }, n }, what }

/* The first row that contains an address decides its kind. */
static const range RANGES[] = {
  V4(169, 254, 169, 254, 32, NET_METADATA), /* AWS, Azure, Google, and most others */
  V4(169, 254, 170, 2, 32, NET_METADATA),   /* credentials of containers */
  V4(169, 254, 170, 23, 32, NET_METADATA),  /* identities of pods */
  V4(100, 100, 100, 200, 32, NET_METADATA), /* Alibaba */
  V4(168, 63, 129, 16, 32, NET_METADATA),   /* Azure's host; its range is public */
  V4(192, 0, 0, 192, 32, NET_METADATA),     /* Oracle */
  V4(0, 0, 0, 0, 8, NET_UNSPECIFIED),
  V4(10, 0, 0, 0, 8, NET_PRIVATE),
  V4(100, 64, 0, 0, 10, NET_SHARED),
  V4(127, 0, 0, 0, 8, NET_LOOPBACK),
  V4(169, 254, 0, 0, 16, NET_LINK_LOCAL),
  V4(172, 16, 0, 0, 12, NET_PRIVATE),
  V4(192, 0, 0, 0, 24, NET_RESERVED),
  V4(192, 0, 2, 0, 24, NET_RESERVED),
  V4(192, 88, 99, 0, 24, NET_RESERVED),
  V4(192, 168, 0, 0, 16, NET_PRIVATE),
  V4(198, 18, 0, 0, 15, NET_RESERVED),
  V4(198, 51, 100, 0, 24, NET_RESERVED),
  V4(203, 0, 113, 0, 24, NET_RESERVED),
  V4(224, 0, 0, 0, 4, NET_MULTICAST),
  V4(240, 0, 0, 0, 4, NET_RESERVED),
  V4(0, 0, 0, 0, 0, NET_PUBLIC),
  V6(128, NET_METADATA, 0xfd, 0, 0x0e, 0xc2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x54), /* fd00:ec2::254 */
  V6(128, NET_METADATA, 0xfd, 0, 0x0e, 0xc2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x23),    /* fd00:ec2::23 */
  V6(128, NET_METADATA, 0xfd, 0x20, 0, 0xce, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x54), /* fd20:ce::254 */
  V6(128, NET_UNSPECIFIED, 0),
  V6(128, NET_LOOPBACK, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1),
  V6(96, NET_TRANSLATED, 0),
  V6(96, NET_TRANSLATED, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff),
  V6(96, NET_TRANSLATED, 0, 0x64, 0xff, 0x9b),
  V6(48, NET_TRANSLATED, 0, 0x64, 0xff, 0x9b, 0, 1),
  V6(32, NET_TRANSLATED, 0x20, 0x01, 0, 0),
  V6(16, NET_TRANSLATED, 0x20, 0x02),
  V6(23, NET_RESERVED, 0x20, 0x01, 0, 0),
  V6(32, NET_RESERVED, 0x20, 0x01, 0x0d, 0xb8),
  V6(20, NET_RESERVED, 0x3f, 0xff),
  V6(7, NET_PRIVATE, 0xfc),
  V6(10, NET_LINK_LOCAL, 0xfe, 0x80),
  V6(10, NET_PRIVATE, 0xfe, 0xc0), /* site-local, RFC 3879 */
  V6(8, NET_MULTICAST, 0xff),
  V6(3, NET_PUBLIC, 0x20),
  V6(3, NET_RESERVED, 0), /* the rest: nothing outside of 2000::/3 is assigned */
  V6(2, NET_RESERVED, 0x40),
  V6(1, NET_RESERVED, 0x80),
};

/* ---- addresses ---- */

bool net_addr_parse(const char *text, net_addr *out) {
  net_addr addr = { .family = strchr(text, ':') != NULL ? 6 : 4 };
  if (inet_pton(addr.family == 6 ? AF_INET6 : AF_INET, text, addr.bytes) != 1) return false;
  *out = addr;
  return true;
}

void net_addr_format(const net_addr *addr, char out[static NET_ADDR_TEXT]) {
  if (inet_ntop(addr->family == 6 ? AF_INET6 : AF_INET, addr->bytes, out, NET_ADDR_TEXT) == NULL)
    out[0] = '\0';
}

bool net_addr_equal(const net_addr *a, const net_addr *b) {
  return a->family == b->family && memcmp(a->bytes, b->bytes, a->family == 6 ? 16 : 4) == 0;
}

bool net_addr_from(const struct sockaddr *sa, net_addr *out) {
  net_addr addr = { 0 };
  if (sa->sa_family == AF_INET) {
    struct sockaddr_in in;
    memcpy(&in, sa, sizeof in);
    addr.family = 4;
    memcpy(addr.bytes, &in.sin_addr, 4);
  } else if (sa->sa_family == AF_INET6) {
    struct sockaddr_in6 in6;
    memcpy(&in6, sa, sizeof in6);
    addr.family = 6;
    memcpy(addr.bytes, &in6.sin6_addr, 16);
  } else {
    return false;
  }
  *out = addr;
  return true;
}

/* The place of the four bytes; -1: there are none. */
static int inner_at(const uint8_t *b) {
  static const uint8_t zeros[12] = { 0 }, mapped[12] = { [10] = 0xff, 0xff };
  static const uint8_t nat64[12] = { 0, 0x64, 0xff, 0x9b }, local[6] = { 0, 0x64, 0xff, 0x9b, 0, 1 };
  static const uint8_t teredo[4] = { 0x20, 0x01 }, six_to_four[2] = { 0x20, 0x02 };
  if (memcmp(b, mapped, 12) == 0 || memcmp(b, nat64, 12) == 0 || memcmp(b, teredo, 4) == 0) return 12;
  if (memcmp(b, six_to_four, 2) == 0) return 2;
  if (memcmp(b, local, 6) == 0) return 12; /* a /96 inside of it, as it is mostly used */
  bool isatap = (b[8] & 0xfd) == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe; /* RFC 5214 */
  if (isatap) return 12;
  bool tiny = memcmp(b + 12, zeros, 3) == 0 && b[15] <= 1; /* :: and ::1 are themselves */
  return memcmp(b, zeros, 12) == 0 && !tiny ? 12 : -1;
}

bool net_addr_inner(const net_addr *addr, net_addr *out) {
  int at = addr->family == 6 ? inner_at(addr->bytes) : -1;
  if (at < 0) return false;
  bool teredo = addr->bytes[0] == 0x20 && addr->bytes[1] == 0x01; /* RFC 4380: the bits are turned around */
  net_addr inner = { .family = 4 };
  for (int i = 0; i < 4; i++) inner.bytes[i] = (uint8_t)(teredo ? ~addr->bytes[at + i] : addr->bytes[at + i]);
  *out = inner;
  return true;
}

/* ---- blocks ---- */

static bool has_tail(const net_block *block) {
  unsigned width = block->base.family == 6 ? 128 : 32;
  for (unsigned bit = block->bits; bit < width; bit++)
    if ((block->base.bytes[bit / 8] & (0x80 >> (bit % 8))) != 0) return true;
  return false;
}

bool net_block_parse(const char *text, net_block *out) {
  char copy[NET_ADDR_TEXT + 4];
  size_t len = strlen(text);
  if (len >= sizeof copy) return false;
  memcpy(copy, text, len + 1);
  char *slash = strchr(copy, '/');
  if (slash != NULL) *slash = '\0';
  net_block block;
  if (!net_addr_parse(copy, &block.base)) return false;
  unsigned width = block.base.family == 6 ? 128 : 32, bits = width;
  if (slash != NULL) {
    const char *digits = slash + 1;
    size_t count = strlen(digits);
    if (count < 1 || count > 3 || strspn(digits, "0123456789") != count) return false;
    bits = (unsigned)strtoul(digits, NULL, 10);
  }
  if (bits > width) return false;
  block.bits = (uint8_t)bits;
  if (has_tail(&block)) return false;
  *out = block;
  return true;
}

bool net_block_has(const net_block *block, const net_addr *addr) {
  if (block->base.family != addr->family) return false;
  unsigned whole = block->bits / 8, rest = block->bits % 8;
  if (memcmp(block->base.bytes, addr->bytes, whole) != 0) return false;
  return rest == 0 || ((block->base.bytes[whole] ^ addr->bytes[whole]) >> (8 - rest)) == 0;
}

/* ---- kinds ---- */

static const range *addr_range_of(const net_addr *addr) {
  size_t i = 0;
  while (!net_block_has(&RANGES[i].block, addr)) i++; /* the table covers both versions */
  return &RANGES[i];
}

enum net_class net_addr_class(const net_addr *addr) { return addr_range_of(addr)->class; }

const char *net_class_name(enum net_class class) {
  static const char *const names[] = { "public",     "metadata",  "loopback",    "private",    "shared",
                                       "link-local", "multicast", "unspecified", "translated", "reserved" };
  return names[class];
}

bool net_block_names(const net_block *block, const net_addr *addr) {
  return net_block_has(block, addr) && block->bits >= addr_range_of(addr)->block.bits;
}
