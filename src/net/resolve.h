/* resolve.h - from a name to addresses, in a given time. */
#pragma once

#include "base/cancel.h"
#include "net/addr.h"

#include <cay/status.h>

enum { NET_ADDRS_MAX = 16 };

typedef struct net_addrs {
  net_addr list[NET_ADDRS_MAX];
  size_t count;
} net_addrs;

/* Until `deadline_ns` (clock_mono_ns). CAY_NOT_FOUND: no such name; CAY_TIMEOUT; CAY_IO. */
typedef cay_status net_resolve_fn(void *ctx, const char *host, int64_t deadline_ns, net_addrs *out,
                                  cay_error *err);

typedef struct net_resolver {
  net_resolve_fn *fn;
  void *ctx;
} net_resolver;

/* With `resolver`, or the host's (getaddrinfo(3)) when it is NULL. An address gives itself, without asking.
 *
 * getaddrinfo cannot be interrupted: it runs on a thread of its own, which is left to itself when the time is
 * over or `stop` (NULL: never) is raised, and no more than 16 of those are left at once (CAY_BUSY).
 * CAY_CANCELLED. */
cay_status net_resolve(const net_resolver *resolver, const char *host, int64_t deadline_ns, cancel *stop,
                       net_addrs *out, cay_error *err) CHECKED;
