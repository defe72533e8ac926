/* process.h - processes: birth, groups, end, and waiting for them (fork(2), exit(2), wait(2), setpgid(2)).
 *
 * Life        k_process_fork makes a copy that does not run yet; k_process_start hands it to the runner. A
 * child of vfork(2) is not started: it lives on its parent's thread until it execs (then it is started) or
 * exits. k_process_exit makes a zombie; the parent's wait frees it. Orphans go to init, which reaps at once.
 *
 * Threads     only threads that run a process change its descriptors, actions and directory; others send signals.
 *
 * Locks       all require kernel.mu.
 *
 * Not here    threads (clone(2) with CLONE_VM), ptrace, capabilities, other users. */
#pragma once

#include "kernel/file/file.h"
#include "kernel/proc/thread.h"
#include "kernel/vfs/vfs.h"

typedef struct k_job k_job;

/* What execve(2) leaves behind, counted and immutable: shared by fork. */
typedef struct k_program {
  uint32_t refs;
  k_image *image;      /* the runner's */
  k_inode *exe;        /* /proc/self/exe; NULL for programs that are no file */
  char *path;          /* as resolved, absolute in the sandbox */
  char **argv, **envp; /* NULL ended, one allocation */
  uint32_t argc, envc;
  size_t strings_len; /* bytes of all strings with their NULs */
  size_t charged;     /* to the kernel's memory, for them */
  char comm[16];      /* what the process is called after it; of a script its own name */
} k_program;

typedef struct k_rlimit {
  uint64_t soft, hard;
} k_rlimit;
enum {
  K_RLIMIT_CPU,
  K_RLIMIT_FSIZE,
  K_RLIMIT_DATA,
  K_RLIMIT_STACK,
  K_RLIMIT_CORE,
  K_RLIMIT_RSS,
  K_RLIMIT_NPROC,
  K_RLIMIT_NOFILE,
  K_RLIMIT_MEMLOCK,
  K_RLIMIT_AS,
  K_RLIMIT_COUNT = 16
};
#define K_RLIM_INFINITY UINT64_MAX

/* Of the thread that runs a process: cpu_limit.c. */
typedef struct k_cpu_limit {
  alarm_entry entry;
  clockid_t clock;
  int64_t base_ns; /* of that clock, when the process had used nothing */
  bool running, armed;
} k_cpu_limit;

struct k_process {
  k_kernel *kernel;
  list in_kernel;              /* kernel.processes */
  k_process *parent K_GUARDED; /* init for orphans; NULL for init itself */
  list children K_GUARDED, sibling K_GUARDED;
  list pidfds K_GUARDED; /* that name it (pidfd.h) */
  int32_t pid, pgid K_GUARDED, sid K_GUARDED;
  vfs_view view; /* working directory, umask, user */
  k_fdtable fds K_GUARDED;
  k_signals signals K_GUARDED;
  k_itimer timers[K_ITIMER_COUNT] K_GUARDED;
  struct k_timer *posix_timers K_GUARDED; /* signal/timer.h */
  k_rlimit rlimits[K_RLIMIT_COUNT] K_GUARDED;
  k_cpu_limit cpu;
  k_program *program;
  char comm[16]; /* prctl(2) PR_SET_NAME, /proc/pid/comm */
  k_thread leader;
  list threads K_GUARDED; /* all of them, the leader first */
  uint32_t thread_count K_GUARDED;
  k_thread *turn K_GUARDED; /* whose turn it is; NULL: no thread's, or takes_turns is false */
  list turn_waiters K_GUARDED;
  bool takes_turns; /* from its second thread on; changed by its own threads */
  bool turn_wanted K_GUARDED;
  bool resting K_GUARDED;   /* the leader keeps the turn, and is on no thread of the host: k_turn_rest */
  list futexes K_GUARDED;   /* sleepers of futex.c */
  int64_t ended_threads_ns; /* processor time of threads that have ended, but for the leader */
  k_waitq child_events K_GUARDED; /* its own children ended, stopped, continued */
  k_job *job K_GUARDED;           /* the embedder's run that started it or an ancestor; NULL: none */
  bool dying K_GUARDED;           /* its threads must leave; exit_status is set */
  bool zombie K_GUARDED, stopped, has_execed K_GUARDED;
  bool stop_reported K_GUARDED, continue_pending K_GUARDED; /* for WUNTRACED and WCONTINUED */
  int32_t exit_status
      K_GUARDED; /* as wait(2) gives it: code << 8, or the signal; core files are never written */
  int32_t stop_signal K_GUARDED;
  uint64_t memory
      K_GUARDED;    /* linear memory charged to the kernel for it; k_process_exit gives back the rest */
  int64_t start_ns; /* k_mono_ns */
  int64_t user_ns, system_ns;                             /* kept by the runner */
  int64_t children_user_ns, children_system_ns K_GUARDED; /* of those waited for */
  bool started;                                           /* the runner has it; counted in kernel.threads */
  bool has_no_tty K_GUARDED;                              /* has given up its session's terminal: TIOCNOTTY */
  int32_t lost_foreground K_GUARDED; /* of a leader whose terminal was hung up: the group that had it, or 0 */
  int32_t nice, death_signal;        /* setpriority(2); PR_SET_PDEATHSIG of prctl(2) */
  uint32_t policy;                   /* of sched(7): SCHED_OTHER, BATCH or IDLE */
  bool resident; /* at rest between calls of the embedder: k_process_revive, k_job_attach */
};

