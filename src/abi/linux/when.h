/* when.h - points in time as guests give them. */
#pragma once

#include "abi/linux/machine.h"

/* The time of a clock of clock_gettime(2), by its number on Linux. -K_EINVAL. */
k_ret abi_read_clock(abi_machine *m, uint32_t clock, int64_t *ns) CHECKED;

/* A struct timespec as nanoseconds, clipped to what int64_t holds. -K_EINVAL when it is none or negative. */
k_ret abi_duration(abi_machine *m, uint32_t addr, int64_t *ns) CHECKED;

/* From now on, by clock_mono_ns; K_FOREVER when it is too far to count. */
k_ret abi_deadline(abi_machine *m, uint32_t addr, int64_t *deadline_ns) CHECKED;
int64_t abi_after(int64_t from_ns, int64_t ns); /* the sum, or K_FOREVER; ns is not negative */

k_ret abi_put_duration(abi_machine *m, uint32_t addr, int64_t ns) CHECKED;
