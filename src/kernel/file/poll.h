/* poll.h - waiting for many files at once (poll(2), select(2)). */
#pragma once

#include "kernel/proc/process.h"

typedef struct k_pollfd {
  int32_t fd;
  uint16_t events, revents;
} k_pollfd;

/* ppoll(2): the count of entries with revents, 0 when `deadline_ns` (clock_mono_ns, K_FOREVER) passed. mask
 * NULL: unchanged. -K_EINTR, -K_EINVAL. */
k_ret k_poll(k_process *p, k_pollfd *fds, size_t count, int64_t deadline_ns, const k_sigset *mask) CHECKED;
