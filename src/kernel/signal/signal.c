/* signal.c - sending signals, and what a process does about them. */
#include "kernel/signal/signal.h"

#include "base/alloc.h"
#include "kernel/proc/inner.h"
#include "kernel/signal/timer.h"

#include <string.h>

#define BIT(sig) (UINT64_C(1) << ((sig) - 1))

static const k_sigset stops = BIT(K_SIGSTOP) | BIT(K_SIGTSTP) | BIT(K_SIGTTIN) | BIT(K_SIGTTOU);
static const k_sigset harmless = BIT(K_SIGCHLD) | BIT(K_SIGCONT) | BIT(K_SIGURG) | BIT(K_SIGWINCH);

K_LOCKED static bool has_handler(const k_process *p, int sig) {
  return p->signals.actions[sig].handler > K_SIG_IGN;
}

K_LOCKED static bool is_fatal(const k_process *p, int sig) {
  return p->signals.actions[sig].handler == K_SIG_DFL && ((stops | harmless) & BIT(sig)) == 0;
}

bool k_signal_is_ignored(const k_process *p, int sig) {
  uint32_t handler = p->signals.actions[sig].handler;
  return handler == K_SIG_IGN || (handler == K_SIG_DFL && (harmless & BIT(sig)) != 0);
}

K_LOCKED static k_sigset deliverable(const k_process *p) { return p->signals.pending & ~p->signals.mask; }

static int lowest(k_sigset set) { return set == 0 ? 0 : 1 + __builtin_ctzll(set); }

/* ---- the queue ---- */

static void signal_forget(k_process *p, k_sigset set) {
  k_signals *s = &p->signals;
  s->pending &= ~set;
  for (k_sigqueued **at = &s->queue; *at != NULL;) {
    k_sigqueued *q = *at;
    if ((set & BIT(q->info.signo)) == 0) {
      at = &q->next;
      continue;
    }
    *at = q->next;
    s->queued--;
    mem_free(q);
  }
}

/* One standard signal is remembered, of real-time signals each. Without memory for it a signal is delivered without
 * its value, as Linux does. */
static bool signal_remember(k_process *p, const k_siginfo *info) {
  k_signals *s = &p->signals;
  int sig = info->signo;
  if (sig < K_FIRST_REALTIME) {
    if (s->info == NULL) s->info = mem_zalloc_array(K_FIRST_REALTIME, sizeof *s->info);
    if (s->info != NULL) s->info[sig] = *info;
  } else {
    if (s->queued >= K_SIG_QUEUE) return false;
    k_sigqueued *q = mem_alloc(sizeof *q), **at = &s->queue;
    if (q == NULL) return false;
    *q = (k_sigqueued){ .info = *info };
    while (*at != NULL) at = &(*at)->next;
    *at = q;
    s->queued++;
  }
  s->pending |= BIT(sig);
  return true;
}

static void take_queued(k_process *p, int sig, k_siginfo *info) {
  k_signals *s = &p->signals;
  bool found = false, more = false;
  *info = (k_siginfo){ .signo = sig, .code = K_SI_USER };
  for (k_sigqueued **at = &s->queue; *at != NULL;) {
    k_sigqueued *q = *at;
    if (q->info.signo == sig && !found) {
      found = true;
      *info = q->info;
      *at = q->next;
      s->queued--;
      mem_free(q);
      continue;
    }
    more |= q->info.signo == sig;
    at = &q->next;
  }
  if (!more) s->pending &= ~BIT(sig);
}

int k_signal_dequeue(k_process *p, k_sigset set, k_siginfo *info) {
  int sig = lowest(p->signals.pending & set);
  if (sig == 0) return 0;
  if (sig < K_FIRST_REALTIME) {
    const k_siginfo *sent = p->signals.info;
    *info =
        sent != NULL && sent[sig].signo == sig ? sent[sig] : (k_siginfo){ .signo = sig, .code = K_SI_USER };
    p->signals.pending &= ~BIT(sig);
  } else {
    take_queued(p, sig, info);
  }
  if (info->code == K_SI_TIMER) k_timer_delivered(p, info);
  return sig;
}

void k_signal_update(k_process *p) {
  k_sigset open = deliverable(p), ignored = 0;
  for (k_sigset left = open; left != 0; left &= left - 1) {
    int sig = lowest(left);
    if (k_signal_is_ignored(p, sig)) ignored |= BIT(sig);
  }
  if (ignored != 0) signal_forget(p, ignored);
  p->attention = p->dying || p->signals.has_saved_mask || (open & ~ignored) != 0;
}

/* ---- sending ---- */

K_LOCKED static void resume(k_process *p) {
  if (!p->stopped) return;
  p->stopped = false;
  p->continue_pending = true;
  p->stop_reported = false;
  k_parent_notify(p, K_CLD_CONTINUED);
  k_nudge_sleeper(&p->sleeper);
}

/* A stop and a continue undo each other even when they are ignored or blocked. */
K_LOCKED static void undo_opposites(k_process *p, int sig) {
  if (sig == K_SIGCONT) {
    signal_forget(p, stops);
    resume(p);
  } else if ((stops & BIT(sig)) != 0) {
    signal_forget(p, BIT(K_SIGCONT));
  }
}

K_LOCKED static void make_it_look(k_process *p) {
  k_signal_update(p);
  k_wake(&p->kernel->arrivals);
  if ((p->signals.pending & p->signals.awaited) != 0) k_wake_sleeper(&p->sleeper);
  if (!p->attention) return;
  k_nudge_sleeper(&p->sleeper);
  if (!p->sleeper.asleep && p->machine != NULL) p->kernel->runner->kick(p->kernel->runner_ctx, p);
}

