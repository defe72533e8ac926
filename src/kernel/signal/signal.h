/* signal.h - signals of a process and of its threads (signal(7), sigaction(2)).
 *
 * Handlers are guest addresses that mean nothing here. A signal is sent from anywhere with kernel.mu held; it
 * is acted upon only by a thread of the process itself, at three moments: when a system call returns, when
 * a sleep is interrupted, and when the runner's kick makes the thread look (k_signal_poll).
 *
 * Threads     actions are the process's; masks are the threads'. A signal for the process waits there for any
 *             thread that does not block it. Functions that take a process and speak of a mask, or of taking a
 *             signal, mean the calling thread (k_self).
 * Stopped     all threads of a process that is stopped sleep inside k_signal_poll or k_sleep until SIGCONT or its end.
 * Not here    queueing of more than one instance of a real-time signal per sender beyond K_SIG_QUEUE. */
#pragma once

#include "base/clock.h"
#include "kernel/core/errno.h"
#include "kernel/core/wait.h"

enum {
  K_SIGHUP = 1,
  K_SIGINT,
  K_SIGQUIT,
  K_SIGILL,
  K_SIGTRAP,
  K_SIGABRT,
  K_SIGBUS,
  K_SIGFPE,
  K_SIGKILL,
  K_SIGUSR1,
  K_SIGSEGV,
  K_SIGUSR2,
  K_SIGPIPE,
  K_SIGALRM,
  K_SIGTERM,
  K_SIGSTKFLT,
  K_SIGCHLD,
  K_SIGCONT,
  K_SIGSTOP,
  K_SIGTSTP,
  K_SIGTTIN,
  K_SIGTTOU,
  K_SIGURG,
  K_SIGXCPU,
  K_SIGXFSZ,
  K_SIGVTALRM,
  K_SIGPROF,
  K_SIGWINCH,
  K_SIGIO,
  K_SIGPWR,
  K_SIGSYS,
  K_NSIG = 64,
  K_SIG_QUEUE = 128,
};
enum { K_SIG_DFL = 0, K_SIG_IGN = 1 };
enum {
  K_SA_NOCLDSTOP = 1,
  K_SA_NOCLDWAIT = 2,
  K_SA_SIGINFO = 4,
  K_SA_ONSTACK = 0x08000000,
  K_SA_RESTART = 0x10000000,
  K_SA_NODEFER = 0x40000000
};
#define K_SA_RESETHAND 0x80000000u
enum { K_SIG_BLOCK = 0, K_SIG_UNBLOCK = 1, K_SIG_SETMASK = 2 };
enum {
  K_SI_USER = 0,
  K_SI_KERNEL = 128,
  K_SI_QUEUE = -1,
  K_SI_TIMER = -2,
  K_SI_MESGQ = -3,
  K_SI_TKILL = -6,
  K_CLD_EXITED = 1,
  K_CLD_KILLED = 2,
  K_CLD_DUMPED = 3,
  K_CLD_STOPPED = 5,
  K_CLD_CONTINUED = 6
};

typedef uint64_t k_sigset; /* bit sig-1 */

typedef struct k_siginfo {
  int32_t signo, code, pid, uid, status;
  uint32_t value; /* sigqueue(3) */
} k_siginfo;

typedef struct k_sigaction {
  uint32_t handler; /* K_SIG_DFL, K_SIG_IGN or a guest address */
  uint32_t flags;
  k_sigset mask;
} k_sigaction;

typedef struct k_sigqueued {
  k_siginfo info;
  struct k_sigqueued *next;
} k_sigqueued;

enum { K_FIRST_REALTIME = 32 };

/* Signals that were sent and not taken yet. */
typedef struct k_pending {
  k_sigset set;
  k_siginfo *info;    /* of standard signals, K_FIRST_REALTIME of them; NULL: none was sent yet */
  k_sigqueued *queue; /* of real-time signals, oldest first */
  uint32_t queued;
} k_pending;

/* Part of k_process. */
typedef struct k_signals {
  k_sigaction *actions;  /* by number; those beyond the count are the default ones, as all are at first */
  uint32_t action_count; /* never becomes less */
  k_pending pending;     /* for any of its threads */
} k_signals;

/* The action of a signal from 1 to K_NSIG. Borrowed until the next change. */
const k_sigaction *k_signals_action(const k_signals *signals, int sig);
/* All of them, `out` by number; and back, which cannot fail: the count has not become less since. */
void k_signals_save(const k_signals *signals, k_sigaction out[static K_NSIG + 1]);
k_ret k_signals_reserve(k_signals *signals,
                        const k_sigaction wanted[static K_NSIG + 1]) CHECKED; /* room for them */
