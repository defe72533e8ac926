/* tool_sse.c - a stream of events gives the same whole and byte by byte. */
#include "tool/capability/net/sse.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static bool on_event(void *ctx, const char *data, size_t len) {
  buf *out = ctx;
  return buf_append(out, data, len) == CAY_OK && buf_append_byte(out, '|') == CAY_OK;
}

static bool read_in(const uint8_t *data, size_t len, size_t piece, buf *out) {
  reach_sse sse = REACH_SSE_INIT(4096, on_event, out);
  bool go_on = true;
  for (size_t at = 0; go_on && at < len; at += piece)
    go_on = reach_sse_feed(&sse, data + at, piece < len - at ? piece : len - at);
  if (!go_on && !sse.full) abort();
  reach_sse_free(&sse);
  return go_on;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  if (len > 100000) return 0;
  buf whole = BUF_INIT(1 << 20), bytes = BUF_INIT(1 << 20);
  bool a = read_in(data, len, len + 1, &whole), b = read_in(data, len, 1, &bytes);
  if (a != b || whole.len != bytes.len || (whole.len != 0 && memcmp(whole.data, bytes.data, whole.len) != 0))
    abort();
  buf_free(&whole);
  buf_free(&bytes);
  return 0;
}
