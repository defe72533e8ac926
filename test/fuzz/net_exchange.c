/* net_exchange.c - requests of guests and answers of servers, any bytes: the value of a secret reaches the guest in no
 * answer, and a request gets it nowhere but in the fields of its own host. */
#include "net/exchange.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const char value[] = "s3cr3t-value";

static bool on_check(void *ctx, const net_hello *head, const char **why) {
  (void)ctx;
  *why = "";
  return strcmp(head->name, "a.test") == 0;
}

static void on_tell(void *ctx, const char *secret, bool put) { (void)ctx, (void)secret, (void)put; }

static const net_exchange_ops ops = { on_check, on_tell };

static net_secrets *secrets(void) {
  static const char *const hosts[] = { "a.test", NULL };
  static net_secrets *s;
  net_secret_spec spec = {
    .name = "KEY", .value = value, .placeholder = "PLACEHOLDER", .hosts = hosts, .places = 5
  };
  if (s == NULL && net_secrets_new(&spec, 1, &s, NULL) != CAY_OK) abort();
  return s;
}

/* The bytes are pieces: a length and a side each. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  static net_hello scratch;
  net_exchange x;
  net_exchange_init(&x, secrets(), "a.test", 443);
  x.ops = &ops;
  x.scratch = &scratch;
  while (len > 1) {
    bool up = (data[0] & 1) != 0;
    size_t n = (size_t)(data[0] >> 1) < len - 1 ? (size_t)(data[0] >> 1) : len - 1;
    if (buf_append(up ? &x.request_in : &x.answer_in, data + 1, n) != CAY_OK) abort();
    if (!(up ? net_exchange_request(&x) : net_exchange_answer(&x, n == 0))) abort();
    data += n + 1;
    len -= n + 1;
  }
  if (x.answer_out.len > 0 && memmem(x.answer_out.data, x.answer_out.len, value, strlen(value)) != NULL)
    abort();
  net_exchange_free(&x);
  return 0;
}
