/* limits.h - what a sandbox may use of the network. */
#pragma once

#include "base/defs.h"

typedef struct net_limits {
  uint32_t connections;    /* open at once */
  uint64_t sent, received; /* bytes of all connections together */
  uint64_t rate;           /* bytes per second, both ways together */
  uint32_t connect_ms;     /* until a connection is made */
  uint32_t idle_ms;        /* without a byte either way */
} net_limits;

/* The host's, where it says nothing else; UINT64_MAX is no limit. */
#define NET_LIMITS_DEFAULT                                                                                   \
  ((net_limits){ .connections = 1024,                                                                        \
                 .sent = UINT64_MAX,                                                                         \
                 .received = UINT64_MAX,                                                                     \
                 .rate = UINT64_MAX,                                                                         \
                 .connect_ms = 30000,                                                                        \
                 .idle_ms = 600000 })

#define NET_LIMIT_(member)                                                                                   \
  (wanted->member == 0 || wanted->member > ceiling->member ? ceiling->member : wanted->member)

/* The wanted limits, where they are less than the ceiling; 0 asks for the ceiling. */
static inline net_limits net_limits_under(const net_limits *wanted, const net_limits *ceiling) {
  return (net_limits){ .connections = NET_LIMIT_(connections),
                       .sent = NET_LIMIT_(sent),
                       .received = NET_LIMIT_(received),
                       .rate = NET_LIMIT_(rate),
                       .connect_ms = NET_LIMIT_(connect_ms),
                       .idle_ms = NET_LIMIT_(idle_ms) };
}
