/* owner.h - whom an open file description sends signals to (fcntl(2): F_SETOWN, F_SETOWN_EX).
 *
 * Not here    SIGIO (O_ASYNC): the only signal is SIGURG, of sockets with urgent data. F_SETSIG is kept and told again.
 * Locks       all require kernel.mu. */
#pragma once

#include "kernel/proc/process.h"

/* The values of struct f_owner_ex. */
enum { K_OWNER_THREAD, K_OWNER_PROCESS, K_OWNER_GROUP };

/* id 0: no owner. -K_ESRCH: there is none; -K_EINVAL: no such type. */
k_ret k_owner_set(k_file *f, int type, int32_t id) CHECKED K_LOCKED;
/* As F_SETOWN and FIOSETOWN have it: a process, or a group as a negative number. -K_EINVAL, -K_ESRCH. */
k_ret k_owner_set_number(k_file *f, int32_t number) CHECKED K_LOCKED;
int32_t k_owner_get(const k_file *f, int *type) K_LOCKED; /* 0: none, or gone */
int32_t k_owner_number(const k_file *f) K_LOCKED;

void k_owner_signal(const k_file *f, int sig) K_LOCKED; /* from the kernel; no effect without an owner */
