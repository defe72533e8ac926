/* scheduler.c - nice values, scheduling policies and processors (sched(7)), as an unprivileged user has them: kept
 * and inherited, and without effect, since the host schedules. */
#include "abi/linux/machine.h"
#include "abi/linux/when.h"

#include <sched.h>

enum { PRIO_PROCESS, PRIO_PGRP, PRIO_USER, NICE_LEAST = -20, NICE_MOST = 19 };
enum { RESET_ON_FORK = 0x40000000, DEADLINE = 6, REALTIME_MOST = 99, SLICE_NS = 4000000 };

/* ---- nice values ---- */

K_LOCKED static bool priority_is_meant(const k_process *me, const k_process *p, uint32_t which, int32_t who) {
  if (p->zombie) return false;
  switch (which) {
  case PRIO_PROCESS: return p->pid == (who == 0 ? me->pid : who);
  case PRIO_PGRP: return p->pgid == (who == 0 ? me->pgid : who);
  default: return p->view.uid == (who == 0 ? me->view.uid : (uint32_t)who);
  }
}

K_LOCKED static k_ret set_nice(abi_machine *m, uint32_t which, int32_t who, int32_t nice) {
  k_ret r = -K_ESRCH;
  if (which == PRIO_PROCESS && who == 1) return -K_EPERM; /* init is another user's */
  LIST_EACH (p, &m->kernel->processes, k_process, in_kernel) {
    if (!priority_is_meant(m->p, p, which, who)) continue;
    if (nice < p->nice) {
      r = -K_EACCES;
      continue;
    }
    p->nice = nice;
    if (r == -K_ESRCH) r = 0;
  }
  return r;
}

k_ret sys_setpriority(abi_machine *m, const uint32_t a[static 6]) {
  int32_t nice = (int32_t)a[2];
  if (a[0] > PRIO_USER) return -K_EINVAL;
  if (nice < NICE_LEAST) nice = NICE_LEAST;
  if (nice > NICE_MOST) nice = NICE_MOST;
  return ABI_LOCKED(m, set_nice(m, a[0], (int32_t)a[1], nice));
}

/* 20 minus the value, so that it is no error; the C library turns it round. */
K_LOCKED static k_ret get_nice(abi_machine *m, uint32_t which, int32_t who) {
  k_ret best = which == PRIO_PROCESS && who == 1 ? NICE_MOST + 1 : -K_ESRCH;
  LIST_EACH (p, &m->kernel->processes, k_process, in_kernel) {
    if (priority_is_meant(m->p, p, which, who) && NICE_MOST + 1 - p->nice > best)
      best = NICE_MOST + 1 - p->nice;
  }
  return best;
}

k_ret sys_getpriority(abi_machine *m, const uint32_t a[static 6]) {
  if (a[0] > PRIO_USER) return -K_EINVAL;
  return ABI_LOCKED(m, get_nice(m, a[0], (int32_t)a[1]));
}

/* ---- policies ---- */

/* A process that lives, or init. With kernel.mu. */
K_LOCKED static k_ret policy_target(abi_machine *m, uint32_t pid, k_process **out) {
  if ((int32_t)pid < 0) return -K_EINVAL;
  k_process *p = pid == 0 ? m->p : k_process_find(m->kernel, (int32_t)pid);
  k_thread *t = p == NULL ? k_thread_find(m->kernel, (int32_t)pid) : NULL;
  if (t != NULL) p = t->process; /* its threads have its policy */
  if (p == NULL || p->zombie) return -K_ESRCH;
  *out = p;
  return 0;
}

static bool is_realtime(uint32_t policy) { return policy == SCHED_FIFO || policy == SCHED_RR; }
static bool is_known(uint32_t policy) { return policy <= DEADLINE && policy != 4; /* 4 was never given */ }

K_LOCKED static k_ret set_policy(abi_machine *m, uint32_t pid, int64_t wanted, int32_t priority) {
  k_process *p = NULL;
  K_TRY(policy_target(m, pid, &p));
  uint32_t policy = wanted < 0 ? p->policy : (uint32_t)wanted & ~(uint32_t)RESET_ON_FORK;
  if (!is_known(policy) || policy == DEADLINE || priority < 0 || priority > REALTIME_MOST) return -K_EINVAL;
  if (is_realtime(policy) != (priority != 0)) return -K_EINVAL;
  if (is_realtime(policy) || p == m->kernel->init) return -K_EPERM;
  if (p->policy == SCHED_IDLE && policy != SCHED_IDLE)
    return -K_EPERM; /* without RLIMIT_NICE there is no way back */
  p->policy = policy;
  return 0;
}

