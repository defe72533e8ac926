/* thread.h - threads of a process: what each has of its own (pthreads(7)).
 *
 * Every process has one at least, its leader, which is part of it and whose number is the pid. Functions that take
 * a process and sleep, or speak of a mask, mean the thread that calls them (k_self).
 *
 * Turns       threads of one process share its memory, and one of them at a time has the turn: only that one runs in the
 *             process or touches its memory. It is let go in every sleep (wait.c), and passed on after a slice when
 *             another waits for it (turn.c). A process that never had a second thread knows no turns.
 *
 * Life        k_thread_new beside the running ones; the runner gives it a thread of the host, which begins with
 *             k_thread_begin and ends with k_thread_exit. The leader ends last, with k_process_exit: it waits for
 *             the others (k_sleep_until_alone).
 *
 * Locks       all require kernel.mu, but for `attention`. */
#pragma once

#include "kernel/signal/signal.h"

/* Of the host's thread that computes for one of ours: cpu_budget.c. */
typedef struct k_cpu_meter {
  clockid_t clock;
  int64_t from_ns; /* of that clock: what came before is counted */
  bool running;
} k_cpu_meter;

/* The clock of the host's thread, in ns; 0 while none computes. */
int64_t k_cpu_meter_read_ns(const k_cpu_meter *meter);

/* Of a thread that sleeps on a word: futex.c. */
typedef struct k_futex_sleep {
  list node; /* k_process.futexes; not linked: it does not, or was woken */
  uint32_t addr, bits;
} k_futex_sleep;

struct k_thread {
  k_process *process;
  list in_process; /* k_process.threads; the leader is the first */
  int32_t tid;
  pthread_t host;          /* what runs it; known where there are several */
  list in_turns K_GUARDED; /* k_process.turn_waiters */
  int64_t began_ns;        /* of meter.clock */
  k_sleeper sleeper;
  k_sigset mask K_GUARDED;
  k_sigset saved_mask
      K_GUARDED; /* of sigsuspend, ppoll, pselect: put back by the sigreturn of the handler, or at
                                    the end of the call */
  k_sigset awaited K_GUARDED;  /* blocked, but a k_sigtimedwait waits for them */
  k_pending pending K_GUARDED; /* sent to this thread and no other */
  k_futex_sleep futex K_GUARDED;
  k_cpu_meter meter;
  void *machine;          /* the runner's: what executes it; NULL when nothing does */
  _Atomic bool attention; /* a signal or its end is pending: read without the mutex after each system call */
  bool has_saved_mask K_GUARDED;
  bool leaving K_GUARDED; /* it must end, and its process need not */
};

/* The thread of `p` that calls. */
k_thread *k_self(k_process *p);
static inline k_sleeper *k_sleeper_of(k_process *p) { return &k_self(p)->sleeper; }

/* It must leave the guest: its process ends, or it alone. */
bool k_is_ending(const k_thread *t) K_LOCKED;

/* Another thread of `p`, with the mask of the caller; not running. -K_EAGAIN at the limit of processes, -K_ENOMEM. */
k_ret k_thread_new(k_process *p, k_thread **out) CHECKED K_LOCKED;
void k_thread_begin(k_thread *t) K_LOCKED; /* first, on its own thread of the host; returns with the turn */
/* Its end, on the thread that ran it; or what k_thread_new made and nothing ran. Frees it. The kernel may be gone after
 * the k_unlock that follows. */
void k_thread_exit(k_thread *t) K_LOCKED;

/* The leader has ended, and its process lives on: it takes no signals any more. k_sleep_until_alone follows. */
void k_thread_retire(k_thread *leader) K_LOCKED;

/* All other threads of its process are to leave. */
void k_threads_end(k_thread *but) K_LOCKED;

k_thread *k_thread_find(k_kernel *k, int32_t tid) K_LOCKED; /* NULL: none, or of a zombie */

/* turn.c */
void k_turn_take(k_thread *t) K_LOCKED;  /* may sleep for it */
void k_turn_leave(k_thread *t) K_LOCKED; /* the first that waits has it */
void k_turn_pass(k_thread *t) K_LOCKED;  /* both, if somebody has waited for a slice */
void k_turn_yield(k_thread *t) K_LOCKED; /* both, if somebody waits */
/* Of a program whose leader is called from time to time: while it rests it keeps the turn, so the other threads stand still
 * once they want it. Resumed on the thread of the host that calls it now. */
void k_turn_rest(k_process *p) K_LOCKED;
void k_turn_resume(k_process *p) K_LOCKED;

/* futex.c: futex(2) on a word of the process's memory, which is at `addr` there and at `word` here. The caller has the
 * turn, so no other thread changes it between the look and the sleep. wait: 0, -K_EAGAIN (the word is not `expected`),
 * -K_ETIMEDOUT, -K_EINTR, -K_ERESTART. wake and requeue: how many were woken (and moved). */
k_ret k_futex_wait(k_process *p, uint32_t addr, const uint32_t *word, uint32_t expected, uint32_t bits,
                   int64_t deadline_ns) CHECKED;
uint32_t k_futex_wake(k_process *p, uint32_t addr, uint32_t most, uint32_t bits) K_LOCKED;
uint32_t k_futex_requeue(k_process *p, uint32_t from, uint32_t wake, uint32_t to, uint32_t move) K_LOCKED;

/* It looks at its signals, asleep or not. */
void k_thread_look(k_thread *t) K_LOCKED;
