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
  return k_signals_action(&p->signals, sig)->handler > K_SIG_IGN;
}

K_LOCKED static bool is_fatal(const k_process *p, int sig) {
  return k_signals_action(&p->signals, sig)->handler == K_SIG_DFL && ((stops | harmless) & BIT(sig)) == 0;
}

bool k_signal_is_ignored(const k_process *p, int sig) {
  uint32_t handler = k_signals_action(&p->signals, sig)->handler;
  return handler == K_SIG_IGN || (handler == K_SIG_DFL && (harmless & BIT(sig)) != 0);
}

/* What a thread may take now. */
K_LOCKED static k_sigset deliverable(const k_thread *t) {
  return (t->pending.set | t->process->signals.pending.set) & ~t->mask;
}

static int lowest(k_sigset set) { return set == 0 ? 0 : 1 + __builtin_ctzll(set); }

/* ---- the queue ---- */

static void signal_forget(k_pending *all, k_sigset set) {
  all->set &= ~set;
  for (k_sigqueued **at = &all->queue; *at != NULL;) {
    k_sigqueued *q = *at;
    if ((set & BIT(q->info.signo)) == 0) {
      at = &q->next;
      continue;
    }
    *at = q->next;
    all->queued--;
    mem_free(q);
  }
}

K_LOCKED static void signal_forget_all(k_process *p, k_sigset set) {
  signal_forget(&p->signals.pending, set);
  LIST_EACH (t, &p->threads, k_thread, in_process) signal_forget(&t->pending, set);
}

/* One standard signal is remembered, of real-time signals each. Without memory for it a signal is delivered without
 * its value, as Linux does. */
static bool signal_remember(k_pending *all, const k_siginfo *info) {
  int sig = info->signo;
  if (sig < K_FIRST_REALTIME) {
    if (all->info == NULL) all->info = mem_zalloc_array(K_FIRST_REALTIME, sizeof *all->info);
    if (all->info != NULL) all->info[sig] = *info;
  } else {
    if (all->queued >= K_SIG_QUEUE) return false;
    k_sigqueued *q = mem_alloc(sizeof *q), **at = &all->queue;
    if (q == NULL) return false;
    *q = (k_sigqueued){ .info = *info };
    while (*at != NULL) at = &(*at)->next;
    *at = q;
    all->queued++;
  }
  all->set |= BIT(sig);
  return true;
}

static void take_queued(k_pending *all, int sig, k_siginfo *info) {
  bool found = false, more = false;
  *info = (k_siginfo){ .signo = sig, .code = K_SI_USER };
  for (k_sigqueued **at = &all->queue; *at != NULL;) {
    k_sigqueued *q = *at;
    if (q->info.signo == sig && !found) {
      found = true;
      *info = q->info;
      *at = q->next;
      all->queued--;
      mem_free(q);
      continue;
    }
    more |= q->info.signo == sig;
    at = &q->next;
  }
  if (!more) all->set &= ~BIT(sig);
}

/* Signals for the thread go before those for the process. */
int k_signal_dequeue(k_thread *t, k_sigset set, k_siginfo *info) {
  k_pending *own = &t->pending, *all = (own->set & set) != 0 ? own : &t->process->signals.pending;
  int sig = lowest(all->set & set);
  if (sig == 0) return 0;
  if (sig < K_FIRST_REALTIME) {
    const k_siginfo *sent = all->info;
    *info =
        sent != NULL && sent[sig].signo == sig ? sent[sig] : (k_siginfo){ .signo = sig, .code = K_SI_USER };
    all->set &= ~BIT(sig);
  } else {
    take_queued(all, sig, info);
  }
  if (info->code == K_SI_TIMER) k_timer_delivered(t->process, info);
  return sig;
}

K_LOCKED static k_sigset ignored_of(const k_process *p, k_sigset set) {
  k_sigset ignored = 0;
  for (k_sigset left = set; left != 0; left &= left - 1) {
    int sig = lowest(left);
    if (k_signal_is_ignored(p, sig)) ignored |= BIT(sig);
  }
  return ignored;
}

