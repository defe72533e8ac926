/* socket.h - sockets between the processes of one sandbox (socket(2), unix(7), ip(7), ipv6(7), tcp(7),
 * udp(7)).
 *
 * Families    AF_UNIX with names in the file tree, abstract ones and none; AF_INET and AF_INET6 over a
 * loopback of the kernel's own: 127.0.0.0/8 and ::1, each kernel with all ports for itself. No packet is ever made and
 *             no socket of the host opened here. Another address is -K_ENETUNREACH, or the business of the layer
 *             above (net_ops.h), which takes TCP alone.
 *
 * Invariant   queues hold at most what SO_RCVBUF and SO_SNDBUF say, and the bytes in them are charged to the
 *             memory of the sandbox, as are connections not yet accepted.
 *
 * Locks       all require kernel.mu; those with a process may release it while they sleep. `p` NULL never
 *             sleeps: -K_EAGAIN.
 *
 * Not here    raw sockets, netlink, multicast, urgent bytes of AF_UNIX and of connections that leave the sandbox,
 *             TIME_WAIT: an address is free with the last
 *             socket that has it. */
#pragma once

#include "kernel/file/file.h"

enum { K_AF_UNSPEC = 0, K_AF_UNIX = 1, K_AF_INET = 2, K_AF_INET6 = 10 };
enum { K_SOCK_STREAM = 1, K_SOCK_DGRAM = 2, K_SOCK_SEQPACKET = 5 };
enum { K_IPPROTO_TCP = 6, K_IPPROTO_UDP = 17 };
enum { K_SUN_PATH = 108, K_SOMAXCONN = 4096 };

/* An address as the kernel keeps it. AF_INET has its four bytes at the end of ::ffff:0:0/96, so that both
 * families compare alike. */
typedef struct k_sockaddr {
  uint16_t family; /* K_AF_UNSPEC: none */
  uint16_t port;   /* host order */
  uint8_t ip[16];
  uint8_t path_len; /* AF_UNIX: 0 unnamed; an abstract name begins with a NUL that counts */
  char path[K_SUN_PATH];
} k_sockaddr;

/* A new socket; flags: K_O_NONBLOCK. protocol 0: the one there is. -K_EAFNOSUPPORT, -K_ESOCKTNOSUPPORT,
 * -K_EPROTONOSUPPORT, -K_ENOMEM. */
k_ret k_socket_new(k_kernel *k, int family, int type, int protocol, uint32_t flags,
                   k_file **out) CHECKED K_LOCKED;

/* socketpair(2): both connected, without names. `p` (or NULL) is whom SO_PEERCRED tells of. */
k_ret k_socketpair(k_process *p, k_kernel *k, int type, uint32_t flags, k_file **a,
                   k_file **b) CHECKED K_LOCKED;

bool k_is_socket(const k_file *f);
int k_socket_type(const k_file *f);   /* K_SOCK_* */
int k_socket_family(const k_file *f); /* K_AF_* */

/* bind(2). A path is made as by mknod(2) in a file system whose sockets are the sandbox's own; one of the
 * host answers -K_EOPNOTSUPP. */
k_ret k_socket_bind(k_process *p, k_file *f, const k_sockaddr *addr) CHECKED K_LOCKED;

/* listen(2), accept(2). An accepted socket has the options of the listening one. */
k_ret k_socket_listen(k_process *p, k_file *f, int32_t backlog) CHECKED K_LOCKED;
k_ret k_socket_accept(k_process *p, k_file *f, uint32_t flags, k_file **out) CHECKED;

/* connect(2). A stream with O_NONBLOCK answers -K_EINPROGRESS as Linux does, though it is decided by then. */
k_ret k_socket_connect(k_process *p, k_file *f, const k_sockaddr *addr) CHECKED;

