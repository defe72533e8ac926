/* tty_ioctl.c - ioctl(2) of terminals. Asked of a master, nearly all is about its slave, as pty(7) has it. */
#include "kernel/proc/inner.h"
#include "kernel/tty/tty.h"

#include <string.h>

/* What only the foreground may change. */
static bool changes_it(uint32_t request) {
  switch (request) {
  case K_TCSETS:
  case K_TCSETSW:
  case K_TCSETSF:
  case K_TCSBRK:
  case K_TCSBRKP:
  case K_TCXONC:
  case K_TCFLSH:
  case K_TIOCSPGRP: return true;
  default: return false;
  }
}

static k_ret tty_ioctl_admit(k_process *p, k_tty *t) {
  k_ret r;
  do {
    r = k_tty_admit(p, t, K_SIGTTOU);
  } while (r == -K_EAGAIN);
  return r;
}

/* ---- settings ---- */

/* Output needs no waiting for (TCSETSW): written bytes are at the other side already. */
K_LOCKED static k_ret tty_ioctl_set(k_tty *t, const void *arg, bool flush) {
  k_termios wanted;
  memcpy(&wanted, arg, sizeof wanted);
  if (flush) k_ldisc_flush_input(&t->line);
  k_ldisc_set(&t->line, &wanted);
  k_tty_changed(t);
  return 0;
}

/* The one request that is about the side it is asked of. Output of a slave is at the other side at once,
 * where it is input: that alone can drop it. */
K_LOCKED static k_ret tty_ioctl_flush(k_tty *t, int32_t which, bool of_master) {
  enum { INPUT, OUTPUT, BOTH };
  if (which < INPUT || which > BOTH) return -K_EINVAL;
  bool input = which != OUTPUT, output = which != INPUT;
  if (of_master ? output : input) k_ring_skip(&t->typed, t->typed.len);
  if (of_master && input) k_ldisc_flush_output(&t->line);
  if (!of_master && input) k_ldisc_flush_input(&t->line);
  k_tty_changed(t);
  return 0;
}

/* VSTOP and VSTART go to the other side as if a program had written them. */
K_LOCKED static void tell_other_side(k_tty *t, int which) {
  uint8_t c = t->line.t.cc[which];
  k_termios own = t->line.t;
  t->line.t.oflag = 0;
  if (c != 0) (void)!k_ldisc_write(&t->line, &c, 1);
  t->line.t = own;
}

K_LOCKED static k_ret flow(k_tty *t, int32_t what) {
  switch (what) {
  case 0: k_ldisc_stop(&t->line, true); break;
  case 1: k_ldisc_start(&t->line, true); break;
  case 2: tell_other_side(t, K_VSTOP); break;
  case 3: tell_other_side(t, K_VSTART); break;
  default: return -K_EINVAL;
  }
  k_tty_changed(t);
  return 0;
}

/* ---- sessions ---- */

/* Of the slave only its own session may know; the master's side knows all. */
K_LOCKED static bool is_of_session(const k_process *p, const k_file *f, const k_tty *t) {
  return k_tty_is_master(f) || (p != NULL && k_tty_controlling(p) == t);
}

K_LOCKED static k_ret set_foreground(k_process *p, k_tty *t, int32_t pgid) {
  if (p == NULL || k_tty_controlling(p) != t) return -K_ENOTTY;
  if (pgid < 0) return -K_EINVAL;
  if (!k_group_exists(p->kernel, pgid)) return -K_ESRCH;
  if (!k_group_is_in_session(p->kernel, pgid, p->sid)) return -K_EPERM;
  t->foreground = pgid;
  return 0;
}

K_LOCKED static k_ret make_controlling(k_process *p, const k_file *f, k_tty *t) {
  if (p == NULL) return -K_EPERM;
  if (p->sid == p->pid && t->session == p->sid) return 0;
  if (!k_tty_may_be_given(t, p) || (f->flags & K_O_ACCMODE) == K_O_WRONLY) return -K_EPERM;
  k_tty_give(t, p);
  return 0;
}

/* ---- all ---- */

K_LOCKED static k_ret of_master(k_tty *t, uint32_t request, int32_t *arg) {
  switch (request) {
  case K_TIOCGPTN: *arg = (int32_t)t->number; return 0;
  case K_TIOCSPTLCK: t->locked = *arg != 0; return 0;
  case K_TIOCGPTLCK: *arg = t->locked; return 0;
  case K_TIOCSIG:
    if (*arg != K_SIGINT && *arg != K_SIGQUIT && *arg != K_SIGTSTP) return -K_EINVAL;
    k_tty_signal(t, *arg);
    return 0;
  default: return -K_ENOTTY;
  }
}

K_LOCKED static k_ret of_session(k_process *p, k_file *f, k_tty *t, uint32_t request, int32_t *arg) {
  switch (request) {
  case K_TIOCSCTTY: return make_controlling(p, f, t);
  case K_TIOCNOTTY: return p != NULL && k_tty_controlling(p) == t ? k_tty_disown(p) : -K_ENOTTY;
  case K_TIOCSPGRP: return set_foreground(p, t, *arg);
  case K_TIOCGPGRP:
    if (!is_of_session(p, f, t)) return -K_ENOTTY;
    *arg = t->foreground;
    return 0;
  case K_TIOCGSID:
    if (!is_of_session(p, f, t) || t->session == 0) return -K_ENOTTY;
    *arg = t->session;
    return 0;
  default: return k_tty_is_master(f) ? of_master(t, request, arg) : -K_ENOTTY;
  }
}

K_LOCKED static k_ret of_terminal(k_process *p, k_file *f, k_tty *t, uint32_t request, void *arg) {
  int32_t *number = arg;
  k_winsize size;
  switch (request) {
  case K_TCGETS: memcpy(arg, &t->line.t, sizeof t->line.t); return 0;
  case K_TCSETS:
  case K_TCSETSW: return tty_ioctl_set(t, arg, false);
  case K_TCSETSF: return tty_ioctl_set(t, arg, true);
  case K_TIOCGWINSZ: memcpy(arg, &t->size, sizeof t->size); return 0;
  case K_TIOCSWINSZ:
    memcpy(&size, arg, sizeof size);
    k_tty_resize(t, size);
    return 0;
  case K_TCSBRK:
  case K_TCSBRKP: return 0;
  case K_TCXONC: return flow(t, *number);
  case K_TCFLSH: return tty_ioctl_flush(t, *number, k_tty_is_master(f));
  case K_TIOCOUTQ: *number = 0; return 0;
  case K_FIONREAD:
    *number = (int32_t)(k_tty_is_master(f) ? k_ldisc_shown(&t->line) : k_ldisc_readable(&t->line));
    return 0;
  default: return of_session(p, f, t, request, arg);
  }
}

k_ret k_tty_control(k_process *p, k_file *f, uint32_t request, void *arg, size_t len) {
  (void)len;
  k_tty *t = f->object;
  if (!k_tty_is_master(f) && k_tty_is_hung_up(f)) return request == K_TIOCSPGRP ? -K_ENOTTY : -K_EIO;
  if (p != NULL && changes_it(request)) K_TRY(tty_ioctl_admit(p, t));
  return of_terminal(p, f, t, request, arg);
}
