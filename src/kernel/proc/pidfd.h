/* pidfd.h - descriptors of processes (pidfd_open(2)): they name the same process for ever, whichever process gets its
 * number later, and become readable when it ends.
 *
 * Locks       all require kernel.mu. */
#pragma once

#include "kernel/proc/process.h"

/* flags: K_O_NONBLOCK, which waitid(2) looks at. Zombies can be opened too. */
k_ret k_pidfd(k_process *p, uint32_t flags, k_file **out) CHECKED K_LOCKED;

/* The process of a pidfd; *out NULL: it is gone, its parent has waited for it. -K_EBADF when `f` is none. */
k_ret k_pidfd_process(const k_file *f, k_process **out) CHECKED;

/* pidfd_getfd(2): another process' open file, to share; a reference. -K_ESRCH, -K_EPERM, -K_EBADF. */
k_ret k_pidfd_file(const k_process *self, const k_file *f, int32_t fd, k_file **out) CHECKED K_LOCKED;
