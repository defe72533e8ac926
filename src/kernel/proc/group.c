/* group.c - process groups and sessions (setpgid(2), setsid(2), credentials(7)). */
#include "kernel/proc/inner.h"

bool k_group_exists(k_kernel *k, int32_t pgid) {
  LIST_EACH (p, &k->processes, k_process, in_kernel) {
    if (p->pgid == pgid) return true;
  }
  return false;
}

bool k_group_is_in_session(k_kernel *k, int32_t pgid, int32_t sid) {
  LIST_EACH (p, &k->processes, k_process, in_kernel) {
    if (p->pgid == pgid && p->sid == sid) return true;
  }
  return false;
}

K_LOCKED static bool may_be_moved(const k_process *p, const k_process *target, k_ret *why) {
  *why = 0;
  if (target != p) {
    if (target->parent != p)
      *why = -K_ESRCH;
    else if (target->sid != p->sid)
      *why = -K_EPERM;
    else if (target->has_execed)
      *why = -K_EACCES;
  }
  if (*why == 0 && target->sid == target->pid) *why = -K_EPERM;
  return *why == 0;
}

k_ret k_setpgid(k_process *p, int32_t pid, int32_t pgid) {
  if (pgid < 0 || pid < 0) return -K_EINVAL;
  k_process *target = pid == 0 ? p : k_process_find(p->kernel, pid);
  if (target == NULL) return -K_ESRCH;
  if (pgid == 0) pgid = target->pid;
  k_ret why;
  if (!may_be_moved(p, target, &why)) return why;
  if (pgid != target->pid && !k_group_is_in_session(p->kernel, pgid, p->sid)) return -K_EPERM;
  target->pgid = pgid;
  return 0;
}

k_ret k_getpgid(k_process *p, int32_t pid) {
  const k_process *target = pid == 0 ? p : k_process_find(p->kernel, pid);
  return target == NULL ? -K_ESRCH : target->pgid;
}

k_ret k_getsid(k_process *p, int32_t pid) {
  const k_process *target = pid == 0 ? p : k_process_find(p->kernel, pid);
  return target == NULL ? -K_ESRCH : target->sid;
}

k_ret k_setsid(k_process *p) {
  if (k_group_exists(p->kernel, p->pid)) return -K_EPERM;
  p->sid = p->pgid = p->pid;
  p->has_no_tty = false;
  return p->sid;
}

/* ---- orphaned groups: no process of the same session outside can continue them ---- */

bool k_group_is_orphaned(k_kernel *k, int32_t pgid, const k_process *leaving) {
  LIST_EACH (p, &k->processes, k_process, in_kernel) {
    if (p->pgid != pgid || p == leaving || p->zombie) continue;
    const k_process *parent = p->parent;
    if (parent != k->init && parent->pgid != pgid && parent->sid == p->sid) return false;
  }
  return true;
}

K_LOCKED static bool has_stopped(k_kernel *k, int32_t pgid) {
  LIST_EACH (p, &k->processes, k_process, in_kernel) {
    if (p->pgid == pgid && p->stopped) return true;
  }
  return false;
}

K_LOCKED static void hang_up_if_orphaned(const k_process *p, const k_process *parent,
                                         const k_process *leaving) {
  k_kernel *k = p->kernel;
  if (parent->pgid == p->pgid || parent->sid != p->sid) return;
  if (!k_group_is_orphaned(k, p->pgid, leaving) || !has_stopped(k, p->pgid)) return;
  LIST_EACH (member, &k->processes, k_process, in_kernel) {
    if (member->pgid != p->pgid) continue;
    k_signal_send(member, &(k_siginfo){ .signo = K_SIGHUP, .code = K_SI_KERNEL });
    k_signal_send(member, &(k_siginfo){ .signo = K_SIGCONT, .code = K_SI_KERNEL });
  }
}

void k_group_after_exit(k_process *p) { hang_up_if_orphaned(p, p->parent, p); }

void k_group_after_loss(k_process *p, const k_process *parent) { hang_up_if_orphaned(p, parent, NULL); }
