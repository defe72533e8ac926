/* git_deepen.c - what servers of git answer, and requests: any bytes are understood within their bounds, or are none. */
#include "git/deepen.h"

#include "input.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_answer(cay_slice bytes) {
  enum { LINE = 41, MOST = 4096 };
  buf shallow = BUF_INIT(MOST);
  size_t used = 0;
  cay_error err = { .message = "" };
  cay_status status = deepen_answer(bytes, &shallow, &used, &err);
  if (status == CAY_OK) {
    must(used >= 4 && used <= bytes.len && shallow.len % LINE == 0);
    for (size_t i = 0; i < shallow.len; i++)
      must(i % LINE == LINE - 1 ? shallow.data[i] == '\n'
                                : memchr("0123456789abcdef", shallow.data[i], 16) != NULL);
  } else {
    must(err.status == status && err.message[0] != '\0');
  }
  buf_free(&shallow);
}

static void check_request(cay_slice bytes) {
  static const char line[] = "000ddeepen 7";
  buf out = BUF_INIT(BUF_UNLIMITED);
  if (deepen_request(bytes, 7, &out) == CAY_OK) {
    must(out.len == bytes.len + sizeof line && memmem(out.data, out.len, line, sizeof line - 1) != NULL);
  }
  buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  const cay_slice bytes = { data, len };
  check_answer(bytes);
  check_request(bytes);
  (void)deepen_has_capability(bytes, "shallow");
  return 0;
}
