/* rlimit.c - limits a process may lower for itself (getrlimit(2)). */
#include "kernel/proc/inner.h"

static const uint64_t mib = 1 << 20;

void k_rlimits_init(k_process *p) {
  for (size_t i = 0; i < K_RLIMIT_COUNT; i++)
    p->rlimits[i] = (k_rlimit){ .soft = K_RLIM_INFINITY, .hard = K_RLIM_INFINITY };
  const k_limits *limits = &p->kernel->limits;
  p->rlimits[K_RLIMIT_STACK].soft = 8 * mib;
  p->rlimits[K_RLIMIT_CORE] = (k_rlimit){ 0, 0 };
  p->rlimits[K_RLIMIT_NPROC] = (k_rlimit){ limits->processes, limits->processes };
  p->rlimits[K_RLIMIT_NOFILE] = (k_rlimit){ limits->open_files, limits->open_files };
  p->rlimits[K_RLIMIT_MEMLOCK] = (k_rlimit){ 8 * mib, 8 * mib };
}

k_ret k_prlimit(k_process *p, int32_t pid, uint32_t which, const k_rlimit *new_limit, k_rlimit *old) {
  if (which >= K_RLIMIT_COUNT) return -K_EINVAL;
  k_process *target = pid == 0 ? p : k_process_find(p->kernel, pid);
  if (target == NULL) return -K_ESRCH;
  if (target == p->kernel->init) return -K_EPERM;
  k_rlimit *limit = &target->rlimits[which], before = *limit;
  if (new_limit != NULL) {
    if (new_limit->soft > new_limit->hard) return -K_EINVAL;
    if (new_limit->hard > limit->hard) return -K_EPERM;
    *limit = *new_limit;
    if (which == K_RLIMIT_CPU && target == p && p->resident && !p->cpu.running) k_cpu_limit_begin(p);
    if (which == K_RLIMIT_CPU) k_cpu_limit_changed(target);
    if (which == K_RLIMIT_NOFILE) target->fds.limit = (uint32_t)new_limit->soft;
  }
  if (old != NULL) *old = before;
  return 0;
}
