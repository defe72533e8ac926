/* url.h - http and https URLs (RFC 3986), parsed strictly and written again from the parsed parts.
 *
 * The checked host and the connected host must be the same, so there is one parser: the URL given on is the
 * one made here. No user name or password, no blanks or controls, no backslash, nothing outside of ASCII; the
 * host as net_host_clean wants it. A fragment is dropped. */
#pragma once

#include "base/buf.h"
#include "net/policy.h"

enum { NET_URL_MAX = 8192 };

typedef struct net_url {
  bool secure; /* https */
  char host[NET_HOST_MAX + 1];
  uint16_t port;
  char rest[NET_URL_MAX + 1]; /* path and query; begins with '/' */
} net_url;

/* CAY_INVALID. */
cay_status net_url_parse(const char *text, size_t len, net_url *out, cay_error *err) CHECKED;

/* A reference as redirects have it (RFC 3986, 5.2; dots in paths stay). Bytes that a URL cannot have are
 * written as %XX. CAY_INVALID. */
cay_status net_url_follow(const net_url *base, const char *reference, net_url *out, cay_error *err) CHECKED;

/* "https://host:port/path?query"; a port is written when it is not the scheme's, brackets where they belong. */
cay_status net_url_write(const net_url *url, buf *out) CHECKED;

/* `name=value` behind the query, with %XX for all but letters, digits, '-', '.', '_' and '~'. False: too
 * long. */
bool net_url_add_query(net_url *url, const char *name, const char *value);

/* The text with %XX as above, at the end of `out`. */
cay_status net_url_escape(const char *text, buf *out) CHECKED;

bool net_url_same_origin(const net_url *a, const net_url *b);
net_target net_url_target(const net_url *url); /* borrows from it */