K_LOCKED static void update_one(k_thread *t) {
  k_process *p = t->process;
  k_sigset open = deliverable(t), ignored = ignored_of(p, open);
  if (ignored != 0) {
    signal_forget(&t->pending, ignored);
    signal_forget(&p->signals.pending, ignored);
  }
  t->attention = k_is_ending(t) || t->has_saved_mask || (open & ~ignored) != 0 ||
                 (p->turn_wanted && p->turn == t) || (p->stopped && p->thread_count > 1);
}

void k_signal_update(k_process *p) {
  LIST_EACH (t, &p->threads, k_thread, in_process) update_one(t);
}

/* ---- sending ---- */

void k_thread_look(k_thread *t) {
  const k_kernel *k = t->process->kernel;
  if (!t->attention) return;
  k_nudge_sleeper(&t->sleeper);
  if (!t->sleeper.asleep && t->machine != NULL) k->runner->kick(k->runner_ctx, t);
}

K_LOCKED static void resume(k_process *p) {
  if (!p->stopped) return;
  p->stopped = false;
  p->continue_pending = true;
  p->stop_reported = false;
  k_parent_notify(p, K_CLD_CONTINUED);
  LIST_EACH (t, &p->threads, k_thread, in_process) k_nudge_sleeper(&t->sleeper);
}

/* A stop and a continue undo each other even when they are ignored or blocked. */
K_LOCKED static void undo_opposites(k_process *p, int sig) {
  if (sig == K_SIGCONT) {
    signal_forget_all(p, stops);
    resume(p);
  } else if ((stops & BIT(sig)) != 0) {
    signal_forget_all(p, BIT(K_SIGCONT));
  }
}

K_LOCKED static bool is_open_to(const k_thread *t, int sig) {
  return !t->leaving && ((t->mask | t->awaited) & BIT(sig)) == 0;
}

/* The thread that is to look at a signal for the process: the leader, else any thread that does not block it. NULL: all do. */
K_LOCKED static k_thread *taker_of(k_process *p, int sig) {
  LIST_EACH (t, &p->threads, k_thread, in_process)
    if (is_open_to(t, sig)) return t;
  return NULL;
}

/* A signal has become pending, for `to` alone or for all. */
K_LOCKED static void make_it_look(k_process *p, k_thread *to, int sig) {
  k_thread *taker = to != NULL ? to : taker_of(p, sig);
  k_signal_update(p);
  k_wake(&p->kernel->arrivals);
  LIST_EACH (t, &p->threads, k_thread, in_process)
    if ((t->awaited & BIT(sig)) != 0 && (to == NULL || t == to)) k_wake_sleeper(&t->sleeper);
  if (taker != NULL) k_thread_look(taker);
}

/* false: there was no room to remember it. `to` NULL: any of its threads takes it. */
K_LOCKED static bool send(k_process *p, k_thread *to, const k_siginfo *info) {
  int sig = info->signo;
  if (sig == 0 || p->dying || p->zombie || p == p->kernel->init) return true;
  if (sig == K_SIGKILL) {
    k_process_end(p, K_SIGKILL);
    return true;
  }
  undo_opposites(p, sig);
  bool blocked = to != NULL ? !is_open_to(to, sig) : taker_of(p, sig) == NULL;
  if (!blocked && k_signal_is_ignored(p, sig)) return true;
  if (!blocked && !p->stopped && is_fatal(p, sig)) {
    k_process_end(p, sig);
    return true;
  }
  k_pending *all = to != NULL ? &to->pending : &p->signals.pending;
  if (sig < K_FIRST_REALTIME && (all->set & BIT(sig)) != 0) return true;
  bool remembered = signal_remember(all, info);
  if (!remembered) {
    if (info->code == K_SI_QUEUE) return false;
    all->set |= BIT(sig);
  }
  make_it_look(p, to, sig);
  return true;
}

void k_signal_send(k_process *p, const k_siginfo *info) { (void)send(p, NULL, info); }

k_ret k_signal_send_to(k_thread *t, const k_siginfo *info) {
  return send(t->process, t, info) ? 0 : -K_EAGAIN;
}

void k_signals_forget(k_process *p, k_sigset set) {
  signal_forget_all(p, set);
  k_signal_update(p);
}

void k_signal_force(k_process *p, int sig) { k_process_end(p, sig); }