/* A first process without parent (child of init) in group and session of its own; descriptors empty.
 * -K_EAGAIN at the limit, -K_ENOMEM. */
k_ret k_process_new(k_kernel *k, k_job *job, k_process **out) CHECKED K_LOCKED;

/* fork(2) without the running: everything inherited is copied, memory is the runner's affair. -K_EAGAIN,
 * -K_ENOMEM. */
k_ret k_process_fork(k_process *parent, k_process **out) CHECKED;

/* Hands a process with a program to the runner. On failure the process is as before. The new thread begins
 * with k_signal_poll: the process may have been ended already. */
k_ret k_process_start(k_process *p) CHECKED K_LOCKED;

/* The failed or abandoned child of k_process_fork that never ran: gone without trace. */
void k_process_discard(k_process *p) K_LOCKED;

/* exit(2): descriptors closed, children to init, parent told. After this only wait may look at it. `status`
 * as in exit_status. May release and retake kernel.mu (files of the host are closed). Frees `p` when no process
 * waits for it: do not touch it afterwards. */
void k_process_exit(k_process *p, int32_t status) K_LOCKED;

/* Ends it from outside, whatever it does: its thread leaves the guest and calls k_process_exit with this
 * status. */
void k_process_end(k_process *p, int32_t status) K_LOCKED;

/* A resident process was ended, and is rolled back: it goes on, with nothing pending. On
 * the thread that ran it. */
void k_process_revive(k_process *p) K_LOCKED;

k_process *k_process_find(k_kernel *k, int32_t pid); /* NULL: none; zombies are found */

/* waitid(2); wait4(2) is the same with K_WEXITED added to its options. which: pid > 0, 0 own group, -1 any,
 * < -1 group. Answers the pid, 0 with K_WNOHANG, -K_ECHILD, -K_EINTR... -K_EINVAL when nothing is waited for. */
enum { K_WNOHANG = 1, K_WUNTRACED = 2, K_WEXITED = 4, K_WCONTINUED = 8, K_WNOWAIT = 0x01000000 };
typedef struct k_wait_result {
  int32_t pid, status, code, uid; /* code: K_CLD_*; status as wait4 gives it */
  int64_t user_ns, system_ns;
} k_wait_result;
k_ret k_wait(k_process *p, int32_t which, uint32_t options, k_wait_result *out) CHECKED;

k_ret k_setpgid(k_process *p, int32_t pid, int32_t pgid) CHECKED K_LOCKED;
k_ret k_getpgid(k_process *p, int32_t pid) CHECKED K_LOCKED;
k_ret k_getsid(k_process *p, int32_t pid) CHECKED K_LOCKED;
k_ret k_setsid(k_process *p) CHECKED K_LOCKED;
k_ret k_prlimit(k_process *p, int32_t pid, uint32_t which, const k_rlimit *new_limit,
                k_rlimit *old) CHECKED K_LOCKED;

/* The calling thread runs `p` from here to its exit, or to k_cpu_limit_pause: RLIMIT_CPU is about the time that
 * it computes. A process for which this is not called (a child of vfork before it execs) has no such limit; a
 * resident one that sets a limit begins with that. k_cpu_limit_pause releases and retakes kernel.mu when there
 * was a limit. Both `begin` answer what the thread has used (clock_thread_cpu_ns): each look at that clock is a system
 * call of the machine. */
int64_t k_cpu_limit_begin(k_process *p) K_LOCKED;
void k_cpu_limit_pause(k_process *p);
K_LOCKED static inline bool k_cpu_limit_is_set(const k_process *p) {
  return p->rlimits[K_RLIMIT_CPU].soft != K_RLIM_INFINITY;
}

/* The calling thread computes for `p` from here to the end: it counts against k_limits.cpu_ms. The end of the
 * process ends the meter, too. */
int64_t k_cpu_meter_begin(k_process *p) K_LOCKED;
void k_cpu_meter_end(k_process *p) K_LOCKED;
int64_t k_cpu_time_ns(const k_process *p) K_LOCKED; /* of one process, up to now */
int64_t k_cpu_spent_ns(k_kernel *k);                /* by all processes, ended ones included */

/* nanosleep(2): to the deadline of clock_mono_ns; -K_EINTR earlier. */
k_ret k_nanosleep(k_process *p, int64_t deadline_ns) CHECKED;

/* AT_FDCWD and friends of open(2) and execve(2). */
enum { K_AT_FDCWD = -100, K_AT_SYMLINK_NOFOLLOW = 0x100, K_AT_EMPTY_PATH = 0x1000 };

/* exec.c: execve(2) in two steps. prepare resolves `path`, follows #! lines (up to 4), loads the program and
 * copies the strings
 * (-K_E2BIG over 2 MiB); it may release kernel.mu. commit makes it the program of `p`: closes descriptors,
 * resets handlers. It cannot fail, but may release kernel.mu. argv and envp are NULL ended arrays of host
 * strings. Without commit: k_program_unref. */
k_ret k_exec_prepare(k_process *p, int32_t dirfd, const char *path, const char *const *argv,
                     const char *const *envp, uint32_t flags, k_program **out) CHECKED K_LOCKED;
void k_exec_commit(k_process *p, k_program *program);
k_program *k_program_ref(k_program *program);
void k_program_unref(k_kernel *k, k_program *program) K_LOCKED;

/* A program that is no file of the sandbox (the embedder's own module). `image` is taken over on success. */
k_ret k_program_from_image(k_kernel *k, k_image *image, const char *path, const char *const *argv,
                           const char *const *envp, k_program **out) CHECKED K_LOCKED;
