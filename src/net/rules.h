/* rules.h - what a policy is made of; for policy.c, and rules.c which reads it. */
#pragma once

#include "net/policy.h"

typedef struct net_ports {
  uint16_t first, last;
} net_ports;

/* No condition of a kind: whatever it is. The texts belong to the rule. */
typedef struct net_rule {
  bool allow;
  char **hosts;
  net_block *blocks;
  net_ports *ports;
  char **schemes;
  size_t host_count, block_count, port_count, scheme_count;
} net_rule;

struct net_policy {
  net_rule *rules;
  size_t count;
};
