/* eventfd.h - descriptors that count, tell the time, or hand out signals (eventfd(2), timerfd_create(2),
 * signalfd(2)).
 *
 * Locks       all require kernel.mu; closing a timer may release and retake it. */
#pragma once

#include "kernel/proc/process.h"

/* flags: K_O_NONBLOCK. */
k_ret k_eventfd(k_kernel *k, uint64_t initial, bool semaphore, uint32_t flags, k_file **out) CHECKED K_LOCKED;
/* Its present count, without taking it; false: `f` is no eventfd. */
bool k_eventfd_look(const k_file *f, uint64_t *count, bool *semaphore);

/* realtime: absolute times are of k_real_ns, else of k_mono_ns. */
k_ret k_timerfd(k_kernel *k, bool realtime, uint32_t flags, k_file **out) CHECKED K_LOCKED;
/* first_ns 0 stops it; absolute: a moment of its clock, else from now. The old values may be NULL. -K_EINVAL
 * when `f` is no timer. */
k_ret k_timerfd_set(k_file *f, bool absolute, int64_t first_ns, int64_t interval_ns, int64_t *old_left_ns,
                    int64_t *old_interval_ns) CHECKED K_LOCKED;
k_ret k_timerfd_get(k_file *f, int64_t *left_ns, int64_t *interval_ns) CHECKED;

/* Reads give one 128-byte signalfd_siginfo per pending signal of `set` of `p`, whichever process reads. */
k_ret k_signalfd(k_process *p, k_sigset set, uint32_t flags, k_file **out) CHECKED K_LOCKED;
k_ret k_signalfd_set(k_file *f, k_sigset set) CHECKED K_LOCKED; /* -K_EINVAL when it is no signalfd */
