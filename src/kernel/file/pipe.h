/* pipe.h - pipes and FIFOs (pipe(2), pipe(7), fifo(7)).
 *
 * Invariant   a write of up to K_PIPE_ATOMIC bytes never splits. Queues hold at most their capacity, and the
 *             bytes in them are charged to the memory of the sandbox.
 *
 * Locks       all require kernel.mu.
 *
 * Not here    sockets (socket.h), splice, packet mode. */
#pragma once

#include "kernel/file/file.h"

enum { K_PIPE_ATOMIC = 4096, K_PIPE_CAP = 65536, K_PIPE_CAP_MAX = 1 << 20 };

/* Both ends, referenced. flags: K_O_NONBLOCK. -K_ENOMEM. */
k_ret k_pipe_new(k_kernel *k, uint32_t flags, k_file **read_end, k_file **write_end) CHECKED K_LOCKED;

/* What a FIFO inode holds while it is open; NULL at first, freed with the last opener. open(2) of a FIFO
 * sleeps for the other side: `p` NULL never sleeps. */
typedef struct k_fifo k_fifo;
k_ret k_fifo_open(k_process *p, k_inode *inode, k_fifo **slot, uint32_t flags, k_file **out) CHECKED;

/* F_GETPIPE_SZ, F_SETPIPE_SZ of fcntl(2): the capacity. -K_EBADF when it is no pipe; -K_EBUSY when more than
 * that is queued, -K_EPERM beyond 1 MiB. */
k_ret k_pipe_capacity(k_file *f) CHECKED;
k_ret k_pipe_resize(k_file *f, uint64_t cap) CHECKED K_LOCKED;

/* Two ends of one pipe or FIFO, or the same one twice. */
bool k_pipe_is_same(const k_file *a, const k_file *b);

/* For fd_snapshot.h: which pipe `f` is an end of, NULL for everything else, also for FIFOs; how
 * many open files its ends are; and its contents, copied without taking them (out NULL: only its length). */
const void *k_pipe_of(const k_file *f);
uint32_t k_pipe_ends(const k_file *f);
size_t k_pipe_peek(const k_file *f, void *out, size_t len);
