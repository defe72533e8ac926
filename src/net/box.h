/* box.h - the network of one sandbox: a policy, limits, the names it has resolved, and its connections. It answers its
 * kernel's k_net.
 *
 *   net_host    one for an engine: the thread that moves bytes (poller.h), the host's limits
 *   net_box     one for a sandbox
 *   net_conn    one for a connection (conn.h)
 *
 * Threads     the functions of this header may be called from any thread. Decisions are told, and asked for, on the poller's
 * thread: those functions must not block.
 *
 * Not here    UDP but for DNS to our own resolver, and connections from outside but those of net_box_publish. */
#pragma once

#include "kernel/net_ops.h"
#include "net/limits.h"
#include "net/names.h"
#include "net/policy.h"

#define NET_HOST_NAME "host.cay.internal" /* leads to the host's 127.0.0.1 */

typedef struct net_host net_host;
typedef struct net_box net_box;

typedef struct net_host_options {
  net_limits limits;     /* the ceiling of every sandbox */
  net_resolver resolver; /* fn NULL: the host's, getaddrinfo(3) */
} net_host_options;

/* Cheap: threads start with the first connection or name. */
cay_status net_host_new(const net_host_options *options, net_host **out, cay_error *err) CHECKED;
void net_host_free(net_host *host); /* after its boxes; NULL is fine */

enum net_event {
  NET_EVENT_RESOLVE,
  NET_EVENT_CONNECT,
  NET_EVENT_TLS,
  NET_EVENT_HTTP,
  NET_EVENT_LIMIT,
  NET_EVENT_SECRET
};
const char *net_event_name(enum net_event event); /* "connect"; static */

typedef struct net_decision {
  enum net_event event;
  bool allowed;
  const char *host;          /* the name or address that was asked for */
  const char *addr;          /* as a text; "" before it is resolved */
  uint16_t port;             /* 0: a name alone */
  size_t rule;               /* that decided; SIZE_MAX: none */
  const char *reason;        /* one sentence */
  const char *method, *path; /* of HTTP, or NULL */
  const char *secret;        /* the name of one, or NULL */
} net_decision;

typedef void net_decision_fn(void *ctx, const net_decision *decision);
/* A connection that no rule decides. The guest sleeps in connect(2) until net_box_answer(box, id, …), which may come
 * from any thread and before this returns. */
typedef void net_ask_fn(void *ctx, const net_decision *decision, uint64_t id);

typedef struct net_pin { /* this name is this address, and no name server is asked */
  char host[NET_HOST_MAX + 1];
  net_addr addr;
} net_pin;

typedef struct net_box_options {
  net_policy *policy;              /* taken over on success, as the next four */
  struct net_secrets *secrets;     /* NULL: none */
  struct net_authority *authority; /* with secrets, a tape or a cache; NULL: no TLS ends on the host */
  struct net_tape *tape;           /* NULL: nothing is recorded or replayed */
  struct net_cache *cache;         /* NULL: none; never with a tape */
  net_limits limits;
  const net_pin *pins; /* copied */
  size_t pin_count;
  net_decision_fn *on_decision; /* NULL: not told */
  net_ask_fn *ask;              /* NULL: no rule is a no */
  void *ctx;
  void (*free_ctx)(void *ctx); /* with the last use of it; NULL: not needed */
} net_box_options;

cay_status net_box_new(net_host *host, const net_box_options *options, net_box **out, cay_error *err) CHECKED;
const k_net *net_box_net(const net_box *box);        /* for k_kernel.net */
void net_box_attach(net_box *box, k_kernel *kernel); /* once, before any process runs */

/* Ends all connections. After it returns nothing of the box touches the kernel or calls back. Between
 * k_kernel_stop and k_kernel_free; from no function that the box calls. */
void net_box_close(net_box *box);
/* Writes the tape that it records, or its cache; CAY_OK without them. */
cay_status net_box_save(net_box *box, cay_error *err) CHECKED;
void net_box_free(net_box *box); /* closed; NULL is fine */
OWNED_DEFINE(net_box, net_box_free)

/* What guests may not see, for those who give out what guests wrote; NULL: nothing. */
const struct net_secrets *net_box_secrets(const net_box *box);

void net_box_answer(net_box *box, uint64_t id, bool allow);

/* Forwards connections to a socket of the host, listening on `host` ("127.0.0.1:8080", port 0: any free one; or a path
 * that begins with '/'), to this port of the sandbox's loopback. *bound: the port. CAY_INVALID, CAY_BUSY: in use, CAY_IO. */
cay_status net_box_publish(net_box *box, uint16_t port, const char *host, uint16_t *bound,
                           cay_error *err) CHECKED;

typedef struct net_usage {
  uint32_t connections; /* open now */
  uint64_t connections_made, sent, received;
} net_usage;
void net_box_usage(net_box *box, net_usage *out);
