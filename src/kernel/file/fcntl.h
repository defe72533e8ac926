/* fcntl.h - what fcntl(2) and flock(2) do with a descriptor.
 *
 * Locks of files are advisory. A record lock belongs to a process and a file (closing any descriptor of that
 * file drops it), an OFD lock and a flock(2) to an open file description.
 *
 * Locks       all require kernel.mu; waiting for a lock sleeps.
 * Not here    leases, signals at input (O_ASYNC): an owner gets SIGURG of TCP alone. */
#pragma once

#include "kernel/proc/process.h"

enum {
  K_F_DUPFD = 0,
  K_F_GETFD = 1,
  K_F_SETFD = 2,
  K_F_GETFL = 3,
  K_F_SETFL = 4,
  K_F_GETLK = 5,
  K_F_SETLK = 6,
  K_F_SETLKW = 7,
  K_F_SETOWN = 8,
  K_F_GETOWN = 9,
  K_F_SETSIG = 10,
  K_F_GETSIG = 11,
  K_F_SETOWN_EX = 15,
  K_F_GETOWN_EX = 16,
  K_F_OFD_GETLK = 36,
  K_F_OFD_SETLK = 37,
  K_F_OFD_SETLKW = 38,
  K_F_DUPFD_CLOEXEC = 1030,
  K_F_SETPIPE_SZ = 1031,
  K_F_GETPIPE_SZ = 1032,
};

/* Every command but the six about locks and F_SETOWN_EX, F_GETOWN_EX: -K_EINVAL for those. */
k_ret k_fcntl(k_process *p, int32_t fd, uint32_t cmd, uint32_t arg) CHECKED K_LOCKED;

/* F_SETOWN_EX, F_GETOWN_EX. -K_EBADF, -K_EINVAL, -K_ESRCH. */
typedef struct k_owner {
  int32_t type, id; /* owner.h */
} k_owner;
k_ret k_fcntl_set_owner(k_process *p, int32_t fd, const k_owner *owner) CHECKED K_LOCKED;
k_ret k_fcntl_get_owner(k_process *p, int32_t fd, k_owner *owner) CHECKED K_LOCKED;

enum { K_F_RDLCK = 0, K_F_WRLCK = 1, K_F_UNLCK = 2 };
typedef struct k_flock {
  int16_t type, whence;
  int64_t start, len; /* len 0: to the end, however far; negative: before start */
  int32_t pid;        /* of GETLK: who holds it, -1 for an OFD lock */
} k_flock;

/* The six commands about locks. GETLK commands fill *lock. -K_EAGAIN (held by another), -K_EDEADLK, -K_EBADF
 * (not open for it), -K_EINVAL, -K_EOVERFLOW, -K_ENOLCK, -K_EINTR. */
k_ret k_fcntl_lock(k_process *p, int32_t fd, uint32_t cmd, k_flock *lock) CHECKED;

/* flock(2). */
enum { K_LOCK_SH = 1, K_LOCK_EX = 2, K_LOCK_NB = 4, K_LOCK_UN = 8 };
k_ret k_flock_set(k_process *p, int32_t fd, uint32_t operation) CHECKED;

/* For fdtable.c and file.c: the locks of this table on this file, and of this description, are gone. */
void k_locks_drop_table(k_kernel *k, const k_fdtable *table, const k_inode *inode) K_LOCKED;
void k_locks_drop_file(k_file *f) K_LOCKED;
