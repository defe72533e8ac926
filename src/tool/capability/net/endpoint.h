/* endpoint.h - a server that the configuration names, spoken to over HTTP. */
#pragma once

#include "net/http.h"
#include "tool/capability/net/keys.h"

enum {
  REACH_TIMEOUT_MS = 60000,
  REACH_TIMEOUT_MAX_MS = 600000,
  REACH_ANSWER_MAX = 8 << 20,
  REACH_EXTRA_MAX = 8
};

typedef struct reach_endpoint {
  const char *url; /* may have places for a query: see search.c */
  reach_values headers;
  const char *ca_file;
  uint32_t timeout_ms;
  bool there;
} reach_endpoint;

/* The members url, headers, key (a value that becomes "Authorization: Bearer …"), timeout_ms, ca_file. */
cay_status reach_endpoint_read(const reach_place *p, yyjson_val *object, reach_endpoint *out) CHECKED;

/* How long something may take: until a moment (clock_mono_ns), or until it is cancelled. */
typedef struct reach_limit {
  int64_t deadline_ns;
  cancel *stop; /* NULL: it is always wanted */
} reach_limit;

typedef struct reach_exchange {
  const reach_endpoint *endpoint;
  const net_url *url; /* NULL: the endpoint's own */
  const char *method;
  cay_slice body; /* JSON */
  net_header extra[REACH_EXTRA_MAX];
  size_t extra_count;
  reach_limit limit;
  net_http_piece_fn *on_piece;
  void *ctx;
} reach_exchange;

/* As net_http; `keys` has what may not be seen of the answer. */
cay_status reach_exchange_run(const tool_reach *reach, const reach_exchange *exchange, reach_keys *keys,
                              net_http_response *response, cay_error *err) CHECKED;

/* JSON of a server, with its keys hidden. CAY_CORRUPT: it is none. */
cay_status reach_parse(const reach_keys *keys, const void *data, size_t len, yyjson_doc **out,
                       cay_error *err) CHECKED;
