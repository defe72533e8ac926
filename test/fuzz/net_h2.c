/* net_h2.c - a server that sends any bytes to a client of HTTP/2: no crash, and no answer without end. */
#include "net/h2.h"

#include "net/exchange.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const char request[] =
    "POST /a?b HTTP/1.1\r\nHost: a.test\r\nX-Key: value\r\nContent-Length: 4\r\n\r\nbody";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  net_h2 *h = net_h2_new();
  buf in = BUF_INIT(BUF_UNLIMITED), answer = BUF_INIT(BUF_UNLIMITED), out = BUF_INIT(BUF_UNLIMITED);
  if (h == NULL || buf_append(&in, request, sizeof request - 1) != CAY_OK) abort();
  if (!net_h2_put(h, &in) || !net_h2_write(h, &out)) abort();
  for (bool fine = true; fine && len > 1;) {
    size_t n = data[0] < len - 1 ? data[0] : len - 1;
    fine = net_h2_read(h, data + 1, n, &answer) && net_h2_write(h, &out);
    data += n + 1;
    len -= n + 1;
  }
  (void)net_h2_is_over(h);
  if (answer.len > (1U << 24)) abort();
  net_h2_free(h);
  buf_free(&in);
  buf_free(&answer);
  buf_free(&out);
  return 0;
}
