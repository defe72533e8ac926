/* pidfd.c - descriptors of processes: pidfd_open(2), pidfd_getfd(2). Signals through them are in signal.c. */
#include "kernel/proc/pidfd.h"
#include "abi/linux/machine.h"

K_LOCKED static k_ret open_locked(abi_machine *m, int32_t pid, uint32_t flags) {
  k_file *f = NULL;
  k_process *p = k_process_find(m->kernel, pid);
  if (p == NULL) return -K_ESRCH;
  K_TRY(k_pidfd(p, flags, &f));
  return abi_give_fd(m, f, K_O_CLOEXEC);
}

k_ret sys_pidfd_open(abi_machine *m, const uint32_t a[static 6]) {
  if ((int32_t)a[0] <= 0 || (a[1] & ~(uint32_t)K_O_NONBLOCK) != 0) return -K_EINVAL;
  return ABI_LOCKED(m, open_locked(m, (int32_t)a[0], a[1]));
}

K_LOCKED static k_ret getfd_locked(abi_machine *m, uint32_t fd, int32_t theirs) {
  k_file *f = NULL, *found = NULL;
  K_TRY(abi_file(m, fd, &f));
  K_TRY(k_pidfd_file(m->p, f, theirs, &found));
  return abi_give_fd(m, found, K_O_CLOEXEC);
}

k_ret sys_pidfd_getfd(abi_machine *m, const uint32_t a[static 6]) {
  if (a[2] != 0) return -K_EINVAL;
  return ABI_LOCKED(m, getfd_locked(m, a[0], (int32_t)a[1]));
}
