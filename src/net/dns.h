/* dns.h - the messages of a small name server (RFC 1035): one question in, addresses out. Pure functions.
 *
 * Only questions for addresses are ever looked up. Other types get an empty answer, so that no other data leaves or enters
 * by DNS. */
#pragma once

#include "net/policy.h"

enum { NET_DNS_MAX = 512, NET_DNS_A = 1, NET_DNS_AAAA = 28 };
enum net_dns_code {
  NET_DNS_OK = 0,
  NET_DNS_FORMAT = 1,
  NET_DNS_FAILED = 2,
  NET_DNS_NO_NAME = 3,
  NET_DNS_NOT_DONE = 4
};

typedef struct net_dns_query {
  uint8_t question[12 + 256 + 4]; /* the header and the question as they came */
  size_t question_len;            /* 12: there is no question to repeat */
  enum net_dns_code code;         /* NET_DNS_OK, or what to answer at once */
  uint16_t type;
  char host[NET_HOST_MAX + 1]; /* "": no name that a host can have */
} net_dns_query;

/* False: nothing that has an answer (too short, or an answer itself). */
bool net_dns_read(const uint8_t *data, size_t len, net_dns_query *out);

/* The answer with those of the addresses that are of the asked type, as many as fit. The count of bytes. */
size_t net_dns_write(const net_dns_query *q, enum net_dns_code code, const net_addr *addrs, size_t count,
                     uint32_t ttl_s, uint8_t out[static NET_DNS_MAX]);
