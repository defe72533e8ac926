/* text.c - durations, sizes and numbers: a value within its bounds, or an error with a message. */
#include "base/text.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void must(bool fact) {
  if (!fact) abort();
}

static void check(cay_status status, bool in_bounds, const cay_error *err) {
  must(status == CAY_OK ? in_bounds : status == CAY_INVALID && err->message[0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  char *text = mem_strndup((const char *)data, len);
  if (text == NULL) return 0;
  cay_error err = { 0 };
  int64_t ns = -1;
  uint64_t size, number = 1000;
  check(text_duration(text, &ns, &err), ns >= 0, &err);
  check(text_size(text, &size, &err), true, &err);
  check(text_number(text, 999, &number, &err), number <= 999, &err);
  mem_free(text);
  return 0;
}
