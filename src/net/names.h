/* names.h - the names that a sandbox has resolved, and the addresses they led to.
 *
 * A connection to an address is matched by the names that were resolved to it: no name means another address than the one that
 * was checked. The oldest names are forgotten beyond NET_NAMES_MAX.
 *
 * Locks       none: the caller's. */
#pragma once

#include "base/list.h"
#include "net/policy.h"
#include "net/resolve.h"

enum { NET_NAMES_MAX = 256 };

typedef struct net_name {
  list node;
  net_addrs addrs;
  int64_t fresh_until_ns;
  char host[]; /* as net_host_clean leaves it */
} net_name;

typedef struct net_names {
  list all; /* the last used first */
  size_t count;
} net_names;

void net_names_init(net_names *names);
void net_names_free(net_names *names);

/* Adds the addresses to those known, the new ones first. False: no memory. */
bool net_names_put(net_names *names, const char *host, const net_addrs *addrs, int64_t fresh_until_ns);
/* NULL: never resolved, or no longer fresh at `now_ns`; borrowed until the next put. */
const net_name *net_names_find(net_names *names, const char *host, int64_t now_ns);
bool net_names_lead(const net_names *names, const char *host, const net_addr *addr);

/* Up to `max` names that led to this address, the last used first; borrowed until the next put. */
size_t net_names_of(const net_names *names, const net_addr *addr, const char **out, size_t max);
