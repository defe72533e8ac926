/* sock.h - what the files of this folder share: the socket itself.
 *
 *   sock.c     its life, and the operations of its file
 *   queue.c    what waits to be read from it
 *   stream.c   listen, accept, connect, pairs, ends: SOCK_STREAM and SOCK_SEQPACKET
 *   dgram.c    SOCK_DGRAM
 *   parcel.c   descriptors that go through them
 *   local.c    names of AF_UNIX
 *   inet.c     addresses and ports of the loopback
 *   outside.c  connections that leave it
 *   urgent.c   the urgent byte of TCP
 *   move.c     send(2) and recv(2), with sleeping
 *   option.c   options
 *   interface.c  what netdevice(7) tells of lo
 *
 * Each socket owns what waits to be read from it. Connected ones know each other until one is closed; one
 * that sleeps for another's queue without being its peer is its follower, and is told when that one reads or
 * goes. So no socket keeps another alive, and none points at one that is gone. */
#pragma once

#include "kernel/file/ring.h"
#include "kernel/file/transfer.h"
#include "kernel/net_ops.h"
#include "kernel/proc/process.h"
#include "kernel/sock/socket.h"

typedef struct k_socket k_socket;

enum sock_state {
  SOCK_NEW,
  SOCK_CONNECTING, /* in the `waiting` list of a listener whose queue is full, or on the way outside */
  SOCK_DECIDED, /* connected, or refused with `error`; the process that got EINPROGRESS has not asked yet */
  SOCK_LISTENING,
  SOCK_CONNECTED,
};

enum sock_urgent { URGENT_NONE, URGENT_UNREAD, URGENT_READ /* by MSG_OOB */ };

/* Who wants to know when there is room in another's queue. */
typedef struct sock_follower {
  list node;
  k_socket *socket;
} sock_follower;

typedef struct sock_options {
  int64_t receive_ns, send_ns; /* 0: for ever */
  uint32_t sndbuf, rcvbuf;
  bool linger;
  int32_t linger_s;
  bool reuse_addr, reuse_port, v6_only, pass_cred, oob_inline;
  uint32_t stored[14]; /* kept and without effect: option.c says which */
} sock_options;

struct k_socket {
  k_kernel *kernel;
  k_file *file; /* which owns it; NULL: not accepted yet */
  uint16_t family;
  int type, protocol;
  enum sock_state state;
  k_socket *peer; /* the other end; of a datagram socket of AF_UNIX, whom it sends to. NULL: none, or gone */
  bool has_peer;  /* a datagram socket is connected, or a stream was: `remote` is valid */
  k_sockaddr local, remote;
  k_cred cred, peer_cred;
  k_cred writer;  /* its last writer */
  k_inode *inode; /* a reference: the name in the file tree */
  list named;     /* kernel.sockets, when `local` is an address */
  bool bound;     /* bind(2) gave it; else it goes when a connection ends or fails */

  k_ring ring;             /* of a stream, */
  uint64_t taken;          /* the bytes read from it, ever, */
  list spans;              /* and of some of those in it, whose they are and what came with them */
  uint64_t urgent_at;      /* as `taken` counts: where its urgent byte stands, */
  enum sock_urgent urgent; /* until that is read or passed over */
  list messages;           /* of the others, */
  size_t queued;           /* and their charge */
  k_waitq changed;

  bool no_more;    /* nothing comes any more: shut down or closed on either side */
  bool no_writing; /* this end is shut down for writing */
  bool deaf;     /* a stream of inet was shut down for reading: says so in `ready`; the peer does not know */
  bool broken;   /* a stream of inet was written to after its peer had gone */
  int32_t error; /* SO_ERROR: what the next operation answers, once */

  list accepts, waiting; /* of a listener: made and not accepted; still connecting */
  uint32_t accept_count, backlog;
  list in_listener;   /* in one of those */
  k_socket *listener; /* whose; NULL: none */
  bool told;          /* a connect was answered EINPROGRESS */

  k_net_end *outside; /* of a connection that leaves the loopback: its other end; NULL: none, or gone */

  list followers;       /* of sock_follower */
  sock_follower follow; /* the peer of a datagram socket of AF_UNIX */

  uint32_t in_flight; /* references to `file` that are in parcels */
  list parcels;       /* those that wait in its queue */
  bool reached;       /* for sock_collect */

  sock_options options;
  uint64_t ino;
};

