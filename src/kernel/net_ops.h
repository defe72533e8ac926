/* net_ops.h - the way out of a kernel's loopback (src/kernel/sock/outside.c): what the layer above installs, and what
 * it may call.
 *
 * A connection to an address outside of the loopback has two ends in the kernel: the socket of the guest, and a
 * k_net_end, which takes the place of a peer. To the guest's socket the end is like any peer on the loopback: the same
 * queues, bounds, readiness and errors. The layer above moves the bytes between the end and the world, on threads of
 * its own.
 *
 *      guest                 src/kernel/sock                        the layer above
 *        │ connect               │                                       │
 *        ├──────────────────────►│ SOCK_CONNECTING ── ops.connect ──────►│ decides, dials
 *        │ sleeps, or            │                                       │
 *        │ EINPROGRESS           │◄─────────── k_net_connected ──────────┤ (or k_net_refuse)
 *        │ write                 │                                       │
 *        ├──────────────────────►│ queue of the end ────── changed ─────►│ k_net_peek, k_net_take
 *        │ read                  │                                       │
 *        │◄──────────────────────┤ queue of the socket ◄── k_net_put ────┤
 *        │ close                 │                                       │
 *        ├──────────────────────►│ state.gone ──────────── changed ─────►│ k_net_free
 *
 * Once the layer above has nothing to look at in the bytes, it may let a guest's thread move them by itself (k_net_direct): then a
 * read of an empty queue, and a write that finds an empty queue, go to the world at once, with one copy and no other thread.
 *
 * Locks       ops are called with kernel.mu held: they neither block nor call back, and take only locks that are held
 *             for a few instructions. The functions take kernel.mu themselves.
 *
 * Ownership   an end belongs to the layer above from the success of ops.connect (or k_net_dial) until k_net_free, which
 *             comes before k_kernel_free. */
#pragma once

#include "kernel/core/errno.h"

typedef struct k_kernel k_kernel;
typedef struct k_net_end k_net_end;

typedef struct k_net_addr {
  uint8_t ip[16]; /* version 4 at the end of ::ffff:0:0/96 */
  uint16_t port;
} k_net_addr;

typedef struct k_net_ops {
  /* A process connects to `to`. 0: `end` is taken over, and is answered later. -K_E…: what connect(2) answers. */
  k_ret (*connect)(void *ctx, k_net_end *end, const k_net_addr *to);
  /* A datagram to the resolver, from that address. It may be dropped. */
  void (*datagram)(void *ctx, const k_net_addr *from, const void *data, size_t len);
} k_net_ops;

/* What k_kernel.net points at; NULL there: the network is off. Borrowed, never changed, set before any process runs. */
typedef struct k_net {
  const k_net_ops *ops;
  void *ctx;
  k_net_addr resolver; /* a loopback address whose TCP and UDP are the layer above's */
} k_net;

/* ---- for the layer above ---- */

/* `changed` is called with `conn` whenever k_net_look may say something else than before, as an op is. k_net_set_conn is for
 * ops.connect alone, k_net_adopt for an end of k_net_dial, which the guest may have used by then: look at it afterwards. */
typedef void k_net_changed_fn(void *conn);
void k_net_set_conn(k_net_end *end, k_net_changed_fn *changed, void *conn);
void k_net_adopt(k_net_end *end, k_net_changed_fn *changed, void *conn);

/* The answer to ops.connect. False: the guest has closed its socket. */
bool k_net_connected(k_net_end *end);
void k_net_refuse(k_net_end *end, int32_t error);

typedef struct k_net_state {
  size_t readable; /* bytes that the guest has sent */
  size_t room;     /* bytes that k_net_put takes for certain; their memory is there */
  bool done;       /* the guest sends nothing after these bytes: shut down, or closed */
  bool gone;       /* the guest's socket is closed */
  bool reset;      /* it was closed with unread data, or to reset */
} k_net_state;

/* With memory for up to `want` bytes. */
void k_net_look(k_net_end *end, size_t want, k_net_state *out);
size_t k_net_peek(k_net_end *end, void *buf, size_t len); /* copies the first bytes, takes none */
void k_net_take(k_net_end *end, size_t len);              /* at most as many as were readable */
/* At most state.room bytes; returns the count, which is less only when the guest's socket is gone. */
size_t k_net_put(k_net_end *end, const void *data, size_t len);
void k_net_finish(k_net_end *end); /* nothing more comes from outside */
void k_net_reset(k_net_end *end,
                 int32_t error); /* the connection is lost, and the guest's next operation answers this */

/* ---- without the queues ---- */

/* Called as an op is, on the thread of a guest's call. */
typedef struct k_net_direct_ops {
  /* As recv(2) that does not wait: bytes, 0 at the end, -K_EAGAIN, or the error by which the connection is lost. After 0 or an
   * error it is not called again. */
  k_ret (*take)(void *conn, void *buf, size_t len, bool peek);
  k_ret (*give)(void *conn, const void *buf,
                size_t len); /* as send(2): bytes, or -K_EAGAIN: they go through the queue */
} k_net_direct_ops;

/* From now on; between a k_net_put and the next k_net_look. The layer above puts nothing any more, and says with k_net_nudge
 * that there may be something to take. */
void k_net_direct(k_net_end *end, const k_net_direct_ops *ops);
void k_net_nudge(k_net_end *end);

/* The connection ends in order, unless it was reset before. */
void k_net_free(k_net_end *end);

/* Connects from outside to a listener on the loopback; `from` is its peer's address then. -K_ECONNREFUSED: no listener;
 * -K_EAGAIN: its queue is full; -K_ENOMEM. Without kernel.mu. */
k_ret k_net_dial(k_kernel *k, const k_net_addr *to, const k_net_addr *from, k_net_end **out) CHECKED;

/* A datagram to a socket of the sandbox; dropped if there is no receiver or no room. */
void k_net_deliver(k_kernel *k, const k_net_addr *from, const k_net_addr *to, const void *data, size_t len);
