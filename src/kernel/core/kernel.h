/* kernel.h - one virtual Linux machine: a file tree, processes, limits. A sandbox owns exactly one.
 *
 * The kernel knows nothing of WebAssembly. What executes a program is given to it as a table of functions
 * (k_runner); the unit tests run C functions as programs.
 *
 * Locks       kernel.mu protects everything reachable from the kernel: processes, descriptors, files, inodes,
 *             queues. Order: kernel.mu, then nothing: a callback of the embedder, a host file operation, the
 *             loading of a program are all made with kernel.mu released (k_unlock ... k_lock), and state
 *             learnt before is looked at again afterwards. Only kernel/wait.c sleeps.
 *
 * Pieces      no call works under kernel.mu for longer than about 100 microseconds. Work without a small bound
 *             (bytes, names, descriptors) is done in pieces, each followed by k_work; what a release leaves
 *             to be freed is a k_chore, done in pieces by the k_unlock that follows.
 *
 * Threads     a process runs on one thread of its own, or on several that take turns (proc/thread.h); threads of
 * the embedder come in through vfs.h, process.h and job.h. */
#pragma once

#include "base/alloc.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/random.h"
#include "kernel/core/errno.h"
#include "kernel/core/mutex.h"
#include "kernel/core/wait.h"

#include <stdatomic.h>

typedef struct k_inode k_inode;
typedef struct k_file k_file;
typedef struct k_image k_image;
typedef struct vfs_mounts vfs_mounts;
typedef struct k_callback_host k_callback_host;
typedef struct k_net k_net;

enum { K_UID = 1000, K_GID = 1000, K_PAGE = 4096, K_PID_MAX = 32768 };

/* How programs are found and run. Every function may be called from any thread. */
typedef struct k_runner {
  /* The program in this file, shared and counted; -K_ENOEXEC when it is none, -K_ENOMEM, -K_EDQUOT when the
   * sandbox may have no more of them made. Without kernel.mu.
   * `head` holds the first bytes (up to 256). The file's bytes are read through vfs_pread. It may take long:
   * then it is a sleep of `p`, with the answers of one (-K_EKILLED, -K_ERESTART). */
  k_ret (*load)(void *ctx, k_process *p, k_file *exe, const uint8_t *head, size_t head_len, k_image **out);
  k_image *(*image_ref)(void *ctx, k_image *image);
  void (*image_unref)(void *ctx, k_image *image);
  /* Begins to run `p` on a thread of its own: p->program says what. Takes over `p` until it ends. With
   * kernel.mu held. -K_EAGAIN when no thread can be had. */
  k_ret (*start)(void *ctx, k_process *p);
  /* `t` has something to look at (a signal, its end) and may be computing: make it call k_signal_poll
   * soon. With kernel.mu held; must neither block nor call back. */
  void (*kick)(void *ctx, k_thread *t);
} k_runner;

/* All limits are hard; zero is not "none" here, the layer above has put its defaults in. */
typedef struct k_limits {
  uint64_t memory; /* bytes of linear memory, all processes together */
  uint64_t disk;   /* bytes of file contents */
  uint32_t inodes;
  uint32_t processes;     /* alive or zombie at once, without init */
  uint32_t open_files;    /* per process: RLIMIT_NOFILE, hard and soft */
  uint64_t cpu_ms;        /* of the processor, all processes together; 0: no limit */
  uint32_t background_ms; /* for the rest of a job when its first process has ended; 0: no limit */
} k_limits;

/* Present use, and its maximum so far. */
typedef struct k_account {
  uint64_t memory, memory_peak;
  uint64_t disk, disk_peak;
  uint32_t inodes, processes, processes_peak;
  uint64_t syscalls, unknown_syscalls, forks, execs;
  int64_t cpu_ns; /* of all processes; only in copies (k_usage) */
} k_account;

/* Freeing that was begun and is not finished. `some` does a piece of it with kernel.mu held; true: that was
 * the last one, and the chore may be gone. The thread that added it does it. */
typedef struct k_chore k_chore;
struct k_chore {
  bool (*some)(k_chore *chore);
  list node;
  pthread_t by;
};

/* Of all processes together: proc/cpu_budget.c. */
typedef struct k_cpu_budget {
  int64_t ended_ns; /* used, but for what running meters show */
  uint32_t running; /* meters */
  bool armed, was_armed;
  alarm_entry alarm;
} k_cpu_budget;

