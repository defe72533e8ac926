/* ldisc.h - the line discipline of a terminal: what happens to bytes between the two sides of it
 * (termios(3)).
 *
 * Input comes from the keyboard's side byte by byte: lines are edited until they are complete, characters are
 * echoed, some mean a signal or stop the output. Output of programs is processed (a newline becomes CR NL).
 * Echo and output end in one queue, `out`, which the keyboard's side reads. The rules are those of Linux's
 * n_tty, so that programs behave as they are used to.
 *
 * It knows no processes and never sleeps: a signal is told to `on_signal`.
 *
 * Invariant   tail <= line_end <= head <= tail + K_LDISC_CAP; bytes [tail, line_end) are complete lines.
 *
 * Locks       all require kernel.mu.
 *
 * Not here    parity and breaks (there is no wire), delays of output, packet mode. */
#pragma once

#include "kernel/file/ring.h"
#include "kernel/tty/termios.h"

enum {
  K_LDISC_CAP = 4096,      /* a line of up to 4095 bytes and its end, MAX_CANON of Linux */
  K_LDISC_OUT_CAP = 65536, /* of which programs get */
  K_LDISC_WRITE_CAP = K_LDISC_OUT_CAP - 4096,
};

/* How a byte ends a line. */
enum k_ldisc_mark { K_MARK_NONE, K_MARK_LINE, K_MARK_EOF };

typedef struct k_ldisc {
  k_kernel *kernel;
  k_termios t;
  void (*on_signal)(void *ctx, int sig); /* for the foreground group; may not call back */
  void *ctx;

  /* counts that only grow, modulo K_LDISC_CAP a place in `in` */
  uint32_t head, tail, line_end;
  bool literal; /* the last character was VLNEXT */
  bool erasing; /* inside "\...": ECHOPRT */

  k_ring out;
  uint32_t column, line_column; /* where the cursor is; where the line being edited began */
  bool stopped;                 /* no output: by VSTOP, */
  bool stopped_by_call;         /* or by TCOOFF: only TCOON goes on */
  size_t shown;                 /* bytes of `out` that were there when it stopped */

  uint8_t in[K_LDISC_CAP];
  uint8_t marks[K_LDISC_CAP]; /* enum k_ldisc_mark */
} k_ldisc;

void k_ldisc_init(k_ldisc *l, k_kernel *k, void (*on_signal)(void *ctx, int sig), void *ctx) K_LOCKED;
void k_ldisc_free(k_ldisc *l) K_LOCKED;

/* TCSETS: takes effect on later input; the bytes in `in` become lines or bytes as ICANON says. */
void k_ldisc_set(k_ldisc *l, const k_termios *t);

/* From the keyboard: how many of the bytes were taken, the rest has to wait until something was read. */
size_t k_ldisc_receive(k_ldisc *l, const uint8_t *bytes, size_t len) K_LOCKED;

/* For read(2) of programs. canonical: one line at most, 0 for an end of file, -K_EAGAIN while none is
 * complete. Else what there is, -K_EAGAIN when that is nothing. */
k_ret k_ldisc_read(k_ldisc *l, void *buf, size_t len) CHECKED;
size_t k_ldisc_readable(const k_ldisc *l); /* FIONREAD: bytes that reads would give now */
bool k_ldisc_has_input(const k_ldisc *l, size_t at_least);
void k_ldisc_end_line(k_ldisc *l); /* the typed line is complete without a newline: no more input comes */
void k_ldisc_flush_input(k_ldisc *l);

/* write(2) of programs: how many bytes were taken; -K_EAGAIN: stopped or full; -K_ENOMEM. */
k_ret k_ldisc_write(k_ldisc *l, const void *bytes, size_t len) CHECKED K_LOCKED;
bool k_ldisc_has_room(const k_ldisc *l); /* for output */

/* For the keyboard's side: bytes to be shown. */
size_t k_ldisc_shown(const k_ldisc *l);
size_t k_ldisc_take(k_ldisc *l, void *buf, size_t len);
void k_ldisc_flush_output(k_ldisc *l);

/* TCXONC of ioctl_tty(2). */
void k_ldisc_stop(k_ldisc *l, bool by_call);
void k_ldisc_start(k_ldisc *l, bool by_call);

static inline bool k_ldisc_is_canonical(const k_ldisc *l) { return (l->t.lflag & K_ICANON) != 0; }

/* ---- between ldisc.c and ldisc_echo.c ---- */

void k_echo_char(k_ldisc *l, uint8_t c) K_LOCKED;  /* a control character as ^X with ECHOCTL */
void k_echo_raw(k_ldisc *l, uint8_t c) K_LOCKED;   /* as output of a program */
void k_echo_finish_erasing(k_ldisc *l) K_LOCKED;   /* the '/' of ECHOPRT */
void k_echo_erase(k_ldisc *l, uint8_t c) K_LOCKED; /* the cursor goes back over `c`, which is no tab */
void k_echo_erase_tab(k_ldisc *l, uint32_t columns, bool after_tab) K_LOCKED;
void k_echo_erased(k_ldisc *l, uint32_t from,
                   uint32_t to) K_LOCKED; /* ECHOPRT: bytes [from, to) of `in` are shown */
