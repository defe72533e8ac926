/* machine.h - one running program and what its system calls need. Private to this folder.
 *
 * A machine is a thread inside an instance. It usually executes one process; between vfork(2) and the exec or
 * exit of the child it executes both, parent and child in one memory, and the calls are those of the
 * innermost (m->p). All of them have k_process.machine pointing here.
 *
 * Threads     a process of several threads has a machine for each, on one memory. That of the leader lives longest, and
 *             what belongs to all is there (`leader`). Only the thread that has the turn (kernel/proc/thread.h) touches
 *             the memory. Pointers into it stay valid over a sleep, as it never moves or shrinks, but the bytes there may be
 *             others: checked bytes are copied before a sleep, or read and checked again after it.
 *
 * Locks       `instance`, `p`, `t` and `depth` are written with kernel.mu by the machine's own thread: a kick
 * reads them with kernel.mu from another, the thread itself without. The rest is the thread's own. Life made
 * by start or fork, freed by its own thread after the last process it executed has exited. */
#pragma once

#include "abi/linux/runner.h"
#include "abi/linux/stop_words.h"
#include "abi/mem.h"
#include "kernel/proc/process.h"

enum { ABI_VFORK_MAX = 4, ABI_NESTED_MAX = 8 };

typedef struct abi_machine abi_machine;

/* Why the guest was made to leave: what its thread does next. */
enum abi_next { ABI_NEXT_NONE, ABI_NEXT_EXIT, ABI_NEXT_EXEC, ABI_NEXT_FORK };

struct abi_machine {
  k_process *p;        /* whose calls these are, */
  k_thread *t;         /* and of which of its threads */
  k_thread *own;       /* of the process that the machine was started for */
  abi_machine *leader; /* itself, but for the machines of other threads */
  k_kernel *kernel;
  eng_instance *instance;
  abi_runner *runner;
  uint64_t calls; /* not yet added to kernel.used.syscalls */
  bool attended;  /* abi_attend was called since somebody cleared this */
  bool odd;       /* abi_is_odd: calls need more than the usual. Kept at hand, it may be set needlessly */

  /* of the instance; found once */
  uint32_t pending_addr; /* of __cay_sigpending; 0: no handler can be run */
  eng_func deliver, start;
  bool has_words; /* kernel.mu: an interpreter that can be made to look for signals */
  struct abi_stop_words words;
  struct abi_turn_words turn_words; /* kernel.mu, of the leader; known where there is a second thread */
  eng_func start_unwind, stop_unwind, start_rewind, stop_rewind;
  eng_global stack_pointer;
  bool can_deliver, can_fork;
  bool grows_itself; /* not our C library: room to grow is charged in advance */
  uint64_t
      charged; /* bytes of p's memory in kernel.used.memory, of the root process; the leader's with the memory */
  uint64_t cap; /* of eng_memory_set_max: growth without asking, and exceptions */

  /* threads: thread.c */
  bool is_thread;          /* it began with __cay_thread, and these, in place of _start */
  uint32_t thread_args[3]; /* function, argument, variables */
  uint32_t thread_stack;   /* where its stack begins; 0: it has begun */
  uint32_t clear_tid;      /* address of a word that is cleared when it ends; 0: none */
  bool thread_over;        /* ABI_NEXT_EXIT: of this thread, not of the process */
  k_program *taken_over;   /* kernel.mu, of the leader: another thread has called execve */
  k_file *kept[4];         /* references for the time of a call: another thread may close the descriptor */
  uint32_t kept_count;

  /* fork */
  bool rewinding;
  uint32_t fork_buffer;
  k_ret fork_result;
  k_process *fork_child; /* made, not yet started */

  struct wasi_state *wasi; /* of a program that calls WASI (abi/wasi/wasi.h) */

  /* vfork: outer[0] is the process that the machine was started for */
  k_process *outer[ABI_VFORK_MAX];
  uint32_t depth;
  bool child_dead;  /* m->p was killed, but its parent's memory is not to be left */
  uint32_t refused; /* calls of it since */

  enum abi_next next;
  bool handler_waits;             /* the flag of the guest was raised when it was looked at last */
  char *why;                      /* of ABI_NEXT_EXIT, for people; NULL: nothing to say */
  enum k_job_start start_failure; /* the program that stands here could not be started */
  int32_t status;                 /* ABI_NEXT_EXIT, as wait(2) gives it; that of a dying process is its own */
  k_program *exec;                /* ABI_NEXT_EXEC */
  uint32_t nested;                /* deliveries at a loop edge that are running */
  _Atomic uint64_t *fuel;         /* what the job has left; NULL: not counted */
  uint64_t fuel_given;
  int64_t cpu_from_ns; /* thread clock when it began */
  int64_t cpu_mark_ns; /* and when m->p was last charged */
  int64_t system_ns;   /* of that, inside system calls, estimated: calls.c */
  uint32_t unmeasured; /* calls since one was measured */
};

/* Between linux.fork and the moment it returns, when the guest has nothing to do but unwind and wind up. */
static inline bool abi_in_fork(const abi_machine *m) { return m->next == ABI_NEXT_FORK || m->rewinding; }

bool abi_is_odd(const abi_machine *m); /* calls.c */

/* ---- calls.c ---- */