static inline k_socket *sock_of(const k_file *f) { return f->object; }
static inline bool sock_is_inet(const k_socket *s) { return s->family != K_AF_UNIX; }
static inline bool sock_is_stream(const k_socket *s) { return s->type == K_SOCK_STREAM; }
k_cred sock_cred_of(const k_process *p); /* NULL: the one user, without a process */
static inline bool sock_is_connected_kind(const k_socket *s) { return s->type != K_SOCK_DGRAM; }

/* ---- sock.c ---- */

/* Charged to the memory of the sandbox. */
k_ret sock_new(k_kernel *k, int family, int type, int protocol, k_socket **out) CHECKED K_LOCKED;
void sock_free(k_socket *s) K_LOCKED;                                        /* closed, without an owner */
k_ret sock_open(k_socket *s, uint32_t flags, k_file **out) CHECKED K_LOCKED; /* takes it over on success */
static inline k_ret sock_take_error(k_socket *s) {                           /* 0 or -K_E..., once */
  k_ret r = -s->error;
  s->error = 0;
  return r;
}

/* ---- queue.c: messages to be read. These functions wake no sleeper. ---- */

/* Bytes, -K_EAGAIN, -K_ENOMEM, -K_ENOBUFS. `by` writes. A parcel that is put in becomes NULL. */
k_ret sock_put_bytes(k_socket *to, const k_socket *by, const void *buf, size_t len,
                     k_parcel **parcel) CHECKED K_LOCKED;
size_t sock_room(const k_socket *to, const k_socket *by);
/* A message from that address; -K_EMSGSIZE, -K_EAGAIN, -K_ENOBUFS. */
k_ret sock_put_message(k_socket *to, const k_socket *by, const void *buf, size_t len, const k_sockaddr *from,
                       k_parcel **parcel) CHECKED K_LOCKED;
bool sock_has_message_room(const k_socket *to);
/* Up to `len` bytes; 0 at the end, -K_EAGAIN. A message gives its whole length: bytes beyond `len` are lost. To
 * *what are added who sent it and what came with it; without `what` that is put to the dead parcels. */
k_ret sock_take(k_socket *s, void *buf, size_t len, bool peek,
                k_received *what /* or NULL */) CHECKED K_LOCKED;
size_t sock_next_len(const k_socket *s); /* FIONREAD */
bool sock_is_empty(const k_socket *s);
void sock_drop_queue(k_socket *s) K_LOCKED; /* and parcels to the dead ones */

void sock_skip_bytes(k_socket *s, size_t len) K_LOCKED;

/* ---- urgent.c: of streams of inet ---- */

bool sock_is_at_mark(const k_socket *s);                             /* the next byte is the urgent one */
bool sock_passes_urgent(const k_socket *s);                          /* and reads pass over it */
size_t sock_until_mark(const k_socket *s, size_t len);               /* how many bytes one read may take */
k_ret sock_write_urgent(k_socket *s, uint8_t byte) CHECKED K_LOCKED; /* as sock_write_once */
/* recv(2) with MSG_OOB: 1, 0 with `len` 0; -K_EINVAL: there is none. */
k_ret sock_take_urgent(k_socket *s, uint8_t *out, size_t len, bool peek, k_received *what) CHECKED;

/* ---- parcel.c ---- */

/* A waiting socket: its place in the queue that holds it. */
void sock_parcel_enter(k_parcel *parcel, k_socket *queue, k_parcel **place);
k_parcel *sock_parcel_leave(k_parcel **place); /* out of there again; NULL: there was none */
k_ret sock_parcel_copy(const k_parcel *parcel, k_parcel **out) CHECKED K_LOCKED;
void sock_parcel_drop(k_parcel *parcel) K_LOCKED; /* to the dead ones, which sock_bury lets go */
/* Lets go of files, which may close sockets, which have parcels: one after the other, never one inside
 * another. May release and retake kernel.mu: for the end of a call. */
void sock_bury(k_kernel *k) K_LOCKED;
void sock_collect(k_kernel *k) K_LOCKED; /* what only parcels hold: to the dead ones */

/* ---- stream.c ---- */

/* write(2) of one that is connected, once. */
k_ret sock_write_once(k_socket *s, const void *buf, size_t len, k_parcel **parcel) CHECKED K_LOCKED;

void sock_join(k_socket *a, k_socket *b);
/* Makes the other end of `s`, in the queue of `l`. */
k_ret sock_enter_queue(k_socket *s, k_socket *l) CHECKED K_LOCKED;
void sock_stream_close(k_socket *s) K_LOCKED;
void sock_stream_forsake(k_socket *s) K_LOCKED; /* connections waiting here will not be accepted */

/* ---- outside.c ---- */