/* false: there was no room to remember it. */
K_LOCKED static bool send(k_process *p, const k_siginfo *info) {
  int sig = info->signo;
  if (sig == 0 || p->dying || p->zombie || p == p->kernel->init) return true;
  if (sig == K_SIGKILL) {
    k_process_end(p, K_SIGKILL);
    return true;
  }
  undo_opposites(p, sig);
  bool blocked = ((p->signals.mask | p->signals.awaited) & BIT(sig)) != 0;
  if (!blocked && k_signal_is_ignored(p, sig)) return true;
  if (!blocked && !p->stopped && is_fatal(p, sig)) {
    k_process_end(p, sig);
    return true;
  }
  if (sig < K_FIRST_REALTIME && (p->signals.pending & BIT(sig)) != 0) return true;
  bool remembered = signal_remember(p, info);
  if (!remembered) {
    if (info->code == K_SI_QUEUE) return false;
    p->signals.pending |= BIT(sig);
  }
  make_it_look(p);
  return true;
}

void k_signal_send(k_process *p, const k_siginfo *info) { (void)send(p, info); }

void k_signals_forget(k_process *p, k_sigset set) {
  signal_forget(p, set);
  k_signal_update(p);
}

void k_signal_force(k_process *p, int sig) { k_process_end(p, sig); }

k_sigset k_signal_pending(const k_process *p) { return p->signals.pending & p->signals.mask; }

K_LOCKED static bool is_addressed(const k_process *p, const k_process *self, int32_t pid) {
  if (p->zombie) return false;
  if (pid == -1) return p != self;
  return p->pgid == (pid == 0 ? self->pgid : -pid);
}

k_ret k_kill(k_kernel *k, k_process *self, int32_t pid, const k_siginfo *info) {
  if (info->signo < 0 || info->signo > K_NSIG || (pid == 0 && self == NULL)) return -K_EINVAL;
  if (pid > 0) {
    k_process *p = k_process_find(k, pid);
    if (p == NULL) return -K_ESRCH;
    if (p == k->init) return -K_EPERM;
    return send(p, info) ? 0 : -K_EAGAIN;
  }
  if (pid == INT32_MIN) return -K_ESRCH;
  bool any = false;
  LIST_EACH (p, &k->processes, k_process, in_kernel) {
    if (!is_addressed(p, self, pid)) continue;
    any = true;
    (void)send(p, info);
  }
  return any ? 0 : -K_ESRCH;
}

/* ---- acting, on the thread of the process ---- */

/* A stop from the keyboard or for the terminal needs somebody who can continue the group. */
K_LOCKED static void stop(k_process *p, int sig) {
  if (sig != K_SIGSTOP && k_group_is_orphaned(p->kernel, p->pgid, NULL)) return;
  p->stopped = true;
  p->stop_signal = sig;
  p->stop_reported = p->continue_pending = false;
  k_parent_notify(p, K_CLD_STOPPED);
  k_sleep_stopped(p);
}

K_LOCKED enum k_signal_todo k_signal_settle(k_process *p) {
  for (;;) {
    if (p->dying) return K_SIGNAL_END;
    int sig = lowest(deliverable(p));
    if (sig == 0) return K_SIGNAL_NONE;
    if (has_handler(p, sig)) return K_SIGNAL_HANDLER;
    bool ignored = k_signal_is_ignored(p, sig);
    k_siginfo info;
    (void)k_signal_dequeue(p, BIT(sig), &info);
    k_signal_update(p);
    if (!ignored && (stops & BIT(sig)) != 0)
      stop(p, sig);
    else if (!ignored)
      k_process_end(p, sig);
  }
}

/* A call that has set a mask for its time, and was ended by a signal that is gone again (SIGCONT takes back a
 * stop), left its mask to be put back here. */
K_LOCKED enum k_signal_todo k_signal_poll(k_process *p) {
  enum k_signal_todo todo = k_signal_settle(p);
  while (todo == K_SIGNAL_NONE && p->signals.has_saved_mask) {
    p->signals.has_saved_mask = false;
    p->signals.mask = p->signals.saved_mask;
    todo = k_signal_settle(p);
  }
  k_signal_update(p);
  return todo;
}

K_LOCKED static k_sigset with_handler(const k_process *p, k_sigset set) {
  k_sigset found = 0;
  for (k_sigset left = set; left != 0; left &= left - 1) {
    if (has_handler(p, lowest(left))) found |= left & -left;
  }
  return found;
}

int k_signal_take(k_process *p, k_sigaction *action, k_siginfo *info, k_sigset *old_mask) {
  k_signals *s = &p->signals;
  if (p->dying) return 0;
  int sig = k_signal_dequeue(p, with_handler(p, deliverable(p)), info);
  if (sig == 0) return 0;
  *action = s->actions[sig];
  *old_mask = s->has_saved_mask ? s->saved_mask : s->mask;
  s->has_saved_mask = false;
  s->mask |= action->mask;
  if ((action->flags & K_SA_NODEFER) == 0) s->mask |= BIT(sig);
  if ((action->flags & K_SA_RESETHAND) != 0) s->actions[sig].handler = K_SIG_DFL;
  k_signal_update(p);
  return sig;
}

bool k_signal_wants_attention(const k_process *p, bool *restart) {
  k_sigset open = deliverable(p);
  bool any = p->dying, all_restart = !p->dying;
  for (k_sigset left = open; left != 0; left &= left - 1) {
    int sig = lowest(left);
    if (k_signal_is_ignored(p, sig)) continue;
    any = true;
    if (has_handler(p, sig) && (p->signals.actions[sig].flags & K_SA_RESTART) == 0) all_restart = false;
  }
  if (restart != NULL) *restart = any && all_restart;
  return any;
}
