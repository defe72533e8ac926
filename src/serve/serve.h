/* serve.h - the servers of cay, on the public interface alone.
 *
 * serve_stdio answers JSON-RPC 2.0 requests, one JSON object a line (doc/reference/json-rpc.md). At the end of its
 * input it finishes the pending requests, and returns. It ends everything and returns at the call `kill`, when the other
 * end of `out` is closed, and when the process that started it is gone. Nothing but replies, requests and notifications
 * is ever written to `out`. SIGPIPE is ignored from then on. */
#pragma once

#include <cay/cay.h>
#include <stdbool.h>

typedef struct serve_options {
  int in, out;           /* descriptors; not closed */
  const char *guest_dir; /* NULL: the installed guests */
  const char *cache_dir; /* NULL: none */
  size_t line_max;       /* bytes of one request; 0: SERVE_LINE_MAX */
  cay_log_fn *log;
  void *log_ctx;
  const struct serve_client
      *client;      /* in the same process, in place of `in` and `out`; NULL: none (client.h) */
  bool *unfinished; /* set when an engine was left as it is, because it still compiles for a guest that is
                       gone: the process is to end by _exit(2). NULL: that is waited for */
} serve_options;

enum { SERVE_LINE_MAX = 64 << 20 };

/* CAY_OK when it ended as it should; CAY_NO_MEMORY, CAY_IO when it could not begin or go on. */
CAY_CHECK cay_status serve_stdio(const serve_options *options, cay_error *err);
