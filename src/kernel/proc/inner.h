/* inner.h - what the files about processes and signals share among themselves. Nothing outside src/kernel
 * includes it. All require kernel.mu. */
#pragma once

#include "kernel/proc/process.h"

/* process.c */
k_ret k_process_make_init(k_kernel *k) CHECKED K_LOCKED; /* kernel.init */
void k_process_free_init(k_kernel *k);
void k_process_reap(k_process *zombie) K_LOCKED; /* out of every list, and freed */

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
/* Does the default actions that wait (stopping sleeps here) until nothing or only handlers are left. */
enum k_signal_todo k_signal_settle(k_process *p);
bool k_signal_is_ignored(const k_process *p, int sig) K_LOCKED;
/* Takes the first pending signal of `set` off the queue: its number, or 0. */
int k_signal_dequeue(k_process *p, k_sigset set, k_siginfo *info) K_LOCKED;

/* sigaction.c: a mask for the time of one call (ppoll, sigsuspend). A call that a signal ends leaves it for
 * the handler to put the old one back. mask NULL: nothing. after_call gives `r` on. */
void k_signal_mask_for_call(k_process *p, const k_sigset *mask) K_LOCKED;
k_ret k_signal_mask_after_call(k_process *p, const k_sigset *mask, k_ret r) CHECKED K_LOCKED;

/* itimer.c */
void k_itimers_init(k_process *p) K_LOCKED;
void k_itimers_stop(k_process *p); /* releases and retakes kernel.mu when one was ever set */

/* cpu_limit.c */
void k_cpu_limit_init(k_process *p);
void k_cpu_limit_changed(k_process *p) K_LOCKED;
void k_cpu_limit_stop(k_process *p); /* releases and retakes kernel.mu when there was a limit */

/* cpu_budget.c */
void k_cpu_budget_init(k_kernel *k);
void k_cpu_budget_stop(k_kernel *k); /* without kernel.mu, when no process runs any more */

/* rlimit.c */
void k_rlimits_init(k_process *p) K_LOCKED;

/* job.c */
void k_job_entered(k_job *job,
                   k_process *p) K_LOCKED; /* takes a reference, which the caller of k_job_left gives back */
void k_job_left(k_process *p,
                bool ran) K_LOCKED; /* ran: exit_status is set; else it was discarded. No job: fine */
