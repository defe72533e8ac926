/* http.h - one HTTP request over http or https, to an address that was checked.
 *
 * The name is resolved here; each address is put to the policy, and only those that pass can be connected to:
 * the library that speaks HTTP resolves nothing, and the socket's own address is compared once more. Every
 * redirect begins anew. Nothing of the environment has a say: no proxy, no .netrc, no cookies. TLS is always
 * verified, with the system's certificates or `ca_file`.
 *
 * Blocks the calling thread until the deadline at most, or until `stop` is raised. Any number of threads may
 * call. */
#pragma once

#include "net/policy.h"
#include "net/resolve.h"
#include "net/url.h"

typedef struct net_header {
  const char *name, *value;
} net_header;

typedef struct net_http_response {
  int status;
  buf headers; /* name NUL value NUL …; names in small letters; of the last answer */
  size_t header_count;
  buf body;
  net_url *url; /* where it came from in the end */
  size_t redirects;
  bool truncated; /* the body was longer than body_max */
} net_http_response;

/* The body in pieces as it comes; `so_far` has status and headers. False: enough, and the request ends well. */
typedef bool net_http_piece_fn(void *ctx, const net_http_response *so_far, const void *data, size_t len);

typedef struct net_http_request {
  const char *method; /* a token */
  const net_url *url;
  const net_header *headers;
  size_t header_count;
  cay_slice body; /* data NULL: none */
  int64_t deadline_ns;
  cancel *stop;                 /* NULL: cannot be ended early */
  size_t body_max, headers_max; /* 0: 1 MiB, 64 KiB; decoded (gzip) */
  bool truncate;                /* a longer body is cut; otherwise CAY_LIMIT */
  uint32_t redirects_max;       /* 0: the answer that redirects is the answer; more than this is CAY_LIMIT */
  bool same_origin;             /* redirects elsewhere are CAY_DENIED */
  bool any_address;             /* the operator's own endpoint: no policy is asked */
  const net_policy *policy;
  const net_resolver *resolver; /* NULL: the host's */
  const char *ca_file;          /* NULL: the system's */
  net_http_piece_fn *on_piece;  /* instead of response.body, for status 200 to 299 */
  void *ctx;
} net_http_request;

/* Authorization, Cookie and Proxy-Authorization are not sent on to another origin, nor are any headers whose
 * name has "key", "token", "secret" or "auth" in it. 303, and 301 and 302 after POST, become GET without a
 * body. From https to http is CAY_DENIED.
 *
 * CAY_DENIED: the policy; CAY_NOT_FOUND: no such host; CAY_TIMEOUT; CAY_CANCELLED; CAY_LIMIT; CAY_IO:
 * connection, TLS, or an answer that was cut; CAY_INVALID: a header or the method; CAY_UNSUPPORTED: no
 * libcurl. Messages never have more of a URL than host and port. On failure the response is empty. */
cay_status net_http(const net_http_request *request, net_http_response *response, cay_error *err) CHECKED;
void net_http_response_free(net_http_response *response);
static inline void net_http_response_free_p(net_http_response *r) { net_http_response_free(r); }

const char *net_http_header(const net_http_response *response, const char *name); /* NULL: absent */

/* Whether it can be sent: a token, and a value without controls; not one of those that frame a message
 * (Host, Content-Length, Transfer-Encoding, Connection, Upgrade, TE, Trailer, Expect, Keep-Alive, Proxy-*). */
bool net_http_header_fits(const char *name, const char *value);
bool net_http_is_token(const char *text);
