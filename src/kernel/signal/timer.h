/* timer.h - timers of a process that send a signal (timer_create(2)): on the wall clock, the monotonic clock, or
 * the processor time of the process. A child of fork(2) has none; exec deletes them.
 *
 * Locks       all require kernel.mu; those that delete may release and retake it. */
#pragma once

#include "kernel/proc/process.h"

typedef struct k_timer k_timer;

enum k_timer_clock { K_TIMER_REALTIME, K_TIMER_MONOTONIC, K_TIMER_CPU };

typedef struct k_timer_options {
  enum k_timer_clock clock;
  bool signals,
      has_value; /* signals: else expiries are silent (SIGEV_NONE). Without a value: the timer's id */
  int32_t signo;
  uint32_t value;
} k_timer_options;

typedef struct k_timer_value {
  int64_t first_ns, interval_ns; /* first 0: off */
} k_timer_value;

k_ret k_timer_create(k_process *p,
                     const k_timer_options *how) CHECKED K_LOCKED; /* its id; -K_EAGAIN, -K_ENOMEM */
k_ret k_timer_get(k_process *p, int32_t id, k_timer_value *out) CHECKED K_LOCKED;
k_ret k_timer_set(k_process *p, int32_t id, bool absolute, const k_timer_value *given,
                  k_timer_value *old) CHECKED K_LOCKED;
k_ret k_timer_overrun(const k_process *p, int32_t id) CHECKED K_LOCKED;
k_ret k_timer_delete(k_process *p, int32_t id) CHECKED K_LOCKED;

/* A signal with K_SI_TIMER is taken from the queue: it gets its count of overruns. */
void k_timer_delivered(k_process *p, k_siginfo *info) K_LOCKED;

void k_timers_delete(k_process *p) K_LOCKED;
void k_timers_off(k_process *p) K_LOCKED; /* all are stopped, none deleted */
