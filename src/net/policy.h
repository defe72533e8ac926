/* policy.h - where a program may connect to: ordered rules, and no without one.
 *
 * Every address that a connection would be made to is checked, together with the name it was asked by. The
 * first rule that matches decides. A rule matches when each of the kinds of conditions that it has holds:
 *
 *   host    an exact name, *.suffix (below the suffix, not the suffix), or *; one of several
 *   cidr    a block or address; one of several
 *   port    a number or range; one of several
 *   scheme  "https", "http", "tcp", …; one of several
 *
 * An allowing rule reaches a non-public address only when it names that address: by a `cidr` within that
 * special range (net_block_names), by the address itself as `host`, or loopback by the host "localhost". An
 * IPv6 address that carries one of version 4 must be allowed as both.
 *
 * Threads: a policy is never changed; any number may ask it. */
#pragma once

#include "net/addr.h"

#include <cay/status.h>
#include <yyjson.h>

enum { NET_HOST_MAX = 253, NET_RULES_MAX = 1024, NET_CONDITIONS_MAX = 256 };

typedef struct net_policy net_policy;

/* {"rules":[{"action":"allow","host":…,"cidr":…,"port":…,"scheme":…}]}; each condition a value or an array of
 * them. NULL: no rules. CAY_INVALID: the message begins with the path below `path`. CAY_NO_MEMORY. */
cay_status net_policy_read(yyjson_val *value, const char *path, net_policy **out, cay_error *err) CHECKED;
void net_policy_free(net_policy *policy); /* NULL is fine */
OWNED_DEFINE(net_policy, net_policy_free)

typedef struct net_target {
  const char *scheme;
  const char *host; /* as net_host_clean leaves it */
  uint16_t port;
} net_target;

typedef struct net_verdict {
  bool allowed;
  size_t rule;          /* that decided; SIZE_MAX: none */
  enum net_class class; /* of the address */
} net_verdict;

/* `policy` NULL: everything is refused. */
net_verdict net_policy_check(const net_policy *policy, const net_target *target, const net_addr *addr);

/* Whether any address could be allowed. A name for which none could is not even asked for: a question to a
 * name server tells as much as a connection. */
bool net_policy_may(const net_policy *policy, const net_target *target);

/* Small letters, no dot at the end, addresses in their usual form without brackets. False: no name that DNS
 * has (letters, digits, '-', '_'; labels of 1 to 63), and no address; or a number that some resolvers would
 * take for one (0x7f.1, 2130706433). */
bool net_host_clean(const char *host, size_t len, char out[static NET_HOST_MAX + 1]);