K_LOCKED k_sigset k_signal_pending(k_process *p) {
  const k_thread *t = k_self(p);
  return (t->pending.set | p->signals.pending.set) & t->mask;
}

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
    return send(p, NULL, info) ? 0 : -K_EAGAIN;
  }
  if (pid == INT32_MIN) return -K_ESRCH;
  bool any = false;
  LIST_EACH (p, &k->processes, k_process, in_kernel) {
    if (!is_addressed(p, self, pid)) continue;
    any = true;
    (void)send(p, NULL, info);
  }
  return any ? 0 : -K_ESRCH;
}

/* ---- acting, on the thread of the process ---- */

/* A stop from the keyboard or for the terminal needs somebody who can continue the group. */
K_LOCKED static void stop(k_thread *t, int sig) {
  k_process *p = t->process;
  if (sig != K_SIGSTOP && k_group_is_orphaned(p->kernel, p->pgid, NULL)) return;
  p->stopped = true;
  p->stop_signal = sig;
  p->stop_reported = p->continue_pending = false;
  k_parent_notify(p, K_CLD_STOPPED);
  k_signal_update(p);
  LIST_EACH (other, &p->threads, k_thread, in_process)
    if (other != t) k_thread_look(other);
  k_sleep_stopped(t);
}

K_LOCKED enum k_signal_todo k_signal_settle(k_thread *t) {
  k_process *p = t->process;
  for (;;) {
    if (k_is_ending(t)) return K_SIGNAL_END;
    if (p->stopped) {
      k_sleep_stopped(t);
      continue;
    }
    int sig = lowest(deliverable(t));
    if (sig == 0) return K_SIGNAL_NONE;
    if (has_handler(p, sig)) return K_SIGNAL_HANDLER;
    bool ignored = k_signal_is_ignored(p, sig);
    k_siginfo info;
    (void)k_signal_dequeue(t, BIT(sig), &info);
    k_signal_update(p);
    if (!ignored && (stops & BIT(sig)) != 0)
      stop(t, sig);
    else if (!ignored)
      k_process_end(p, sig);
  }
}

/* A call that has set a mask for its time, and was ended by a signal that is gone again (SIGCONT takes back a
 * stop), left its mask to be put back here. */
K_LOCKED enum k_signal_todo k_signal_poll(k_process *p) {
  k_thread *t = k_self(p);
  k_turn_pass(t);
  enum k_signal_todo todo = k_signal_settle(t);
  while (todo == K_SIGNAL_NONE && t->has_saved_mask) {
    t->has_saved_mask = false;
    t->mask = t->saved_mask;
    todo = k_signal_settle(t);
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

K_LOCKED int k_signal_take(k_process *p, k_sigaction *action, k_siginfo *info, k_sigset *old_mask) {
  k_thread *t = k_self(p);
  if (k_is_ending(t)) return 0;
  int sig = k_signal_dequeue(t, with_handler(p, deliverable(t)), info);
  if (sig == 0) return 0;
  *action = *k_signals_action(&p->signals, sig);
  *old_mask = t->has_saved_mask ? t->saved_mask : t->mask;
  t->has_saved_mask = false;
  t->mask |= action->mask;
  if ((action->flags & K_SA_NODEFER) == 0) t->mask |= BIT(sig);
  if ((action->flags & K_SA_RESETHAND) != 0) p->signals.actions[sig].handler = K_SIG_DFL;
  k_signal_update(p);
  k_signal_pass_on(t);
  return sig;
}

void k_signal_pass_on(const k_thread *t) {
  k_process *p = t->process;
  if (p->thread_count == 1 || (p->signals.pending.set & t->mask) == 0) return;
  for (k_sigset left = p->signals.pending.set & t->mask; left != 0; left &= left - 1) {
    k_thread *other = taker_of(p, lowest(left));
    if (other != NULL) k_thread_look(other);
  }
}

bool k_signal_wants_attention(const k_thread *t, bool *restart) {
  const k_process *p = t->process;
  k_sigset open = deliverable(t);
  bool any = k_is_ending(t), all_restart = !any;
  for (k_sigset left = open; left != 0; left &= left - 1) {
    int sig = lowest(left);
    if (k_signal_is_ignored(p, sig)) continue;
    any = true;
    if (has_handler(p, sig) && (k_signals_action(&p->signals, sig)->flags & K_SA_RESTART) == 0)
      all_restart = false;
  }
  if (restart != NULL) *restart = any && all_restart;
  return any;
}
