/* net.h - the network of a sandbox, under a policy. Included by cay.h.
 *
 *   const char *allow[] = { "pypi.org:443", "*.pythonhosted.org:443", NULL };
 *   cay_net_options net = CAY_INIT(cay_net_options, .allow = allow);
 *   cay_sandbox_new(engine, &CAY_INIT(cay_sandbox_options, .net = &net), &box, &err);
 *
 * Without cay_net_options the network is off: a sandbox has a loopback of its own and nothing beyond it. With them
 * guests make TCP connections to what the rules allow, and resolve names that a rule could allow. Loopback, private,
 * link-local, multicast and metadata addresses of the host are denied unless a rule names them. UDP goes to
 * the sandbox's own resolver alone (127.0.0.53).
 *
 * Functions given here are called on the library's network thread, which serves all sandboxes of an engine: they must
 * not block, and may call functions that are marked [any time]. */
#ifndef CAY_NET_H
#define CAY_NET_H

#include <cay/status.h>

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One decision of the policy. Strings live until the function returns. */
typedef struct cay_net_decision {
  const char *event; /* "resolve", "connect", "tls", "http", "limit", "secret" */
  bool allowed;
  const char *host;    /* the name, or the address when no name led to it */
  const char *address; /* "": not resolved yet */
  uint16_t port;       /* 0: about a name alone */
  int64_t
      rule; /* the number of the rule that decided, in the order denied, allowed, rules, preset; -1: none */
  const char *reason;        /* for people */
  const char *method, *path; /* of an HTTP request that was seen; else NULL */
  const char *secret;        /* of "secret": its name; else NULL */
} cay_net_decision;

typedef void cay_net_decision_fn(void *ctx, const cay_net_decision *decision);

/* No rule decides about this name ("resolve") or connection ("connect"). The guest waits, with its deadline running, for
 * cay_net_answer with this id. */
typedef void cay_net_ask_fn(void *ctx, const cay_net_decision *decision, uint64_t id);

/* 0: the engine's, which is also the most that a sandbox can have. UINT64_MAX and UINT32_MAX: as much as that. */
typedef struct cay_net_limits {
  size_t size;
  uint32_t connections;    /* open at once; 1024 */
  uint64_t sent, received; /* bytes of all connections together; not limited */
  uint64_t rate;           /* bytes per second, both ways together; not limited */
  uint32_t connect_ms;     /* until a connection is made; 30 s */
  uint32_t idle_ms;        /* of a connection without a byte; 10 min */
} cay_net_limits;

enum cay_secret_place { CAY_SECRET_HEADER = 1, CAY_SECRET_QUERY = 2, CAY_SECRET_BODY = 4 };

/* A value that guests use and never see. A variable of the environment has a placeholder; in requests to `hosts` over
 * HTTPS the value is put in its place on the host, and taken out of the answers. The TLS of these hosts ends on the
 * host, whose programs verify the server; guests see certificates of an authority of the sandbox, which is in their
 * trust stores. A secret allows no connection: rules do. */
typedef struct cay_net_secret {
  size_t size;
  const char *name;         /* of the variable; letters, digits and '_' */
  const char *value;        /* 8 to 4096 characters of printable ASCII; copied. Wipe yours */
  const char *const *hosts; /* "api.example.com", "*.example.com:8443"; port 443 without one; NULL ended */
  unsigned places;          /* CAY_SECRET_…; 0: headers */
  const char *placeholder;  /* NULL: one that cannot be guessed */
} cay_net_secret;

typedef struct cay_net_options {
  size_t size;
  const char *preset; /* NULL or "none", "package-registries", "all-public"; comes last */
  /* "HOST[:PORTS]", NULL ended: "example.com", "*.example.com:443", "10.0.0.0/8:8000-8999", "[::1]:80", "*:443".
   * Denying rules come first. */
  const char *const *deny, *const *allow;
  const char *rules; /* a JSON array of rules (doc/reference/egress.md), before the preset; NULL: none */
  const char *const *hosts; /* "NAME=ADDRESS": names that lead there without a name server; NULL ended */
  const cay_net_limits *limits;
  cay_net_decision_fn *decision; /* NULL: not told */
  cay_net_ask_fn *ask;           /* NULL: what no rule decides is denied */
  void *ctx;
  const cay_net_secret *const *secrets; /* NULL ended; NULL: none */
  /* A file that gets all HTTP and HTTPS of the sandbox as JSON when the sandbox is freed, or that is answered from in place
   * of the network; NULL: neither. Of replay the rules are those of the sandbox; connections of other protocols are refused. */
  const char *record, *replay;
  const char *ca_file; /* certificate authorities in PEM, beside the usual ones: for guests and the host */
  /* A file of answers that are kept as RFC 9111 says of a shared cache, and given again while they are fresh: read now,
   * written when the sandbox is freed, at most 64 MiB. Sandboxes that name the same file share it; the last one freed
   * leaves its state. Ends TLS on the host, as record does, and excludes it. NULL: nothing is kept. */
  const char *cache;
  /* Lists of revoked certificates in PEM, for servers that the host verifies (of secrets, record, cache): each certificate of a
   * chain then needs a list of its issuer. NULL: none. What servers staple of OCSP counts without it. */
  const char *crl_file;
} cay_net_options;

typedef struct cay_sandbox cay_sandbox;

/* The answer to a question of `ask`; one that is no longer open is left alone. [any time] CAY_INVALID: the network is
 * off. */
CAY_CHECK CAY_API cay_status cay_net_answer(cay_sandbox *box, uint64_t id, bool allow, cay_error *err);

/* Forwards a socket of the host to a TCP port of the sandbox's loopback, so that a server inside can be used. `host` is
 * "PORT" (on 127.0.0.1; 0: any free one), "ADDRESS:PORT", or the path of a Unix socket, which is made for this user
 * alone and removed with the sandbox. Needs no network in the sandbox. *bound (NULL: not wanted): the port.
 * [any time] CAY_INVALID, CAY_BUSY: in use, CAY_DENIED, CAY_IO. */
CAY_CHECK CAY_API cay_status cay_sandbox_publish(cay_sandbox *box, uint16_t port, const char *host,
                                                 uint16_t *bound, cay_error *err);

typedef struct cay_net_usage {
  uint32_t connections; /* open now, published ones too */
  uint64_t connections_made;
  uint64_t sent, received; /* bytes */
} cay_net_usage;
CAY_API void cay_net_usage_get(cay_sandbox *box,
                               cay_net_usage *out); /* [any time] all 0 when the network is off */

#ifdef __cplusplus
}
#endif
#endif /* CAY_NET_H */