void k_signals_restore(k_signals *signals, const k_sigaction saved[static K_NSIG + 1]);

/* Sends (kill(2) semantics for ignored and stopped). Wakes and kicks the process as needed. info->signo 0:
 * nothing. */
void k_signal_send(k_process *p, const k_siginfo *info) K_LOCKED;

/* Likewise to one of its threads (tgkill(2)). -K_EAGAIN: sigqueue(3) with a full queue. */
k_ret k_signal_send_to(k_thread *t, const k_siginfo *info) CHECKED K_LOCKED;

/* Ends the process as a fault of its own does (a trap: SIGSEGV, SIGFPE, SIGILL, SIGABRT): the default action,
 * whatever is blocked, ignored or handled. */
void k_signal_force(k_process *p, int sig) K_LOCKED;

/* Takes back the pending signals of `set`. */
void k_signals_forget(k_process *p, k_sigset set) K_LOCKED;

/* The bits of pending signals that are blocked too: sigpending(2). */
k_sigset k_signal_pending(k_process *p) K_LOCKED;

static inline k_sigset k_sigbit(int sig) { return UINT64_C(1) << (sig - 1); }

/* kill(2): pid > 0, 0 (own group), -1 (all but init and the sender), < -1 (group). `self` NULL: the embedder,
 * who may signal anyone. -K_ESRCH, -K_EINVAL, -K_EPERM (init), -K_EAGAIN (sigqueue(3) with a full queue). */
k_ret k_kill(k_kernel *kernel, k_process *self, int32_t pid, const k_siginfo *info) CHECKED K_LOCKED;

/* What the process's own thread must do now. Acts on default actions itself: a fatal signal makes the process
 * dying (k_process.dying, .exit_status) and answers K_SIGNAL_END; a stop sleeps here. */
enum k_signal_todo { K_SIGNAL_NONE, K_SIGNAL_HANDLER, K_SIGNAL_END };
enum k_signal_todo k_signal_poll(k_process *p);

/* The next handler to run: fills the action and what to restore afterwards, blocks what the handler blocks,
 * resets it with SA_RESETHAND. Returns the signal or 0. */
int k_signal_take(k_process *p, k_sigaction *action, k_siginfo *info, k_sigset *old_mask) K_LOCKED;
void k_signal_return(k_process *p, k_sigset mask) K_LOCKED; /* after the handler */

/* Is there a signal that a handler or default action waits to act on? restart: all such have SA_RESTART. */
bool k_signal_wants_attention(const k_thread *t, bool *restart) K_LOCKED;

k_ret k_sigaction_set(k_process *p, int sig, const k_sigaction *new_action,
                      k_sigaction *old) CHECKED K_LOCKED; /* NULL: not set, not wanted */
k_ret k_sigmask_set(k_process *p, int how, const k_sigset *set, k_sigset *old) CHECKED K_LOCKED;
k_ret k_sigsuspend(k_process *p, k_sigset mask) CHECKED; /* sleeps; always -K_EINTR or -K_EKILLED */
k_ret k_sigtimedwait(k_process *p, k_sigset set, k_siginfo *info,
                     int64_t deadline_ns) CHECKED; /* signal; -K_EAGAIN in time */

void k_signals_exec(k_process *p) K_LOCKED; /* handlers back to default, ignored stay */
k_ret k_signals_fork(k_process *child,
                     k_process *parent) CHECKED K_LOCKED; /* actions and mask; nothing pending */
void k_pending_clear(k_pending *all);
void k_signals_clear(k_signals *signals); /* frees pending signals and actions */

/* alarm(2), setitimer(2) ITIMER_REAL, ITIMER_VIRTUAL and ITIMER_PROF (the last two count wall time of the
 * running thread's cpu clock, looked at when it sleeps or is kicked). Values in nanoseconds; 0 stops. */
enum { K_ITIMER_REAL, K_ITIMER_VIRTUAL, K_ITIMER_PROF, K_ITIMER_COUNT };
typedef struct k_itimer {
  alarm_entry entry;
  k_process *process;
  int64_t due_ns, interval_ns; /* due 0: off */
  int which;
  bool used;          /* the alarm may be armed */
  clockid_t clock;    /* of the last two: processor time of the thread */
  int64_t started_ns; /* of that clock */
} k_itimer;
k_ret k_itimer_set(k_process *p, int which, int64_t first_ns, int64_t interval_ns, int64_t *old_first_ns,
                   int64_t *old_interval_ns) CHECKED;
void k_itimers_off(k_process *p) K_LOCKED;
void k_itimer_get(k_process *p, int which, int64_t *left_ns, int64_t *interval_ns);
