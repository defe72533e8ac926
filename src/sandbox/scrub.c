/* scrub.c - taking secrets out of what embedders are given. */
#include "sandbox/scrub.h"

#include <string.h>

void sb_scrub(const cay_sandbox *box, void *data, size_t len) {
  if (!sb_scrubs(box) || len == 0) return;
  buf held = BUF_INIT(BUF_UNLIMITED), clean = BUF_INIT(BUF_UNLIMITED);
  bool fine = net_scrub(box->secrets, &held, data, len, true, &clean) == CAY_OK && clean.len == len;
  if (fine)
    memcpy(data, clean.data, len);
  else
    memset(data, '*', len);
  net_wipe(&held);
  buf_free(&held);
  buf_free(&clean);
}

void sb_scrub_slice(const cay_sandbox *box, cay_slice slice) {
  sb_scrub(box, (void *)(uintptr_t)slice.data, slice.len);
}

size_t sb_scrub_margin(const cay_sandbox *box) { return net_scrub_longest(box->secrets); }

bool sb_scrubber_pass(sb_scrubber *s, const void *data, size_t len, bool last, buf *out) {
  if (s->held.max == 0) s->held = BUF_INIT(BUF_UNLIMITED);
  return net_scrub(s->box->secrets, &s->held, data, len, last, out) == CAY_OK;
}

void sb_scrubber_free(sb_scrubber *s) {
  net_wipe(&s->held);
  buf_free(&s->held);
}
