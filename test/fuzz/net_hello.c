/* net_hello.c - first bytes of guests: any bytes have one kind, more bytes change it only from "more", and a connection cut into
 * pieces anywhere shows the same requests. */
#include "net/flow.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* A digest of the requests seen; bytes come `piece` at a time. */
static uint64_t requests(const uint8_t *data, size_t len, size_t piece) {
  static net_hello hello;
  net_flow flow = { 0 };
  const net_hello *head;
  uint64_t digest = 1;
  size_t at = 0, have = 0;
  while (at < len) {
    int64_t n = net_flow_pass(&flow, data + at, have - at, &hello, &head);
    if (head != NULL) {
      if (head->head_len == 0 || head->head_len > have - at) abort();
      digest = digest * 31 + head->head_len + at;
      net_flow_begin(&flow, head);
      n = (int64_t)head->head_len;
    }
    if (n < 0) return digest;
    if ((size_t)n > have - at) abort();
    at += (size_t)n;
    if (n > 0) continue;
    if (have == len) return digest;
    have = have + piece < len ? have + piece : len;
  }
  return digest;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  static net_hello whole, part;
  net_hello_read(data, len, &whole);
  if (whole.kind == NET_HELLO_HTTP &&
      (whole.head_len > len || memchr(whole.path, '%', strlen(whole.path)) != NULL))
    abort();
  net_hello_read(data, len / 2, &part);
  if (part.kind != NET_HELLO_MORE && len / 2 > 0 && part.kind != whole.kind) abort();
  if (requests(data, len, 1) != requests(data, len, len != 0 ? len : 1)) abort();
  return 0;
}