static k_ret priority_of(abi_machine *m, uint32_t addr, int32_t *out) {
  return addr == 0 ? -K_EINVAL : abi_get(m->instance, addr, out);
}

k_ret sys_sched_setparam(abi_machine *m, const uint32_t a[static 6]) {
  int32_t priority = 0;
  if ((int32_t)a[0] < 0) return -K_EINVAL;
  K_TRY(priority_of(m, a[1], &priority));
  return ABI_LOCKED(m, set_policy(m, a[0], -1, priority));
}

k_ret sys_sched_setscheduler(abi_machine *m, const uint32_t a[static 6]) {
  int32_t priority = 0;
  if ((int32_t)a[0] < 0 || (int32_t)a[1] < 0) return -K_EINVAL;
  K_TRY(priority_of(m, a[2], &priority));
  return ABI_LOCKED(m, set_policy(m, a[0], a[1], priority));
}

K_LOCKED static k_ret get_policy(abi_machine *m, uint32_t pid) {
  k_process *p = NULL;
  K_TRY(policy_target(m, pid, &p));
  return p->policy;
}

k_ret sys_sched_getscheduler(abi_machine *m, const uint32_t a[static 6]) {
  return ABI_LOCKED(m, get_policy(m, a[0]));
}

K_LOCKED static k_ret is_there(abi_machine *m, uint32_t pid) {
  k_process *p = NULL;
  return policy_target(m, pid, &p);
}

k_ret sys_sched_getparam(abi_machine *m, const uint32_t a[static 6]) {
  int32_t priority = 0;
  if (a[1] == 0) return -K_EINVAL;
  K_TRY(ABI_LOCKED(m, is_there(m, a[0])));
  return abi_put(m->instance, a[1], &priority);
}

k_ret sys_sched_priority_max(abi_machine *m, const uint32_t a[static 6]) {
  (void)m;
  if (!is_known(a[0])) return -K_EINVAL;
  return is_realtime(a[0]) ? REALTIME_MOST : 0;
}

k_ret sys_sched_priority_min(abi_machine *m, const uint32_t a[static 6]) {
  (void)m;
  if (!is_known(a[0])) return -K_EINVAL;
  return is_realtime(a[0]) ? 1 : 0;
}

k_ret sys_sched_rr_interval(abi_machine *m, const uint32_t a[static 6]) {
  K_TRY(ABI_LOCKED(m, is_there(m, a[0])));
  return abi_put_duration(m, a[1], SLICE_NS);
}

/* ---- the one processor ---- */

k_ret sys_sched_setaffinity(abi_machine *m, const uint32_t a[static 6]) {
  uint8_t first = 0;
  if (a[1] > 0) K_TRY(abi_get(m->instance, a[2], &first));
  K_TRY(ABI_LOCKED(m, is_there(m, a[0])));
  return (first & 1) != 0 ? 0 : -K_EINVAL;
}

k_ret sys_sched_getaffinity(abi_machine *m, const uint32_t a[static 6]) {
  uint32_t mask = 1;
  if (a[1] < sizeof mask || a[1] % sizeof mask != 0) return -K_EINVAL;
  K_TRY(ABI_LOCKED(m, is_there(m, a[0])));
  K_TRY(abi_put(m->instance, a[2], &mask));
  return sizeof mask;
}

k_ret sys_sched_yield(abi_machine *m, const uint32_t a[static 6]) {
  (void)a;
  if (m->p->takes_turns) {
    k_lock(m->kernel);
    k_turn_yield(m->t);
    k_unlock(m->kernel);
  } else {
    sched_yield();
  }
  return 0;
}

k_ret sys_getcpu(abi_machine *m, const uint32_t a[static 6]) {
  uint32_t zero = 0;
  if (a[0] != 0) K_TRY(abi_put(m->instance, a[0], &zero));
  return a[1] != 0 ? abi_put(m->instance, a[1], &zero) : 0;
}
