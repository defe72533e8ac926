/* scrub.h - the values of a sandbox's secrets, in what leaves the sandbox for its embedder: output, values, errors, displays, arguments
 * of callbacks, files. Guests never have a value (net/secret.h); this is for those that got one in a form that the network's scrubber
 * does not know, and made it plain. A value becomes as many '*', in each form that net_scrub knows, so that lengths stay.
 *
 * A sandbox without secrets pays a comparison. */
#pragma once

#include "base/buf.h"
#include "net/secret.h"
#include "sandbox/sandbox.h"

/* Bytes that are whole, in place. Without memory all of them become '*'. */
void sb_scrub(const cay_sandbox *box, void *data, size_t len);
/* A text of a result that this library made. */
void sb_scrub_slice(const cay_sandbox *box, cay_slice slice);

/* A part of something longer, in place: `data` has up to sb_scrub_margin bytes more on each side of the wanted bytes, as far
 * as there are some. */
size_t sb_scrub_margin(const cay_sandbox *box);

/* One stream of output. What may be the beginning of a value is held until more comes. */
typedef struct sb_scrubber {
  const cay_sandbox *box;
  buf held;
} sb_scrubber;

static inline bool sb_scrubs(const cay_sandbox *box) { return box->secrets != NULL; }
/* The bytes of the stream that may be given on, appended to `out`; `last`: none follow. False: no memory, and these bytes are
 * lost. */
bool sb_scrubber_pass(sb_scrubber *s, const void *data, size_t len, bool last, buf *out);
void sb_scrubber_free(sb_scrubber *s);
