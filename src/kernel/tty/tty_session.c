/* tty_session.c - a terminal and its session: who may read, who gets the signals, what a hang-up does. */
#include "kernel/proc/inner.h"
#include "kernel/tty/tty.h"

K_LOCKED static void tell_group(k_kernel *k, int32_t pgid, int sig) {
  if (pgid == 0) return;
  (void)!k_kill(k, NULL, -pgid,
                &(k_siginfo){ .signo = sig, .code = K_SI_KERNEL }); /* an empty group is fine */
}

void k_tty_signal(k_tty *t, int sig) { tell_group(t->kernel, t->foreground, sig); }

k_tty *k_tty_controlling(const k_process *p) {
  if (p->has_no_tty) return NULL;
  LIST_EACH (t, &p->kernel->ttys, k_tty, in_kernel) {
    if (t->session == p->sid) return t;
  }
  return NULL;
}

bool k_tty_uses_number(k_kernel *k, int32_t pid) {
  LIST_EACH (t, &k->ttys, k_tty, in_kernel) {
    if (t->session == pid || t->foreground == pid) return true;
  }
  return false;
}

bool k_tty_may_be_given(const k_tty *t, const k_process *p) {
  return p->sid == p->pid && t->session == 0 && k_tty_controlling(p) == NULL;
}

void k_tty_give(k_tty *t, k_process *p) {
  p->has_no_tty = false;
  p->lost_foreground = 0;
  t->session = p->sid;
  t->foreground = p->pgid;
}

K_LOCKED static bool is_deaf_to(k_process *p, int sig) {
  return (k_self(p)->mask & k_sigbit(sig)) != 0 || k_signals_action(&p->signals, sig)->handler == K_SIG_IGN;
}

K_LOCKED k_ret k_tty_admit(k_process *p, k_tty *t, int sig) {
  if (k_tty_controlling(p) != t || t->foreground == 0 || t->foreground == p->pgid) return 0;
  if (is_deaf_to(p, sig)) return sig == K_SIGTTIN ? -K_EIO : 0;
  if (k_group_is_orphaned(p->kernel, p->pgid, NULL)) return -K_EIO;
  tell_group(p->kernel, p->pgid, sig);
  /* The signal acts here: it stops `p`, or a handler is to run. */
  k_ret r = k_sleep(k_sleeper_of(p), NULL, 0, 0);
  return r == -K_ETIMEDOUT || r == 0 ? -K_EAGAIN : r;
}

void k_tty_resize(k_tty *t, k_winsize size) {
  const k_winsize *old = &t->size;
  bool same = old->rows == size.rows && old->cols == size.cols && old->width == size.width &&
              old->height == size.height;
  t->size = size;
  if (!same) k_tty_signal(t, K_SIGWINCH);
}

/* ---- parting ---- */

static k_process *leader_of(const k_tty *t) {
  return t->session != 0 ? k_process_find(t->kernel, t->session) : NULL;
}

/* The session has no terminal any more; its leader remembers whom to hang up when it exits. */
K_LOCKED static void tty_session_part(k_tty *t) {
  k_process *leader = leader_of(t);
  if (leader != NULL) leader->lost_foreground = t->foreground;
  t->session = t->foreground = 0;
}

/* Earlier opens are cut off. */
K_LOCKED static void cut_off(k_tty *t) {
  t->hangups++;
  if (t->slaves > 0) t->slave_gone = true;
  t->slaves = 0;
  k_ldisc_flush_input(&t->line);
  k_wake(&t->changed);
}

void k_tty_hang_up(k_tty *t) {
  k_process *leader = leader_of(t);
  tty_session_part(t);
  cut_off(t);
  if (leader == NULL) return;
  k_signal_send(leader, &(k_siginfo){ .signo = K_SIGHUP, .code = K_SI_KERNEL });
  k_signal_send(leader, &(k_siginfo){ .signo = K_SIGCONT, .code = K_SI_KERNEL });
}

k_ret k_tty_disown(k_process *p) {
  k_tty *t = k_tty_controlling(p);
  if (t == NULL) return -K_ENOTTY;
  if (p->sid != p->pid) {
    p->has_no_tty = true;
    return 0;
  }
  int32_t foreground = t->foreground;
  t->session = t->foreground = 0;
  tell_group(p->kernel, foreground, K_SIGHUP);
  tell_group(p->kernel, foreground, K_SIGCONT);
  return 0;
}

void k_tty_leader_exits(k_process *p) {
  if (p->sid != p->pid) return;
  k_tty *t = k_tty_controlling(p);
  if (t != NULL) {
    k_tty_signal(t, K_SIGHUP);
    t->session = t->foreground = 0;
  } else {
    tell_group(p->kernel, p->lost_foreground, K_SIGHUP);
    tell_group(p->kernel, p->lost_foreground, K_SIGCONT);
  }
  p->lost_foreground = 0;
}
