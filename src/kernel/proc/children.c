/* children.c - what a parent learns of its children: waitid(2), SIGCHLD, orphans. */
#include "kernel/proc/inner.h"

#include <string.h>

/* ---- notice ---- */

bool k_parent_reaps_itself(const k_process *parent) {
  const k_sigaction *a = k_signals_action(&parent->signals, K_SIGCHLD);
  return a->handler == K_SIG_IGN || (a->flags & K_SA_NOCLDWAIT) != 0;
}

K_LOCKED static int32_t status_of_info(const k_process *p, int code) {
  switch (code) {
  case K_CLD_EXITED: return (p->exit_status >> 8) & 0xff;
  case K_CLD_STOPPED: return p->stop_signal;
  case K_CLD_CONTINUED: return K_SIGCONT;
  default: return p->exit_status & 0x7f;
  }
}

void k_parent_notify(k_process *p, int code) {
  k_process *parent = p->parent;
  bool lives_on = code == K_CLD_STOPPED || code == K_CLD_CONTINUED;
  if (!lives_on || (k_signals_action(&parent->signals, K_SIGCHLD)->flags & K_SA_NOCLDSTOP) == 0) {
    k_siginfo info = {
      .signo = K_SIGCHLD,
      .code = code,
      .pid = p->pid,
      .uid = (int32_t)p->view.uid,
      .status = status_of_info(p, code),
    };
    k_signal_send(parent, &info);
  }
  k_wake(&parent->child_events);
  k_wake(&p->kernel->exits);
}

/* ---- orphans ---- */

void k_children_to_init(k_process *p) {
  k_process *init = p->kernel->init;
  LIST_EACH_SAFE (child, &p->children, k_process, sibling) {
    list_remove(&child->sibling);
    child->parent = init;
    list_push(&init->children, &child->sibling);
    if (child->death_signal != 0)
      k_signal_send(child, &(k_siginfo){ .signo = child->death_signal, .code = K_SI_USER, .pid = p->pid });
    k_group_after_loss(child, p);
  }
  /* Only now: freeing a child must not disturb the walk above. */
  LIST_EACH_SAFE (child, &init->children, k_process, sibling) {
    if (child->zombie) k_process_reap(child);
  }
}

/* ---- waiting ---- */

K_LOCKED static bool is_asked_for(const k_process *p, const k_process *child, int32_t which) {
  if (which > 0) return child->pid == which;
  if (which == -1) return true;
  return child->pgid == (which == 0 ? p->pgid : -which);
}

K_LOCKED static void children_fill(const k_process *child, int code, int32_t status, k_wait_result *out) {
  *out = (k_wait_result){
    .pid = child->pid,
    .status = status,
    .code = code,
    .uid = (int32_t)child->view.uid,
    .user_ns = child->user_ns + child->children_user_ns,
    .system_ns = child->system_ns + child->children_system_ns,
  };
}

K_LOCKED static void take_zombie(k_process *p, k_process *child, const k_wait_result *result) {
  p->children_user_ns += result->user_ns;
  p->children_system_ns += result->system_ns;
  k_process_reap(child);
}

/* Is there something to tell about this child? Then tells it, and unless K_WNOWAIT it is told once. */
K_LOCKED static bool children_tell(k_process *p, k_process *child, uint32_t options, k_wait_result *out) {
  bool keep = (options & K_WNOWAIT) != 0;
  if (child->zombie) {
    if ((options & K_WEXITED) == 0) return false;
    children_fill(child, (child->exit_status & 0x7f) == 0 ? K_CLD_EXITED : K_CLD_KILLED, child->exit_status,
                  out);
    if (!keep) take_zombie(p, child, out);
    return true;
  }
  if ((options & K_WUNTRACED) != 0 && child->stopped && !child->stop_reported) {
    children_fill(child, K_CLD_STOPPED, child->stop_signal << 8 | 0x7f, out);
    child->stop_reported = !keep;
    return true;
  }
  if ((options & K_WCONTINUED) != 0 && child->continue_pending) {
    children_fill(child, K_CLD_CONTINUED, 0xffff, out);
    child->continue_pending = keep;
    return true;
  }
  return false;
}

/* A child that ended is gone but for its status; it still counts for ECHILD unless only other things are
 * waited for. */
K_LOCKED static k_ret children_look(k_process *p, int32_t which, uint32_t options, k_wait_result *out) {
  bool any = false;
  LIST_EACH (child, &p->children, k_process, sibling) {
    if (!is_asked_for(p, child, which)) continue;
    if (children_tell(p, child, options, out)) return out->pid;
    any |= !child->zombie || (options & K_WEXITED) != 0;
  }
  return any ? 0 : -K_ECHILD;
}

K_LOCKED k_ret k_wait(k_process *p, int32_t which, uint32_t options, k_wait_result *out) {
  if ((options & (K_WEXITED | K_WUNTRACED | K_WCONTINUED)) == 0) return -K_EINVAL;
  if (which == INT32_MIN) return -K_ESRCH;
  k_waitq *queue = &p->child_events;
  for (;;) {
    k_wait_result result = { 0 };
    k_ret r = children_look(p, which, options, &result);
    if (r < 0) return r;
    if (r > 0 || (options & K_WNOHANG) != 0) {
      *out = result;
      return r;
    }
    K_TRY(k_sleep(k_sleeper_of(p), &queue, 1, K_FOREVER));
  }
}
