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
  char **methods;
  char **paths;
  size_t host_count, block_count, port_count, scheme_count, method_count, path_count;
} net_rule;

/* ---- index.c: the rules that could match, found without looking at all of them ----
 *
 * Rules with host names hang in a table under each name, those for `*.suffix` under ".suffix". The others stand in
 * one array of spans, one per block, compact enough that a thousand are compared in a microsecond. */

typedef struct net_named { /* the rules for one name */
  const char *key;         /* of a rule; NULL: a free place */
  const uint32_t *rules;   /* ascending */
  size_t count;
} net_named;

typedef struct net_span {
  uint64_t hi, lo, hi_mask, lo_mask; /* of the address; all masks 0: any */
  uint32_t rule;
  uint16_t port_first, port_last; /* a range that has all of the rule's ports */
  uint8_t not_family;             /* 1: not for version 4, 2: not for version 6; 0: for both */
} net_span;

typedef struct net_index {
  net_named *table; /* open addressing; a power of two */
  size_t table_len;
  uint32_t *refs; /* what the table points into */
  net_span *spans;
  size_t span_count;
} net_index;

struct net_policy {
  net_rule *rules;
  size_t count, cap;
  net_index index;
};

cay_status net_index_build(net_policy *policy, cay_error *err) CHECKED;
void net_index_free(net_index *index);

enum { NET_CANDIDATES_MAX = NET_HOST_MAX / 2 + 4 };

/* Candidates in the order of the rules: those for one host, and of the others those whose block has `addr` (NULL: all)
 * and whose ports may have `port` (0: all). */
typedef struct net_candidates {
  const net_index *index;
  struct {
    const uint32_t *at, *end;
  } named[NET_CANDIDATES_MAX];
  size_t named_count, span;
  uint64_t hi, lo;
  uint16_t port;
  uint8_t family; /* as net_span.not_family; 0: no address */
} net_candidates;

void net_candidates_init(net_candidates *c, const net_index *index, const char *host, uint16_t port,
                         const net_addr *addr);
size_t net_candidates_next(net_candidates *c); /* SIZE_MAX: no more */

/* ---- rules.c, rule_text.c: reading. A rule is made with net_policy_add_rule and stays the policy's. ---- */

net_rule *net_policy_add_rule(net_policy *policy); /* zeroed; NULL: no memory, or NET_RULES_MAX */
cay_status net_rules_read(net_policy *policy, yyjson_val *rules, const char *path, cay_error *err) CHECKED;
/* "example.com:443", "*.example.com", "10.0.0.0/8:8000-8999", "[::1]:80", "*:443" */
cay_status net_rule_read_text(net_policy *policy, const char *text, bool allow, cay_error *err) CHECKED;
bool net_ports_parse(const char *text, net_ports *out); /* "80", "8000-8010" */
