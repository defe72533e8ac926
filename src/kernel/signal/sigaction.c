/* sigaction.c - what a process decides about its signals: actions, masks, waiting (sigaction(2),
 * sigprocmask(2), sigsuspend(2), sigtimedwait(2)), and how exec and fork pass that on. */
#include "kernel/proc/inner.h"

#include "base/alloc.h"

#include <string.h>

/* These cannot be blocked or caught. */
static k_sigset unblockable(void) { return k_sigbit(K_SIGKILL) | k_sigbit(K_SIGSTOP); }

k_ret k_sigaction_set(k_process *p, int sig, const k_sigaction *new_action, k_sigaction *old) {
  if (sig < 1 || sig > K_NSIG) return -K_EINVAL;
  if (new_action != NULL && (unblockable() & k_sigbit(sig)) != 0) return -K_EINVAL;
  if (old != NULL) *old = p->signals.actions[sig];
  if (new_action == NULL) return 0;
  k_sigaction *action = &p->signals.actions[sig];
  *action = *new_action;
  action->mask &= ~unblockable();
  if (k_signal_is_ignored(p, sig)) {
    /* A pending signal is discarded, blocked or not (POSIX). */
    k_siginfo info;
    while (k_signal_dequeue(p, k_sigbit(sig), &info) != 0) continue;
  }
  k_signal_update(p);
  return 0;
}

K_LOCKED static void set_mask(k_process *p, k_sigset mask) {
  p->signals.mask = mask & ~unblockable();
  k_signal_update(p);
}

k_ret k_sigmask_set(k_process *p, int how, const k_sigset *set, k_sigset *old) {
  k_sigset before = p->signals.mask;
  if (set != NULL) {
    switch (how) {
    case K_SIG_BLOCK: set_mask(p, before | *set); break;
    case K_SIG_UNBLOCK: set_mask(p, before & ~*set); break;
    case K_SIG_SETMASK: set_mask(p, *set); break;
    default: return -K_EINVAL;
    }
  }
  if (old != NULL) *old = before;
  return 0;
}

void k_signal_return(k_process *p, k_sigset mask) { set_mask(p, mask); }

void k_signal_mask_for_call(k_process *p, const k_sigset *mask) {
  if (mask == NULL) return;
  p->signals.saved_mask = p->signals.mask;
  p->signals.has_saved_mask = true;
  p->signals.mask = *mask & ~unblockable();
  k_signal_update(p);
}

k_ret k_signal_mask_after_call(k_process *p, const k_sigset *mask, k_ret r) {
  if (mask == NULL || r == -K_EINTR || r == -K_EKILLED) return r;
  p->signals.has_saved_mask = false;
  set_mask(p, p->signals.saved_mask);
  return r;
}

K_LOCKED k_ret k_sigsuspend(k_process *p, k_sigset mask) {
  k_signal_mask_for_call(p, &mask);
  k_ret r;
  do r = k_sleep(&p->sleeper, NULL, 0, K_FOREVER);
  while (r >= 0);
  return k_never_restart(r);
}

K_LOCKED k_ret k_sigtimedwait(k_process *p, k_sigset set, k_siginfo *info, int64_t deadline_ns) {
  set &= ~unblockable();
  for (;;) {
    int sig = k_signal_dequeue(p, set, info);
    if (sig != 0) {
      k_signal_update(p);
      return sig;
    }
    p->signals.awaited = set;
    k_ret r = k_sleep(&p->sleeper, NULL, 0, deadline_ns);
    p->signals.awaited = 0;
    if (r == -K_ETIMEDOUT) return -K_EAGAIN;
    if (r < 0 && (p->signals.pending & set) == 0) return k_never_restart(r);
  }
}

/* ---- over exec and fork ---- */

void k_signals_exec(k_process *p) {
  for (int sig = 1; sig <= K_NSIG; sig++) {
    k_sigaction *a = &p->signals.actions[sig];
    *a = (k_sigaction){ .handler = a->handler == K_SIG_IGN ? K_SIG_IGN : K_SIG_DFL };
  }
  k_signal_update(p);
}

k_ret k_signals_fork(k_process *child, const k_process *parent) {
  memcpy(child->signals.actions, parent->signals.actions, sizeof child->signals.actions);
  child->signals.mask = parent->signals.mask;
  return 0;
}

void k_signals_clear(k_process *p) {
  k_signals *s = &p->signals;
  while (s->queue != NULL) {
    k_sigqueued *q = s->queue;
    s->queue = q->next;
    mem_free(q);
  }
  mem_free(s->info);
  s->info = NULL;
  s->queued = 0;
  s->pending = 0;
}
