/* inner.h - what the files about processes and signals share among themselves. Nothing outside src/kernel
 * includes it. All require kernel.mu. */
#pragma once

#include "kernel/proc/process.h"

/* process.c */
k_ret k_process_make_init(k_kernel *k) CHECKED K_LOCKED; /* kernel.init */
void k_process_free_init(k_kernel *k);
void k_process_reap(k_process *zombie) K_LOCKED; /* out of every list, and freed */
int32_t k_next_pid(k_kernel *k) K_LOCKED;
/* No more processes or threads; `parent` NULL: of the embedder. */
bool k_process_at_limit(const k_kernel *k, const k_process *parent) K_LOCKED;

/* children.c */
void k_children_to_init(k_process *p) K_LOCKED;
/* Tells the parent what became of `p` (K_CLD_*): wakes its waits, sends SIGCHLD as it wants it. */
void k_parent_notify(k_process *p, int code) K_LOCKED;
bool k_parent_reaps_itself(const k_process *parent); /* SIGCHLD ignored or SA_NOCLDWAIT: no zombies */

/* pidfd.c: the process goes; its pidfds name no process any more. */
void k_pidfds_detach(k_process *p);

/* group.c */
bool k_group_exists(k_kernel *k, int32_t pgid) K_LOCKED;
bool k_group_is_in_session(k_kernel *k, int32_t pgid, int32_t sid) K_LOCKED;
bool k_group_is_orphaned(k_kernel *k, int32_t pgid, const k_process *leaving) K_LOCKED;
/* `p` is about to leave its group, or to lose `parent`: a stopped group that cannot be continued gets SIGHUP
 * and SIGCONT. */
void k_group_after_exit(k_process *p) K_LOCKED;
void k_group_after_loss(k_process *p, const k_process *parent) K_LOCKED;

/* signal.c */
void k_signal_update(
    k_process *p) K_LOCKED; /* drops signals that have become ignored, keeps `attention` exact */
/* Does the default actions that wait (stopping sleeps here) until nothing or only handlers are left. Of the calling
 * thread. */
enum k_signal_todo k_signal_settle(k_thread *t);
bool k_signal_is_ignored(const k_process *p, int sig) K_LOCKED;
/* Takes the first signal of `set` that is pending for the thread or its process off the queue: its number, or 0. */
int k_signal_dequeue(k_thread *t, k_sigset set, k_siginfo *info) K_LOCKED;
/* The thread blocks more than before, or leaves: others of its process look at the signals that it has not taken. */
void k_signal_pass_on(const k_thread *t) K_LOCKED;

/* sigaction.c: a mask for the time of one call (ppoll, sigsuspend). A call that a signal ends leaves it for
 * the handler to put the old one back. mask NULL: nothing. after_call gives `r` on. */
void k_signal_mask_for_call(k_process *p, const k_sigset *mask) K_LOCKED;
k_ret k_signal_mask_after_call(k_process *p, const k_sigset *mask, k_ret r) CHECKED K_LOCKED;

/* itimer.c */
void k_itimers_init(k_process *p) K_LOCKED;
void k_itimers_stop(k_process *p); /* releases and retakes kernel.mu when one was ever set */

/* thread.c */
k_ret k_thread_init(k_thread *t, k_process *p) CHECKED K_LOCKED; /* not in any list */
void k_thread_clear(k_thread *t);                                /* everything in it, not its memory */

/* turn.c */
void k_turns_begin(k_process *p) K_LOCKED; /* the calling thread has it */

/* cpu_limit.c */
void k_cpu_limit_init(k_process *p);
void k_cpu_limit_changed(k_process *p) K_LOCKED;
void k_cpu_limit_stop(k_process *p); /* releases and retakes kernel.mu when there was a limit */

/* cpu_budget.c */
void k_cpu_budget_init(k_kernel *k);
/* A new job: with the budget used up it is stopped (K_JOB_TIME). */
void k_cpu_budget_admit(k_job *job) K_LOCKED;
void k_cpu_budget_stop(k_kernel *k); /* without kernel.mu, when no process runs any more */

/* rlimit.c */
void k_rlimits_init(k_process *p) K_LOCKED;

/* job.c */
void k_job_entered(k_job *job,
                   k_process *p) K_LOCKED; /* takes a reference, which the caller of k_job_left gives back */
void k_job_left(k_process *p,
                bool ran) K_LOCKED; /* ran: exit_status is set; else it was discarded. No job: fine */
