/* hello.h - the first bytes that a client sends: the name in a TLS handshake, or an HTTP request.
 *
 * Pure functions over bytes of guests, which may be anything. Nothing is kept between calls: a caller comes again with more
 * bytes from the same beginning. */
#pragma once

#include "net/policy.h"

enum { NET_HELLO_MAX = 32 << 10 }; /* a first message that is not complete by then is refused */

enum net_hello_kind {
  NET_HELLO_MORE,  /* not enough bytes to tell */
  NET_HELLO_TLS,   /* a ClientHello (RFC 8446); `name` is its server_name (RFC 6066) */
  NET_HELLO_HTTP,  /* the head of an HTTP/1 request (RFC 9112); `name` is its host */
  NET_HELLO_OTHER, /* neither */
  NET_HELLO_BAD,   /* TLS or HTTP that servers read in several ways */
};

enum net_hello_body { NET_BODY_LENGTH, NET_BODY_CHUNKED };

typedef struct net_hello {
  enum net_hello_kind kind;
  bool
      open; /* of MORE: the first line is not over, so that the peer of another protocol may wait for an answer to it */
  bool has_name;
  char name[NET_HOST_MAX + 1]; /* as net_host_clean leaves it, without the port */
  uint16_t name_port;          /* 0: none given */
  /* of HTTP */
  size_t head_len; /* with the empty line */
  char method[33];
  char path[NET_PATH_MAX + 1]; /* net_path_clean; "": it has no one form */
  enum net_hello_body body;
  uint64_t body_len;
  bool upgrade;   /* it asks for another protocol behind it */
  bool websocket; /* for that one, in which no requests follow */
} net_hello;

void net_hello_read(const uint8_t *data, size_t len, net_hello *out);
