/* pipe.h - pipes, FIFOs and local socket pairs (pipe(2), pipe(7), fifo(7), socketpair(2), unix(7)).
 *
 * Invariant   a write of up to K_PIPE_ATOMIC bytes never splits. Queues hold at most their capacity, and the
 *             bytes in them are charged to the memory of the sandbox.
 *
 * Locks       all require kernel.mu.
 *
 * Not here    named unix sockets (bind, listen), descriptor passing, splice, packet mode. */
#pragma once

#include "kernel/file.h"

enum { K_PIPE_ATOMIC = 4096, K_PIPE_CAP = 65536 };

/* Both ends, referenced. flags: K_O_NONBLOCK. -K_ENOMEM. */
k_ret k_pipe_new(k_kernel *k, uint32_t flags, k_file **read_end, k_file **write_end) CHECKED;

/* What a FIFO inode holds while it is open; NULL at first, freed with the last opener. open(2) of a FIFO
 * sleeps for the other side: `p` NULL never sleeps. */
typedef struct k_fifo k_fifo;
k_ret k_fifo_open(k_process *p, k_inode *inode, k_fifo **slot, uint32_t flags, k_file **out) CHECKED;

enum { K_SOCK_STREAM = 1, K_SOCK_DGRAM = 2, K_SOCK_SEQPACKET = 5 };
k_ret k_socketpair(k_kernel *k, int type, uint32_t flags, k_file **a, k_file **b) CHECKED;
enum { K_SHUT_RD, K_SHUT_WR, K_SHUT_RDWR };
k_ret k_socket_shutdown(k_file *f, int how) CHECKED; /* -K_ENOTSOCK, -K_EINVAL */
bool k_is_socket(const k_file *f);
int k_socket_type(const k_file *f); /* K_SOCK_*, for SO_TYPE */

/* F_GETPIPE_SZ, F_SETPIPE_SZ of fcntl(2): the capacity. -K_EBADF when it is no pipe; -K_EBUSY when more than
 * that is queued, -K_EPERM beyond 1 MiB. */
k_ret k_pipe_capacity(k_file *f) CHECKED;
k_ret k_pipe_resize(k_file *f, uint64_t cap) CHECKED;

/* send(2), recv(2) on a socket of k_socketpair; -K_ENOTSOCK on anything else. Without `p` they never block.
 * *truncated (or NULL): the message was longer than `len`. */
enum {
  K_MSG_PEEK = 2,
  K_MSG_TRUNC = 0x20, /* recv: answer the message's whole length */
  K_MSG_DONTWAIT = 0x40,
  K_MSG_WAITALL = 0x100,
  K_MSG_NOSIGNAL = 0x4000
};
k_ret k_socket_send(k_process *p, k_file *f, const void *buf, size_t len, uint32_t flags) CHECKED;
k_ret k_socket_recv(k_process *p, k_file *f, void *buf, size_t len, uint32_t flags, bool *truncated) CHECKED;