enum { K_SHUT_RD, K_SHUT_WR, K_SHUT_RDWR };
k_ret k_socket_shutdown(k_file *f, int how) CHECKED K_LOCKED; /* -K_ENOTSOCK, -K_EINVAL, -K_ENOTCONN */

/* For what a rollback or a copy makes of connections: the bytes that were exchanged since cannot be taken back.
 * k_socket_cut resets a connection that leaves the loopback: bytes that wait are dropped, the next call answers
 * -K_ECONNRESET. No effect on any other file. k_socket_new_cut makes a stream of AF_INET in that state; -K_ENOMEM. */
bool k_socket_is_connection(const k_file *f); /* a stream of inet that is or was connected */
void k_socket_cut(k_file *f) K_LOCKED;
k_ret k_socket_new_cut(k_kernel *k, uint32_t flags, k_file **out) CHECKED K_LOCKED;

/* getsockname(2), getpeername(2): -K_ENOTCONN. */
k_ret k_socket_name(k_file *f, k_sockaddr *out) CHECKED;
k_ret k_socket_peer_name(k_file *f, k_sockaddr *out) CHECKED;

/* Open files on their way through a socket of AF_UNIX (SCM_RIGHTS), each with a reference. All that are on
 * their way in one kernel are at most limits.open_files: -K_ETOOMANYREFS. What only they themselves hold,
 * such as a socket in its own queue, is let go when a socket is closed next, when there are too many, and
 * with the kernel. */
typedef struct k_parcel k_parcel;
enum { K_PARCEL_MAX = 253 };
/* *out is NULL for none. -K_EBADF; -K_EINVAL: more than K_PARCEL_MAX; -K_ETOOMANYREFS, -K_ENOMEM. */
k_ret k_parcel_new(k_process *p, const int32_t *fds, size_t count, k_parcel **out) CHECKED K_LOCKED;
void k_parcel_free(k_parcel *parcel) K_LOCKED; /* NULL is fine; may release and retake kernel.mu */
size_t k_parcel_count(const k_parcel *parcel); /* NULL has none */
/* One of them as a descriptor of `p`: its number, -K_EMFILE, -K_ENOMEM. */
k_ret k_parcel_open(k_process *p, const k_parcel *parcel, size_t at, bool cloexec) CHECKED K_LOCKED;
/* For the end of a kernel, when no process holds a file any more. May release and retake kernel.mu. */
void k_parcels_collect(k_kernel *k) K_LOCKED;

typedef struct k_cred { /* credentials(7) */
  int32_t pid;
  uint32_t uid, gid;
} k_cred;

/* send(2), sendto(2), recv(2), recvfrom(2); -K_ENOTSOCK for other files. `to` may be NULL. */
enum {
  K_MSG_OOB = 1, /* the last byte is urgent; recv: that byte. TCP of the loopback alone: -K_EOPNOTSUPP */
  K_MSG_PEEK = 2,
  K_MSG_TRUNC = 0x20, /* recv: answer the message's whole length */
  K_MSG_DONTWAIT = 0x40,
  K_MSG_WAITALL = 0x100,
  K_MSG_NOSIGNAL = 0x4000
};
typedef struct k_received {
  bool truncated;  /* the message was longer than `len` */
  bool urgent;     /* K_MSG_OOB was asked for */
  k_sockaddr from; /* of messages, and of a named peer of AF_UNIX; else K_AF_UNSPEC */
  bool has_cred;   /* with SO_PASSCRED: who wrote it */
  k_cred cred;
  k_parcel *parcel; /* what came along, or NULL: the caller's, for k_parcel_free */
} k_received;
k_ret k_socket_send(k_process *p, k_file *f, const void *buf, size_t len, uint32_t flags,
                    const k_sockaddr *to) CHECKED;
/* As k_socket_send, with descriptors, which are taken over in any case. Of a stream they go with the first
 * byte. */
k_ret k_socket_send_parcel(k_process *p, k_file *f, const void *buf, size_t len, uint32_t flags,
                           const k_sockaddr *to, k_parcel *parcel) CHECKED;
