/* sse.h - a stream of events (WHATWG HTML, 9.2), in pieces of any size. Only `data` matters here. */
#pragma once

#include "base/buf.h"

/* False: enough; nothing more is read. */
typedef bool reach_sse_fn(void *ctx, const char *data, size_t len);

typedef struct reach_sse {
  buf line, data; /* set `max` of both */
  bool has_data, after_cr, begun, full;
  reach_sse_fn *fn;
  void *ctx;
} reach_sse;

#define REACH_SSE_INIT(most, on_event, context)                                                              \
  ((reach_sse){ .line = { .max = (most) }, .data = { .max = (most) }, .fn = (on_event), .ctx = (context) })

/* False: the callback had enough, or (then sse->full) a line or event is longer than allowed. */
bool reach_sse_feed(reach_sse *sse, const void *data, size_t len);
void reach_sse_free(reach_sse *sse);
