/* policy.h - where a program may connect to: ordered rules, and no without one.
 *
 * One policy serves tools and sandboxes. Every address that a connection would be made to is checked, together with the
 * name it was asked by. The first rule that matches decides. A rule matches when each of the kinds of conditions
 * that it has holds:
 *
 *   host    an exact name, *.suffix (below the suffix, not the suffix), or *; one of several
 *   cidr    a block or address; one of several
 *   port    a number or range; one of several
 *   scheme  "https", "http"; "tcp" is any connection of a socket; one of several
 *   method  of an HTTP request, one of several
 *   path    what the path of an HTTP request begins with, up to a slash; one of several
 *
 * An allowing rule reaches a non-public address only when it names that address: by a `cidr` within that
 * special range (net_block_names), by the address itself as `host`, or loopback by the host "localhost". An
 * IPv6 address that carries one of version 4 must be allowed as both.
 *
 * A condition on something that is not known yet (the scheme before the first bytes, the path inside of TLS) does not
 * hold for an allowing rule and holds for a denying one: net_policy_check fails closed.
 *
 * Cost        a decision does not depend on the number of rules with hosts; it compares one block of each of the others.
 *
 * Threads     a policy is never changed; any number may ask it. */
#pragma once

#include "net/addr.h"

#include <cay/status.h>
#include <yyjson.h>

enum { NET_HOST_MAX = 253, NET_RULES_MAX = 1024, NET_CONDITIONS_MAX = 256, NET_PATH_MAX = 8192 };

typedef struct net_policy net_policy;

/* {"rules":[{"action":"allow","host":…,"cidr":…,"port":…,"scheme":…,"method":…,"path":…}]}; each condition a value or an array of
 * them. NULL: no rules. CAY_INVALID: the message begins with the path below `path`. CAY_NO_MEMORY. */
cay_status net_policy_read(yyjson_val *value, const char *path, net_policy **out, cay_error *err) CHECKED;
void net_policy_free(net_policy *policy); /* NULL is fine */
OWNED_DEFINE(net_policy, net_policy_free)

/* The parts of a policy in the order in which their rules stand. Texts are "HOST[:PORTS]", with an address or block in
 * place of the host if need be: "*.example.com:443", "10.0.0.0/8:8000-8999", "[::1]:80"; NULL ended, or NULL. */
typedef struct net_policy_parts {
  const char *const *deny, *const *allow;
  yyjson_val *rules;  /* an array as above, or NULL */
  const char *preset; /* net_preset_names, or NULL */
} net_policy_parts;

/* CAY_INVALID: a text, a rule, or no such preset. */
cay_status net_policy_build(const net_policy_parts *parts, net_policy **out, cay_error *err) CHECKED;
const char *net_preset_names(void);                 /* "none, package-registries, all-public"; static */
bool net_policy_is_empty(const net_policy *policy); /* it can only deny */
bool net_policy_denies(const net_policy *policy);   /* it has a rule that does */

typedef struct net_target {
  const char *scheme; /* NULL: not seen yet */
  const char *host;   /* as net_host_clean leaves it */
  uint16_t port;      /* 0: not known yet */
  bool socket;        /* a connection of a socket: "tcp" means it, too */
  const char *method; /* NULL: not seen */
  const char *path;   /* as net_path_clean leaves it; NULL: not seen */
} net_target;

typedef struct net_verdict {
  bool allowed;
  size_t rule;          /* that decided; SIZE_MAX: none */
  enum net_class class; /* of the address */
} net_verdict;

/* `policy` NULL: everything is refused. */
net_verdict net_policy_check(const net_policy *policy, const net_target *target, const net_addr *addr);

/* Whether it could be allowed once the unknown parts are seen; `addr` NULL: before the name is resolved. A name for
 * which no address could be allowed is not even asked for: a question to a name server tells as much as a
 * connection. */
net_verdict net_policy_may(const net_policy *policy, const net_target *target, const net_addr *addr);

/* Whether a sandbox may ask for this name: some connection to it could be allowed, by a rule that is about names. A rule with
 * a block alone makes no name resolvable, or any text could leave the sandbox as a question. */
net_verdict net_policy_may_resolve(const net_policy *policy, const char *host);

/* The path of a request target up to '?', with %XX of unreserved characters decoded and dot segments resolved. False:
 * it has an empty segment, an encoded slash, backslash, NUL or control, or leads above the root; such a path matches no
 * allowing rule about paths, and each denying one. */
bool net_path_clean(const char *target, size_t len, char *out, size_t cap);

/* Small letters, no dot at the end, addresses in their usual form without brackets. False: no name that DNS
 * has (letters, digits, '-', '_'; labels of 1 to 63), and no address; or a number that some resolvers would
 * take for one (0x7f.1, 2130706433). */
bool net_host_clean(const char *host, size_t len, char out[static NET_HOST_MAX + 1]);