/* Bytes of a stream are not read beyond those that descriptors came with, and with SO_PASSCRED not beyond
 * those of one writer. */
k_ret k_socket_recv(k_process *p, k_file *f, void *buf, size_t len, uint32_t flags,
                    k_received *what /* or NULL */) CHECKED K_LOCKED;

/* getsockopt(2), setsockopt(2), socket(7), in the words of the kernel: `level` and `name` are Linux's,
 * `value` is up to K_OPTION_MAX numbers of 32 bits; timeouts are nanoseconds in two of them, low half first.
 * get answers how many numbers, set takes `count` of them. -K_ENOPROTOOPT, -K_EINVAL, -K_EDOM. */
enum { K_OPTION_MAX = 4 };
enum { K_SOL_IP = 0, K_SOL_SOCKET = 1, K_SOL_TCP = 6, K_SOL_UDP = 17, K_SOL_IPV6 = 41 };
enum {
  K_SO_REUSEADDR = 2,
  K_SO_TYPE = 3,
  K_SO_ERROR = 4,
  K_SO_DONTROUTE = 5,
  K_SO_BROADCAST = 6,
  K_SO_SNDBUF = 7,
  K_SO_RCVBUF = 8,
  K_SO_KEEPALIVE = 9,
  K_SO_OOBINLINE = 10,
  K_SO_PRIORITY = 12,
  K_SO_LINGER = 13,
  K_SO_REUSEPORT = 15,
  K_SO_PASSCRED = 16,
  K_SO_PEERCRED = 17,
  K_SO_RCVLOWAT = 18,
  K_SO_SNDLOWAT = 19,
  K_SO_TIMESTAMP = 29,
  K_SO_ACCEPTCONN = 30,
  K_SO_PROTOCOL = 38,
  K_SO_DOMAIN = 39,
  K_SO_RCVTIMEO = 66, /* the numbers with 64-bit times */
  K_SO_SNDTIMEO = 67,
};
k_ret k_socket_get(k_file *f, int level, int name, int32_t value[static K_OPTION_MAX]) CHECKED;
k_ret k_socket_set(k_file *f, int level, int name, const int32_t value[static K_OPTION_MAX],
                   size_t count) CHECKED K_LOCKED;
static inline bool k_option_is_time(int level, int name) {
  return level == K_SOL_SOCKET && (name == K_SO_RCVTIMEO || name == K_SO_SNDTIMEO);
}

/* Every socket that has a name, for /proc/net. */
typedef struct k_socket_row {
  int family, type;
  k_sockaddr local, remote;
  bool listening, connected;
  size_t queued;
  uint64_t ino;
} k_socket_row;
typedef k_ret k_socket_row_fn(void *ctx, const k_socket_row *row);
k_ret k_socket_each(k_kernel *k, k_socket_row_fn *each, void *ctx) CHECKED;

/* ioctl(2) of any socket, netdevice(7): properties of the one interface, lo, in a struct ifreq of 32-bit
 * Linux. */
enum {
  K_SIOCGIFNAME = 0x8910,
  K_SIOCGIFFLAGS = 0x8913,
  K_SIOCGIFADDR = 0x8915,
  K_SIOCGIFNETMASK = 0x891b,
  K_SIOCGIFMTU = 0x8921,
  K_SIOCGIFHWADDR = 0x8927,
  K_SIOCGIFINDEX = 0x8933,
};
enum { K_IFREQ_LEN = 32 };
enum { K_SIOCATMARK = 0x8905 };                                       /* of TCP, an int: sockatmark(3) */
enum { K_FIOSETOWN = 0x8901, K_SIOCSPGRP, K_FIOGETOWN, K_SIOCGPGRP }; /* F_SETOWN, F_GETOWN: an int */
/* The next byte of this stream is an urgent one: no read passes this place. */
bool k_socket_is_at_mark(const k_file *f);
