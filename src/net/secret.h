/* secret.h - the secrets of one sandbox: what guests see in their place, where each may go, and where it may not be seen.
 *
 * Guests have a placeholder. A relay (relay.h) puts the value in its place in requests to the secret's hosts, inside of TLS;
 * whatever comes back is scrubbed of the value.
 *
 * Memory      values, and the forms of them that the scrubber knows, are in pages of their own: left out of core dumps,
 *             zero in a forked child, locked where the host allows it, wiped in the end.
 *
 * Threads     never changed once made; any number may ask. */
#pragma once

#include "base/buf.h"
#include "net/policy.h"

enum {
  NET_SECRET_MIN = 8, /* shorter ones cannot be told from other text */
  NET_SECRET_MAX = 4096,
  NET_SECRET_NAME_MAX = 64,
  NET_SECRETS_MAX = 64,
  NET_PLACEHOLDER_MAX = 128,
  NET_SECRET_HOSTS_MAX = 64,
};

enum { NET_SECRET_IN_HEADER = 1, NET_SECRET_IN_QUERY = 2, NET_SECRET_IN_BODY = 4 };

typedef struct net_secret_spec {
  const char *name;         /* of a variable: [A-Za-z_][A-Za-z0-9_]* */
  const char *value;        /* printable ASCII */
  const char *placeholder;  /* [A-Za-z0-9_.-]; NULL: one is made */
  const char *const *hosts; /* "api.example.com", "*.example.com:8443"; port 443 without one; NULL ended */
  unsigned places;          /* NET_SECRET_IN_…; 0: headers */
} net_secret_spec;

typedef struct net_secrets net_secrets;

/* CAY_INVALID: the message names the secret and never has its value. CAY_NO_MEMORY. */
cay_status net_secrets_new(const net_secret_spec *specs, size_t count, net_secrets **out,
                           cay_error *err) CHECKED;
void net_secrets_free(net_secrets *s); /* NULL is fine */
OWNED_DEFINE(net_secrets, net_secrets_free)

size_t net_secrets_count(const net_secrets *s); /* NULL: 0 */
const char *net_secret_name(const net_secrets *s, size_t i);
const char *net_secret_placeholder(const net_secrets *s, size_t i);

/* Whether any secret is for this host, so that its TLS ends here. */
bool net_secrets_have(const net_secrets *s, const char *host, uint16_t port);
bool net_secret_fits(const net_secrets *s, size_t i, const char *host, uint16_t port, unsigned place);

/* ---- substitution ---- */

enum net_secret_form { NET_FORM_PLAIN, NET_FORM_URL, NET_FORM_JSON };

/* For one place of one request. `put` and `left` have a bit for each secret whose placeholder was replaced, or stayed because
 * this host or place is not granted. */
typedef struct net_secret_use {
  const net_secrets *secrets;
  const char *host;
  uint16_t port;
  uint64_t put, left;
} net_secret_use;

/* The most bytes that `len` bytes of text become by substitution: room for them keeps values from being copied. */
size_t net_secret_bound(const net_secrets *s, const void *text, size_t len);
cay_status net_secret_substitute(net_secret_use *use, unsigned place, enum net_secret_form form,
                                 const void *text, size_t len, buf *out) CHECKED;
/* The value of a field; in one of Basic authentication also within the base64. */
cay_status net_secret_substitute_field(net_secret_use *use, const char *value, size_t len, buf *out) CHECKED;

/* Placeholders as {{NAME}}, for a text that is read in another sandbox, and back. */
cay_status net_secrets_write_names(const net_secrets *s, const void *text, size_t len, buf *out) CHECKED;
cay_status net_secrets_read_names(const net_secrets *s, const void *text, size_t len, buf *out) CHECKED;

/* ---- placeholders that go elsewhere ---- */

typedef struct net_sighting { /* the last bytes of a stream */
  uint8_t tail[NET_PLACEHOLDER_MAX];
  size_t len;
} net_sighting;

/* A bit for each secret whose placeholder is in the stream and ends in these bytes. */
uint64_t net_secrets_see(const net_secrets *s, net_sighting *at, const void *data, size_t len);

/* ---- scrub.c: values that come back ---- */

/* Appends the stream to `out` with each value replaced by as many '*': as it is, in capitals or small, in base64 (both
 * alphabets, any alignment), hexadecimal, backwards, and with any of its characters as %41, \u0041, \x41, \101, =41, &#65;,
 * a backslash before it, or NULs between. `held` keeps what may be the beginning of one. */
cay_status net_scrub(const net_secrets *s, buf *held, const void *data, size_t len, bool last,
                     buf *out) CHECKED;

/* The most bytes that one value can have in any form. NULL: 0. */
size_t net_scrub_longest(const net_secrets *s);

/* Whether any placeholder is in these bytes. */
bool net_secrets_are_in(const net_secrets *s, const void *data, size_t len);

/* Clears the bytes, too. */
void net_wipe(buf *b);

/* For scrub.c: */
typedef struct net_pattern {
  const uint8_t *text;
  size_t len;
  enum net_pattern_kind {
    NET_PATTERN_ENCODED,
    NET_PATTERN_BASE64,
    NET_PATTERN_HEX,
    NET_PATTERN_BACKWARDS
  } kind;
} net_pattern;

typedef struct net_patterns {
  net_pattern *list;
  size_t count;
  bool starts[256]; /* bytes with which some form begins */
} net_patterns;

const net_patterns *net_secrets_patterns(const net_secrets *s);
/* Bytes that net_patterns_add takes of the vault for a value. */
size_t net_patterns_room(size_t value_len);
/* Adds the forms of a value; `vault` moves on. `list` has room for NET_PATTERNS_EACH more. */
enum { NET_PATTERNS_EACH = 6 };
void net_patterns_add(net_patterns *p, const uint8_t *value, size_t len, uint8_t **vault);