struct k_kernel {
  k_mutex mu;
  uint64_t worked K_GUARDED; /* units of k_work since the mutex was last free */
  list chores K_GUARDED;     /* of k_chore */
  mem_freed *freed;          /* memory that is freed when kernel.mu is free: that takes its time */
  const k_runner *runner;
  void *runner_ctx;
  alarm_set *alarms; /* borrowed from the engine: timers that fire while a guest computes */
  k_limits limits;
  k_account used K_GUARDED;
  _Atomic uint64_t stacks;      /* bytes of the host's stacks that guests made grow: counts as memory, */
  _Atomic uint64_t stacks_peak; /* and the most memory there was when one grew */
  vfs_mounts *mounts K_GUARDED; /* fs/mount.h; the root is always there */
  k_cpu_budget cpu K_GUARDED;
  list processes K_GUARDED; /* all k_process but init, by pid order of creation */
  k_process *init;          /* pid 1: no thread, adopts orphans and reaps them at once */
  int32_t last_pid K_GUARDED;
  k_waitq exits;                /* woken when any process ends, stops or continues */
  struct rng random;            /* /dev/urandom, getrandom(2), AT_RANDOM */
  int64_t boot_mono_ns;         /* clock_mono_ns when the sandbox was made: its monotonic clock began then */
  bool shutting_down K_GUARDED; /* no new process starts */
  uint32_t threads
      K_GUARDED;         /* of the runner, between k_process_start and the end of k_process_exit; and holds */
  list locked K_GUARDED; /* of k_lock_set (lock.c): files that somebody holds a lock on */
  uint32_t lock_count K_GUARDED;    /* records in all of them */
  uint64_t anonymous_ino K_GUARDED; /* the last number given to a pipe or socket */
  uint64_t files_opened K_GUARDED;  /* ever: the serial of the last */
  list sockets K_GUARDED;           /* those that have a name or an address (sock/) */
  list parcels K_GUARDED;           /* descriptors in flight between sockets (sock/parcel.c) */
  list dead_parcels K_GUARDED;      /* those whose files are still to be let go, */
  bool emptying_parcels K_GUARDED;  /* which somebody does */
  uint32_t files_in_flight, sockets_in_flight K_GUARDED; /* in all parcels; of AF_UNIX */
  k_waitq arrivals;                     /* woken when any signal becomes pending anywhere: signalfd(2) */
  uint32_t interest_count K_GUARDED;    /* entries of all epoll sets */
  uint32_t named_sockets K_GUARDED;     /* in `sockets` */
  k_waitq positions;                    /* woken when a file's position is free again (file.c) */
  const k_callback_host *callback_host; /* ask.h; NULL: guests have no callbacks. Borrowed, set once */
  const k_net *net;                     /* net_ops.h; NULL: the network is off. Borrowed, set once */
  uint32_t callbacks K_GUARDED;         /* questions that somebody holds */
  list message_queues K_GUARDED;        /* that have a name (mqueue.h) */
  list watched K_GUARDED;               /* inodes whose changes somebody wants to know (notify/) */
  uint32_t watches, inotifies, moves_told K_GUARDED; /* watches and descriptors; cookies that were given */
  list ttys K_GUARDED;                               /* of k_tty, by number (tty.h) */
  pthread_mutex_t seen_mu;                           /* of `seen`, taken inside or outside of kernel.mu */
  k_account seen;                                    /* the last copy of `used` that k_usage made */
};

typedef struct k_options {
  const k_runner *runner;
  void *runner_ctx;
  alarm_set *alarms;
  k_limits limits;
  k_inode *root; /* taken over: the root directory of the tree (fs/memfs.h) */
  uint64_t seed; /* 0: real randomness; else it repeats */
} k_options;

k_ret k_kernel_new(const k_options *options, k_kernel **out) CHECKED;

/* Ends every process, waits until their threads are gone, frees everything. NULL is fine. Without kernel.mu. */
void k_kernel_free(k_kernel *kernel);

/* The first half of that: afterwards no thread of the runner is inside the kernel and none comes in, but what
 * the embedder holds (jobs, files, inodes) can still be looked at and given back. Without kernel.mu. */
void k_kernel_stop(k_kernel *kernel);

/* k_process_exit is the last a runner's thread may do with the kernel, besides k_unlock. A thread that needs
 * it longer holds it before and drops it when done; k_kernel_stop waits for both. Require kernel.mu. */
void k_kernel_hold(k_kernel *k) K_LOCKED;
void k_kernel_drop(k_kernel *k) K_LOCKED;

void k_lock(k_kernel *k) K_ACQUIRES;
bool k_try_lock(k_kernel *k) K_CAPABILITY(try_acquire_capability(true, k_the_lock));
void k_unlock(k_kernel *k) K_RELEASES;

/* A precondition, in debug builds. Tells the analysis, too. */
static inline void k_assert_held(const k_kernel *k) K_CAPABILITY(assert_capability(k_the_lock)) {
  (void)k;
  assert(k_mutex_is_mine(&k->mu));
}

/* Tells of `units` of work that were done under kernel.mu: bytes moved, or as many nanoseconds by three. After
 * K_WORK_MAX of them it lets waiting threads have the mutex. True: `p` (may be NULL) is ending, and the caller
 * stops where it is. */
enum { K_WORK_MAX = 32768 };
bool k_work(k_kernel *k, const k_process *p, size_t units) K_LOCKED;

/* The calling thread does the chore when it unlocks kernel.mu or sleeps the next time. `k` outlives it. */
void k_chore_add(k_kernel *k, k_chore *chore) K_LOCKED;
void k_finish_chores(k_kernel *k) K_LOCKED; /* what k_unlock does first; may release and retake kernel.mu */

/* A copy of `used`, from any thread and without kernel.mu. Where the mutex cannot be had within a few
 * milliseconds it is the copy that was made last. */
void k_usage(k_kernel *k, k_account *out);

/* Linear memory of all processes: `bytes` more, or -K_ENOMEM and nothing changed. Never fails to give back. */
k_ret k_memory_charge(k_kernel *k, uint64_t bytes) CHECKED K_LOCKED;
void k_memory_charge_over(k_kernel *k,
                          uint64_t bytes) K_LOCKED; /* of memory that is taken already, whatever the limit */
void k_memory_uncharge(k_kernel *k, uint64_t bytes) K_LOCKED;
uint64_t k_memory_used(const k_kernel *k) K_LOCKED; /* with the stacks */
/* A stack of the host grew by `more` bytes, or shrank. From a handler of signals, without kernel.mu. False: that is beyond
 * the limit. */
bool k_memory_stack(k_kernel *k, int64_t more);

int64_t k_real_ns(const k_kernel *k); /* the guest's CLOCK_REALTIME */
int64_t k_mono_ns(const k_kernel *k); /* the guest's CLOCK_MONOTONIC, and CLOCK_BOOTTIME: since it was made */
