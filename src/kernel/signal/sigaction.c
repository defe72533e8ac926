/* sigaction.c - what a process decides about its signals: actions, masks, waiting (sigaction(2),
 * sigprocmask(2), sigsuspend(2), sigtimedwait(2)), and how exec and fork pass that on. */
#include "kernel/proc/inner.h"

#include "base/alloc.h"

#include <string.h>

/* These cannot be blocked or caught. */
static k_sigset unblockable(void) { return k_sigbit(K_SIGKILL) | k_sigbit(K_SIGSTOP); }

/* ---- the table: few processes have an action for a high number ---- */

const k_sigaction *k_signals_action(const k_signals *signals, int sig) {
  static const k_sigaction usual = { 0 };
  return (uint32_t)sig < signals->action_count ? &signals->actions[sig] : &usual;
}

static bool action_is_usual(const k_sigaction *a) {
  return a->handler == K_SIG_DFL && a->flags == 0 && a->mask == 0;
}

static k_ret actions_grow(k_signals *signals, uint32_t count) {
  if (count <= signals->action_count) return 0;
  k_sigaction *grown = mem_realloc_array(signals->actions, count, sizeof *grown);
  if (grown == NULL) return -K_ENOMEM;
  memset(grown + signals->action_count, 0, (count - signals->action_count) * sizeof *grown);
  signals->actions = grown;
  signals->action_count = count;
  return 0;
}

static k_ret action_put(k_signals *signals, int sig, const k_sigaction *a) {
  if ((uint32_t)sig >= signals->action_count && action_is_usual(a)) return 0;
  K_TRY(actions_grow(signals, (uint32_t)sig + 1));
  signals->actions[sig] = *a;
  return 0;
}

void k_signals_save(const k_signals *signals, k_sigaction out[static K_NSIG + 1]) {
  memset(out, 0, (K_NSIG + 1) * sizeof *out);
  if (signals->action_count > 0) memcpy(out, signals->actions, signals->action_count * sizeof *out);
}

k_ret k_signals_reserve(k_signals *signals, const k_sigaction wanted[static K_NSIG + 1]) {
  uint32_t count = K_NSIG + 1;
  while (count > 0 && action_is_usual(&wanted[count - 1])) count--;
  return actions_grow(signals, count);
}

void k_signals_restore(k_signals *signals, const k_sigaction saved[static K_NSIG + 1]) {
  if (signals->action_count > 0) memcpy(signals->actions, saved, signals->action_count * sizeof *saved);
}

void k_signals_clear(k_signals *signals) {
  k_pending_clear(&signals->pending);
  mem_free(signals->actions);
  signals->actions = NULL;
  signals->action_count = 0;
}

/* ---- deciding ---- */

k_ret k_sigaction_set(k_process *p, int sig, const k_sigaction *new_action, k_sigaction *old) {
  if (sig < 1 || sig > K_NSIG) return -K_EINVAL;
  if (new_action != NULL && (unblockable() & k_sigbit(sig)) != 0) return -K_EINVAL;
  const k_sigaction before = *k_signals_action(&p->signals, sig);
  if (new_action != NULL) {
    k_sigaction action = *new_action;
    action.mask &= ~unblockable();
    K_TRY(action_put(&p->signals, sig, &action));
  }
  if (old != NULL) *old = before;
  if (new_action == NULL) return 0;
  if (k_signal_is_ignored(p, sig)) {
    /* A pending signal is discarded, blocked or not (POSIX). */
    k_siginfo info;
    LIST_EACH (t, &p->threads, k_thread, in_process)
      while (k_signal_dequeue(t, k_sigbit(sig), &info) != 0) continue;
  }
  k_signal_update(p);
  return 0;
}

K_LOCKED static void set_mask(k_thread *t, k_sigset mask) {
  t->mask = mask & ~unblockable();
  k_signal_update(t->process);
  k_signal_pass_on(t);
}

K_LOCKED k_ret k_sigmask_set(k_process *p, int how, const k_sigset *set, k_sigset *old) {
  k_thread *t = k_self(p);
  k_sigset before = t->mask;
  if (set != NULL) {
    switch (how) {
    case K_SIG_BLOCK: set_mask(t, before | *set); break;
    case K_SIG_UNBLOCK: set_mask(t, before & ~*set); break;
    case K_SIG_SETMASK: set_mask(t, *set); break;
    default: return -K_EINVAL;
    }
  }
  if (old != NULL) *old = before;
  return 0;
}

void k_signal_return(k_process *p, k_sigset mask) { set_mask(k_self(p), mask); }

K_LOCKED void k_signal_mask_for_call(k_process *p, const k_sigset *mask) {
  if (mask == NULL) return;
  k_thread *t = k_self(p);
  t->saved_mask = t->mask;
  t->has_saved_mask = true;
  set_mask(t, *mask);
}

K_LOCKED k_ret k_signal_mask_after_call(k_process *p, const k_sigset *mask, k_ret r) {
  if (mask == NULL || r == -K_EINTR || r == -K_EKILLED) return r;
  k_thread *t = k_self(p);
  t->has_saved_mask = false;
  set_mask(t, t->saved_mask);
  return r;
}

K_LOCKED k_ret k_sigsuspend(k_process *p, k_sigset mask) {
  k_signal_mask_for_call(p, &mask);
  k_ret r;
  do r = k_sleep(k_sleeper_of(p), NULL, 0, K_FOREVER);
  while (r >= 0);
  return k_never_restart(r);
}

K_LOCKED k_ret k_sigtimedwait(k_process *p, k_sigset set, k_siginfo *info, int64_t deadline_ns) {
  k_thread *t = k_self(p);
  set &= ~unblockable();
  for (;;) {
    int sig = k_signal_dequeue(t, set, info);
    if (sig != 0) {
      k_signal_update(p);
      return sig;
    }
    t->awaited = set;
    k_ret r = k_sleep(&t->sleeper, NULL, 0, deadline_ns);
    t->awaited = 0;
    if (r == -K_ETIMEDOUT) return -K_EAGAIN;
    if (r < 0 && ((t->pending.set | p->signals.pending.set) & set) == 0) return k_never_restart(r);
  }
}

/* ---- over exec and fork ---- */

void k_signals_exec(k_process *p) {
  for (uint32_t sig = 1; sig < p->signals.action_count; sig++) {
    k_sigaction *a = &p->signals.actions[sig];
    *a = (k_sigaction){ .handler = a->handler == K_SIG_IGN ? K_SIG_IGN : K_SIG_DFL };
  }
  k_signal_update(p);
}

K_LOCKED k_ret k_signals_fork(k_process *child, k_process *parent) {
  const k_signals *from = &parent->signals;
  K_TRY(actions_grow(&child->signals, from->action_count));
  if (from->action_count > 0)
    memcpy(child->signals.actions, from->actions, from->action_count * sizeof *from->actions);
  child->leader.mask = k_self(parent)->mask;
  return 0;
}

void k_pending_clear(k_pending *all) {
  while (all->queue != NULL) {
    k_sigqueued *q = all->queue;
    all->queue = q->next;
    mem_free(q);
  }
  mem_free(all->info);
  all->info = NULL;
  all->queued = 0;
  all->set = 0;
}