/* What a handler is: the six arguments as they came; the answer goes back as 32 bits. */
typedef k_ret abi_call_fn(abi_machine *m, const uint32_t a[static 6]);

/* One system call, with everything that belongs to it: trace, count, signals. ENG_UNWIND: the guest is to be
 * left. */
enum eng_flow abi_call(abi_machine *m, int32_t number, const uint32_t a[static 6], int32_t *result);

/* What follows a call whose result is `r`: signals, and leaving a process that is to end. */
enum eng_flow abi_call_follow(abi_machine *m, k_ret r);

/* Looks after signals: the flag of the guest is raised, or ENG_UNWIND. */
enum eng_flow abi_attend(abi_machine *m);

#define SYSCALL(number, name, handler, format, level, caveat) abi_call_fn handler;
#include "abi/linux/syscalls.def"
#undef SYSCALL

enum abi_level { ABI_FULL, ABI_PARTIAL, ABI_IGNORED, ABI_REFUSED };
typedef struct abi_row {
  abi_call_fn *fn;
  const char *name, *format;
  int32_t number;
  enum abi_level level;
} abi_row;

extern const abi_row abi_rows[]; /* as in syscalls.def */
extern const size_t abi_row_count;
const abi_row *abi_row_of(int32_t number); /* NULL: no such call */

/* ---- for handlers ---- */

/* An expression with kernel.mu held. */
#define ABI_LOCKED(m, expression)                                                                            \
  __extension__({                                                                                            \
    k_kernel *kernel_ = (m)->kernel;                                                                         \
    k_lock(kernel_);                                                                                         \
    k_ret locked_ = (expression);                                                                            \
    k_unlock(kernel_);                                                                                       \
    locked_;                                                                                                 \
  })

/* Two arguments as one 64-bit value. */
static inline int64_t abi_pair(const uint32_t *a) { return (int64_t)((uint64_t)a[1] << 32 | a[0]); }

/* Where a path starts: the directory `fd`, NULL (the working directory) for AT_FDCWD and absolute paths.
 * Borrowed as long as the descriptor is open. -K_EBADF, -K_ENOTDIR. With kernel.mu. */
enum { ABI_AT_FDCWD = -100 };
k_ret abi_at(abi_machine *m, int32_t fd, const char *path, k_inode **out) CHECKED;

/* A file of m->p, borrowed until the call returns. With kernel.mu. */
k_ret abi_keep(abi_machine *m, k_file *f) CHECKED K_LOCKED; /* thread.c: -K_EMFILE */
K_UNCHECKED static inline k_ret abi_file(abi_machine *m, uint32_t fd, k_file **out) {
  K_TRY(k_fd_get(&m->p->fds, (int32_t)fd, out));
  return __builtin_expect(m->p->thread_count > 1, 0) ? abi_keep(m, *out) : 0;
}

/* The lowest free descriptor for `f`, which is taken over, also on failure. flags: K_O_CLOEXEC counts.
 * -K_EMFILE, -K_ENOMEM. With kernel.mu. */
K_LOCKED static inline k_ret abi_give_fd(abi_machine *m, k_file *f, uint32_t flags) {
  k_ret fd = k_fd_add(&m->p->fds, f, 0, (flags & K_O_CLOEXEC) != 0);
  if (fd < 0) k_file_unref(f);
  return fd;
}

/* ---- life.c, instance.c, vfork.c, stack.c ---- */

/* Makes the process end with this status and, if it is the first of its job, this reason; `why` may be NULL.
 * The guest is left when the call or kick that is being answered returns. Without kernel.mu. */
void abi_die(abi_machine *m, int32_t status, const char *why);
void abi_set_why(abi_machine *m, const char *why); /* NULL: nothing to say */

/* Subtracts from the job the fuel used since the last call, and returns the rest. */
void abi_fuel_settle(abi_machine *m);

/* Adds what the thread has computed since the last time to m->p. With kernel.mu. */
void abi_charge_time(abi_machine *m);

/* The child context of vfork ends: the parent is m->p again. The child has been started or has exited. With
 * kernel.mu. */
void abi_vfork_leave(abi_machine *m);
static inline k_process *abi_root(const abi_machine *m) { return m->depth > 0 ? m->outer[0] : m->p; }

/* thread.c. execve(2) of a thread that is not the leader: its machine does it. Takes over `program`. */
k_ret abi_thread_execs(abi_machine *m, k_program *program) K_LOCKED;

/* thread.c. Gives back what abi_file kept. Without kernel.mu. */
void abi_kept_drop(abi_machine *m);

/* After every change of the memory's length by the guest itself, and once at the start. -K_ENOMEM. */
k_ret abi_memory_settle(abi_machine *m) CHECKED;

/* The initial stack (execve(2)): its length, or writes it at `sp`. */
k_ret abi_initial_stack(abi_machine *m, uint32_t sp) CHECKED;

/* ---- trace.c ---- */

/* One line for a call that `pid` has just made; `result` NULL: it does not return. Nothing without a trace. */
void abi_trace(abi_machine *m, int32_t pid, const abi_row *row, int32_t number, const uint32_t *a,
               const k_ret *result);

/* That line, cut to `cap`; its length. */
size_t abi_trace_format(abi_machine *m, int32_t pid, const abi_row *row, int32_t number, const uint32_t *a,
                        const k_ret *result, char *text, size_t cap);
