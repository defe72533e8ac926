/* vfork.c - vfork(2) and posix_spawn(3) without a second instance: from cay_vfork to exec or exit the child
 * is a process context of its own on its parent's machine, and then the parent's pid is the machine's again. */
#include "abi/linux/life.h"

static k_ret vfork_enter(abi_machine *m) {
  k_process *child = NULL;
  if (m->depth == ABI_VFORK_MAX) return -K_EAGAIN;
  K_TRY(k_process_fork(m->p, &child));
  abi_charge_time(m);
  child->leader.machine = m;
  m->outer[m->depth++] = m->p;
  m->p = child;
  m->t = &child->leader;
  return 0;
}

void abi_vfork_leave(abi_machine *m) {
  abi_charge_time(m);
  if (m->p->leader.machine == m)
    m->p->leader.machine = NULL; /* one that was started has a machine of its own already */
  m->p = m->outer[--m->depth];
  m->t = m->depth == 0 ? m->own : &m->p->leader;
  m->child_dead = false;
  m->refused = 0;
}

K_LOCKED static k_ret abandon(abi_machine *m) {
  k_process *child = m->p;
  if (m->depth == 0) return -K_EINVAL;
  abi_vfork_leave(m);
  k_process_discard(child);
  return 0;
}

k_ret sys_cay_vfork(abi_machine *m, const uint32_t a[static 6]) {
  enum { VFORK = 0, SPAWN = 1, ABANDON = -1 };
  switch ((int32_t)a[0]) {
  case VFORK:
  case SPAWN: return ABI_LOCKED(m, vfork_enter(m));
  case ABANDON: return ABI_LOCKED(m, abandon(m));
  default: return -K_EINVAL;
  }
}

void abi_charge_time(abi_machine *m) {
  int64_t now = clock_thread_cpu_ns();
  int64_t used = now - m->cpu_mark_ns, inside = m->system_ns < used ? m->system_ns : used;
  m->p->user_ns += used - inside;
  m->p->system_ns += inside;
  m->system_ns = 0;
  m->cpu_mark_ns = now;
}
