/* pidfd.c - descriptors of processes: pidfd_open(2), pidfd_send_signal(2), pidfd_getfd(2). */
#include "kernel/pidfd.h"
#include "abi/linux/layout.h"
#include "abi/linux/machine.h"

static k_ret open_locked(abi_machine *m, int32_t pid, uint32_t flags) {
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

static k_ret signal_locked(abi_machine *m, uint32_t fd, const k_siginfo *info, bool given) {
  k_file *f = NULL;
  k_process *p = NULL;
  K_TRY(abi_file(m, fd, &f));
  K_TRY(k_pidfd_process(f, &p));
  if (p == NULL) return -K_ESRCH;
  bool poses = given && (info->code >= 0 || info->code == K_SI_TKILL); /* as the kernel */
  if (poses && p != m->p) return -K_EPERM;
  return k_kill(m->kernel, m->p, p->pid, info);
}

k_ret sys_pidfd_send_signal(abi_machine *m, const uint32_t a[static 6]) {
  struct g_siginfo given = { .signo = (int32_t)a[1], .code = K_SI_USER };
  if (a[3] != 0) return -K_EINVAL;
  if (a[2] != 0) K_TRY(abi_get(m->instance, a[2], &given));
  if (given.signo != (int32_t)a[1] || a[1] > K_NSIG) return -K_EINVAL;
  k_siginfo info = { .signo = given.signo,
                     .code = given.code,
                     .pid = m->p->pid,
                     .uid = (int32_t)m->p->view.uid,
                     .value = given.value };
  return ABI_LOCKED(m, signal_locked(m, a[0], &info, a[2] != 0));
}

static k_ret getfd_locked(abi_machine *m, uint32_t fd, int32_t theirs) {
  k_file *f = NULL, *found = NULL;
  K_TRY(abi_file(m, fd, &f));
  K_TRY(k_pidfd_file(m->p, f, theirs, &found));
  return abi_give_fd(m, found, K_O_CLOEXEC);
}

k_ret sys_pidfd_getfd(abi_machine *m, const uint32_t a[static 6]) {
  if (a[2] != 0) return -K_EINVAL;
  return ABI_LOCKED(m, getfd_locked(m, a[0], (int32_t)a[1]));
}
