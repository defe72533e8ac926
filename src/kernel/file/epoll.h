/* epoll.h - a set of descriptors that is waited for again and again (epoll(7)).
 *
 * Level and edge triggered, one-shot. An entry belongs to an open file description and the number it was
 * added by, and goes when the last descriptor of that description is closed.
 *
 * Locks       all require kernel.mu.
 * Not here    EPOLLEXCLUSIVE (accepted, wakes all), EPOLLWAKEUP. */
#pragma once

#include "kernel/proc/process.h"

enum { K_EPOLL_CTL_ADD = 1, K_EPOLL_CTL_DEL = 2, K_EPOLL_CTL_MOD = 3 };
#define K_EPOLLET 0x80000000u
#define K_EPOLLONESHOT 0x40000000u

typedef struct k_epoll_event {
  uint32_t events;
  uint64_t data;
} k_epoll_event;

k_ret k_epoll_new(k_kernel *k, k_file **out) CHECKED K_LOCKED;
k_ret k_epoll_ctl(k_process *p, k_file *epoll, int op, int32_t fd,
                  const k_epoll_event *event) CHECKED K_LOCKED;
/* The count of events, 0 when `deadline_ns` passed. mask NULL: unchanged. */
k_ret k_epoll_wait(k_process *p, k_file *epoll, k_epoll_event *events, size_t count, int64_t deadline_ns,
                   const k_sigset *mask) CHECKED;

/* For file.c: this description is gone. */
void k_epoll_forget(k_file *f) K_LOCKED;