bool sock_is_resolver(const k_kernel *k, const k_sockaddr *to); /* the layer above answers for this address */
k_ret sock_outside_connect(k_socket *s,
                           const k_sockaddr *to) CHECKED K_LOCKED; /* with k_kernel.net: SOCK_CONNECTING */
void sock_outside_leave(k_socket *s) K_LOCKED; /* tells the other end; no effect without one */
void sock_outside_cut(k_socket *s) K_LOCKED;   /* resets both; no effect without an other end */
/* Of a socket whose queue is empty: bytes from outside, or -K_EAGAIN, after which its state says more. */
k_ret sock_outside_take(k_socket *s, void *buf, size_t len, bool peek) CHECKED K_LOCKED;
void sock_outside_look(k_socket *s) K_LOCKED; /* finds out whether it can be read */
bool sock_outside_has_more(const k_socket *s);
void sock_outside_fill(k_socket *s) K_LOCKED; /* its queue, if that is empty */
k_ret sock_outside_give(k_socket *s, const void *buf, size_t len) CHECKED K_LOCKED; /* bytes, or -K_EAGAIN */
void sock_outside_datagram(k_socket *s, const k_sockaddr *to, const void *buf, size_t len);

/* ---- dgram.c ---- */

/* One message on its way: `to` NULL is the peer. -K_EAGAIN: *full is whose queue is. */
k_ret sock_send_message(k_process *p, k_socket *s, const void *buf, size_t len, const k_sockaddr *to,
                        k_parcel **parcel, k_socket **full) CHECKED K_LOCKED;
k_ret sock_dgram_connect(k_process *p, k_socket *s, const k_sockaddr *addr) CHECKED K_LOCKED;
void sock_dgram_close(k_socket *s) K_LOCKED;
void sock_follow(sock_follower *who, k_socket *socket, k_socket *whom);
void sock_wake_followers(k_socket *s) K_LOCKED;

/* ---- names: local.c, inet.c ---- */

/* Who listens at, or receives at, this address; -K_ECONNREFUSED and the errors of a path. */
k_ret sock_local_find(k_process *p, const k_sockaddr *addr, int type, k_socket **out) CHECKED;
k_ret sock_local_bind(k_process *p, k_socket *s, const k_sockaddr *addr) CHECKED K_LOCKED;
k_ret sock_local_autobind(k_process *p,
                          k_socket *s) CHECKED K_LOCKED; /* with SO_PASSCRED, before it is connected */

k_ret sock_inet_bind(k_socket *s, const k_sockaddr *addr) CHECKED K_LOCKED;
/* Gives a local port to one that has none, and `local` an address from which `to` is reached when `fix`. */
k_ret sock_inet_autobind(k_socket *s, const k_sockaddr *to, bool fix) CHECKED K_LOCKED;
/* Where a packet to `addr` goes: the address with "any" made the loopback. -K_EINVAL; -K_ENETUNREACH: outside of the
 * loopback, and the network is off. */
k_ret sock_inet_route(const k_socket *s, const k_sockaddr *addr, k_sockaddr *out) CHECKED;
k_sockaddr sock_inet_source(const k_socket *s, const k_sockaddr *to); /* what the other side sees */
k_socket *sock_inet_listener(k_kernel *k, const k_sockaddr *to);      /* NULL: none */
k_socket *sock_inet_receiver(k_kernel *k, const k_sockaddr *to, const k_sockaddr *from);
bool sock_inet_is_here(const k_sockaddr *addr);              /* of the loopback */
k_sockaddr sock_seen_by(const k_socket *s, k_sockaddr addr); /* in the family of the asking socket */
void sock_inet_unbind(k_socket *s) K_LOCKED; /* an address that was not asked for is given up */
void sock_inet_forget_address(k_socket *s);  /* but not the port */
/* Enters kernel.sockets, if there is room for more; no effect on one that is there. */
bool sock_has_name_room(const k_kernel *k) K_LOCKED;
void sock_enter_names(k_socket *s) K_LOCKED;
void sock_leave_names(k_socket *s) K_LOCKED;
void sock_unname(k_socket *s) K_LOCKED;

/* ---- interface.c, option.c ---- */

k_ret sock_interface(uint32_t request, void *ifreq, size_t len) CHECKED; /* netdevice(7): lo; -K_ENOTTY */

void sock_options_init(k_socket *s);
static inline int64_t sock_deadline(int64_t now_ns, int64_t timeout_ns) {
  return timeout_ns == 0 || timeout_ns > K_FOREVER - now_ns ? K_FOREVER : now_ns + timeout_ns;
}
