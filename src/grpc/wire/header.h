/* header.h - what gRPC puts into header fields (grpc.io, "gRPC over HTTP2"). */
#pragma once

#include "base/defs.h"

#include <cay/status.h>

/* "100m": at most eight digits and a unit, H M S m u n. False: anything else. */
bool header_timeout(cay_slice value, int64_t *out_ns);

/* application/grpc, application/grpc+proto, and parameters behind them. */
bool header_is_grpc(cay_slice content_type);

/* Whether a list separated by commas has this word. */
bool header_lists(cay_slice list, const char *word);

/* grpc-message: printable ASCII but '%', the rest as %XX. Cut to what fits, never inside an escape; returns the
 * length. */
size_t header_escape(const char *text, char *out, size_t cap);
