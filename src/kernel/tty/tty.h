/* tty.h - pseudo-terminals: a master and a slave with a line discipline between them (pty(7), ioctl_tty(2)),
 * and what a terminal is to a session (credentials(7), tcsetpgrp(3)).
 *
 * Ownership   k_tty is counted: by its master, by each open slave and by its name in /dev/pts. The master is
 * what keeps it alive for programs: when it is closed the terminal is hung up and its name is gone.
 * Hang-up     slaves that were open then read end of file (-K_EIO for sleeping readers) and fail to write;
 * the session has no terminal any more, its leader gets SIGHUP and SIGCONT. When the leader exits the
 *             foreground gets SIGHUP and the terminal has no session, but later opens can go on with it.
 *
 * Locks       all require kernel.mu.
 *
 * Not here    packet mode, TIOCSTI, line disciplines other than N_TTY. */
#pragma once

#include "kernel/proc/process.h"
#include "kernel/tty/ldisc.h"

enum { K_TTY_MAX = 64 /* at once in a kernel; their buffers are charged to its memory */ };

typedef struct k_tty {
  k_kernel *kernel;
  list in_kernel; /* kernel.ttys, by number; nowhere once the master is closed */
  uint32_t refs;
  uint32_t number; /* N of /dev/pts/N */
  bool locked;     /* TIOCSPTLCK: slaves cannot be opened */
  bool has_master;
  bool slave_gone; /* the last slave was closed: the master is at its end until one is opened again */
  uint32_t slaves; /* open and not hung up */
  uint64_t hangups;
  int32_t session, foreground; /* its session, and the group that may read; 0: none */
  k_winsize size;
  k_ldisc line;
  k_ring typed;     /* what the line discipline has no place for yet */
  bool input_ended; /* nothing will be typed any more: reads give end of file */
  k_waitq changed;
  k_inode *node; /* of devpts, borrowed: while somebody holds it */
} k_tty;

static inline k_tty *k_tty_ref(k_tty *t) {
  t->refs++;
  return t;
}
void k_tty_unref(k_tty *t) K_LOCKED; /* NULL is fine */

/* A new pair: the master, whose inode (a reference, or NULL) is taken over on success. The slave is locked,
 * as by open("/dev/ptmx"). -K_ENOSPC: K_TTY_MAX are there; -K_ENOMEM. */
k_ret k_tty_new(k_kernel *k, k_inode *inode, uint32_t flags, k_file **master) CHECKED K_LOCKED;
bool k_tty_is_master(const k_file *f);
k_tty *k_tty_of(const k_file *f); /* of a master or slave; else NULL. Borrowed */

/* A slave; `inode` as above. It becomes the terminal of `p` (may be NULL) when that leads a session
 * without one, unless K_O_NOCTTY. -K_EIO: locked or hung up. */
k_ret k_tty_open(k_tty *t, k_process *p, k_inode *inode, uint32_t flags, k_file **slave) CHECKED K_LOCKED;

/* ---- sessions (tty_session.c) ---- */

k_tty *k_tty_controlling(const k_process *p) K_LOCKED; /* borrowed; NULL: none */

/* Makes it the terminal of the session that `p` leads, and its group the foreground. */
void k_tty_give(k_tty *t, k_process *p) K_LOCKED;
bool k_tty_may_be_given(const k_tty *t, const k_process *p) K_LOCKED;

/* May `p` do this to its terminal, or is it in the background? 0; -K_EIO when nothing can be done about it;
 * else the group is sent `sig` (SIGTTIN, SIGTTOU) and this comes back when `p` was continued, to be asked
 * again: -K_EAGAIN; or as k_sleep. Of another terminal than its own: 0. */
k_ret k_tty_admit(k_process *p, k_tty *t, int sig) CHECKED;

void k_tty_signal(k_tty *t, int sig) K_LOCKED;        /* to the foreground group */
void k_tty_resize(k_tty *t, k_winsize size) K_LOCKED; /* SIGWINCH when it is a change */
void k_tty_hang_up(k_tty *t) K_LOCKED;
k_ret k_tty_disown(k_process *p) CHECKED K_LOCKED; /* TIOCNOTTY: -K_ENOTTY when it has none */
void k_tty_leader_exits(k_process *p) K_LOCKED;    /* if it leads a session */
bool k_tty_uses_number(k_kernel *k, int32_t pid);  /* as session or group: it must not be another's */

/* ---- between tty.c and tty_ioctl.c ---- */

bool k_tty_is_hung_up(const k_file *slave);
k_ret k_tty_control(k_process *p, k_file *f, uint32_t request, void *arg, size_t len) CHECKED K_LOCKED;
void k_tty_changed(k_tty *t) K_LOCKED; /* moves typed bytes on if there is room, and wakes all sleepers */

/* ioctl(2) of terminals. Arguments are in `arg`; those passed by value are an int there. */
enum {
  K_TCGETS = 0x5401,
  K_TCSETS = 0x5402,
  K_TCSETSW = 0x5403,
  K_TCSETSF = 0x5404,
  K_TCSBRK = 0x5409,    /* by value */
  K_TCXONC = 0x540a,    /* by value */
  K_TCFLSH = 0x540b,    /* by value */
  K_TIOCSCTTY = 0x540e, /* by value */
  K_TIOCGPGRP = 0x540f,
  K_TIOCSPGRP = 0x5410,
  K_TIOCOUTQ = 0x5411,
  K_TIOCGWINSZ = 0x5413,
  K_TIOCSWINSZ = 0x5414,
  K_TIOCNOTTY = 0x5422, /* no argument */
  K_TCSBRKP = 0x5425,   /* by value */
  K_TIOCGSID = 0x5429,
  K_TIOCGPTN = 0x80045430u,
  K_TIOCSPTLCK = 0x40045431,
  K_TIOCSIG = 0x40045436, /* by value */
  K_TIOCGPTLCK = 0x80045439u,
};
