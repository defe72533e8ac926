/* addr.h - addresses of IP version 4 and 6, blocks of them, and what kind of place one is. Pure functions. */
#pragma once

#include "base/defs.h"

#include <sys/socket.h>

enum { NET_ADDR_TEXT = 46 }; /* INET6_ADDRSTRLEN */

typedef struct net_addr {
  uint8_t family;    /* 4 or 6 */
  uint8_t bytes[16]; /* in network order; of version 4 the first four, the others 0 */
} net_addr;

/* Dotted quad (inet_pton(3): no octal, no short forms) or RFC 4291 text without brackets and zone. */
bool net_addr_parse(const char *text, net_addr *out);
void net_addr_format(const net_addr *addr, char out[static NET_ADDR_TEXT]);
bool net_addr_equal(const net_addr *a, const net_addr *b);

/* False: neither AF_INET nor AF_INET6. */
bool net_addr_from(const struct sockaddr *sa, net_addr *out);

/* The version 4 address inside: ::ffff:a.b.c.d, ::a.b.c.d, 6to4 (2002::/16), NAT64 (64:ff9b::/96 and
 * 64:ff9b:1::/48), Teredo's client (2001::/32), ISATAP (an interface of 5efe). False: it has none. */
bool net_addr_inner(const net_addr *addr, net_addr *out);

typedef struct net_block {
  net_addr base;
  uint8_t bits;
} net_block;

/* "10.0.0.0/8", "fd00::/8", or one address. Bits behind the prefix must be 0. */
bool net_block_parse(const char *text, net_block *out);
bool net_block_has(const net_block *block, const net_addr *addr);

enum net_class {
  NET_PUBLIC,
  NET_METADATA, /* of a cloud: credentials for any client */
  NET_LOOPBACK,
  NET_PRIVATE,
  NET_SHARED, /* carrier-grade NAT, RFC 6598 */
  NET_LINK_LOCAL,
  NET_MULTICAST,
  NET_UNSPECIFIED,
  NET_TRANSLATED, /* an IPv6 form that carries a version 4 address */
  NET_RESERVED,   /* documentation, benchmarks, not assigned */
};

enum net_class net_addr_class(const net_addr *addr);
const char *net_class_name(enum net_class class); /* "link-local"; static */

/* Whether `block` has this address and lies within its special range: 10.1.0.0/16 names 10.1.2.3, 0.0.0.0/0
 * names nothing, and a metadata address is named by itself alone. */
bool net_block_names(const net_block *block, const net_addr *addr);
