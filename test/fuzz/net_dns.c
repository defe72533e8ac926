/* net_dns.c - datagrams to the resolver: any bytes have no answer, or one that fits and repeats the question. */
#include "net/dns.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  static const net_addr addrs[] = { { 4, { 1, 2, 3, 4 } }, { 6, { 0x20, 1 } }, { 4, { 5, 6, 7, 8 } } };
  net_dns_query q;
  uint8_t out[NET_DNS_MAX];
  if (!net_dns_read(data, len, &q)) return 0;
  if (q.question_len > len || strlen(q.host) > NET_HOST_MAX) abort();
  size_t n = net_dns_write(&q, q.code, addrs, COUNT_OF(addrs), 30, out);
  if (n < 12 || n > NET_DNS_MAX || memcmp(out, data, 2) != 0 || (out[2] & 0x80) == 0) abort();
  if (memcmp(out + 12, data + 12, q.question_len - 12) != 0) abort();
  return 0;
}
