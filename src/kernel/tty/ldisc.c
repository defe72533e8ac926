/* ldisc.c - input: editing a line, special characters, reading. */
#include "kernel/tty/ldisc.h"

#include "kernel/signal/signal.h"

#include <string.h>

static bool is_set(uint32_t flags, uint32_t flag) { return (flags & flag) != 0; }
static bool local(const k_ldisc *l, uint32_t flag) { return is_set(l->t.lflag, flag); }
static bool input(const k_ldisc *l, uint32_t flag) { return is_set(l->t.iflag, flag); }

/* 0 in the table means that there is none, so NUL is never special. */
static bool is_special(const k_ldisc *l, int which, uint8_t c) { return c != 0 && l->t.cc[which] == c; }

static uint8_t at(const k_ldisc *l, uint32_t place) { return l->in[place % K_LDISC_CAP]; }
static uint32_t used(const k_ldisc *l) { return l->head - l->tail; }

static bool ldisc_is_control(uint8_t c) { return c < 0x20 || c == 0x7f; }
static bool ldisc_is_continuation(const k_ldisc *l, uint8_t c) {
  return input(l, K_IUTF8) && (c & 0xc0) == 0x80;
}

void k_ldisc_init(k_ldisc *l, k_kernel *k, void (*on_signal)(void *ctx, int sig), void *ctx) {
  *l = (k_ldisc){
    .kernel = k,
    .t = { .iflag = K_ICRNL | K_IXON,
           .oflag = K_OPOST | K_ONLCR,
           .cflag = K_B38400 | K_CS8 | K_CREAD,
           .lflag = K_ISIG | K_ICANON | K_ECHO | K_ECHOE | K_ECHOK | K_ECHOCTL | K_ECHOKE | K_IEXTEN,
           .cc = { [K_VINTR] = 'C' & 31,
                   [K_VQUIT] = '\\' & 31,
                   [K_VERASE] = 0x7f,
                   [K_VKILL] = 'U' & 31,
                   [K_VEOF] = 'D' & 31,
                   [K_VMIN] = 1,
                   [K_VSTART] = 'Q' & 31,
                   [K_VSTOP] = 'S' & 31,
                   [K_VSUSP] = 'Z' & 31,
                   [K_VREPRINT] = 'R' & 31,
                   [K_VDISCARD] = 'O' & 31,
                   [K_VWERASE] = 'W' & 31,
                   [K_VLNEXT] = 'V' & 31 } },
    .on_signal = on_signal,
    .ctx = ctx,
  };
  k_ring_init(&l->out, K_LDISC_OUT_CAP);
}

void k_ldisc_free(k_ldisc *l) { k_ring_free(&l->out, l->kernel); }

/* ---- the queue ---- */

K_LOCKED static void ldisc_put(k_ldisc *l, uint8_t c, enum k_ldisc_mark mark) {
  /* The last place is for the end of the line. */
  if (used(l) >= K_LDISC_CAP - (mark == K_MARK_NONE ? 1 : 0)) {
    if (input(l, K_IMAXBEL)) k_echo_raw(l, '\a');
    return;
  }
  l->in[l->head % K_LDISC_CAP] = c;
  l->marks[l->head % K_LDISC_CAP] = (uint8_t)mark;
  l->head++;
  if (mark != K_MARK_NONE) l->line_end = l->head;
}

/* 0377 is doubled with PARMRK, where it would begin the mark of an error. */
K_LOCKED static void put_char(k_ldisc *l, uint8_t c) {
  if (c == 0xff && input(l, K_PARMRK)) ldisc_put(l, c, K_MARK_NONE);
  ldisc_put(l, c, K_MARK_NONE);
}

/* A line that is too long goes on being looked at, or nothing could end it. */
static bool has_place(const k_ldisc *l) {
  uint32_t needed = input(l, K_PARMRK) ? 3 : 2;
  return used(l) + needed <= K_LDISC_CAP || (k_ldisc_is_canonical(l) && l->line_end == l->tail);
}

void k_ldisc_flush_input(k_ldisc *l) {
  l->tail = l->line_end = l->head;
  l->erasing = l->literal = false;
}

void k_ldisc_end_line(k_ldisc *l) {
  if (!k_ldisc_is_canonical(l) || l->head == l->line_end) return;
  l->marks[(l->head - 1) % K_LDISC_CAP] = K_MARK_LINE;
  l->line_end = l->head;
}

/* As Linux: on entering canonical mode the buffered bytes become one line; on leaving it they become bytes. */
static void ldisc_change_mode(k_ldisc *l) {
  memset(l->marks, K_MARK_NONE, sizeof l->marks);
  l->line_end = l->tail;
  k_ldisc_end_line(l);
  l->erasing = l->literal = false;
}

void k_ldisc_set(k_ldisc *l, const k_termios *t) {
  uint32_t changed = l->t.lflag ^ t->lflag;
  bool had_flow = input(l, K_IXON);
  l->t = *t;
  l->t.cflag = (t->cflag & ~(uint32_t)(K_CSIZE | K_PARENB)) | K_CS8 | K_CREAD; /* as every pty */
  if (is_set(changed, K_ICANON | K_EXTPROC)) ldisc_change_mode(l);
  if (had_flow && !input(l, K_IXON)) k_ldisc_start(l, false);
}

/* ---- editing ---- */

/* How many columns stand between the tab at `l->head` and the one before it, or the start of the line. */
K_LOCKED static void erase_tab(k_ldisc *l) {
  uint32_t columns = 0;
  bool after_tab = false;
  for (uint32_t i = l->head; i != l->line_end && !after_tab;) {
    uint8_t c = at(l, --i);
    if (c == '\t')
      after_tab = true;
    else if (ldisc_is_control(c))
      columns += local(l, K_ECHOCTL) ? 2 : 0;
    else if (!ldisc_is_continuation(l, c))
      columns++;
  }
  k_echo_erase_tab(l, columns, after_tab);
}

K_LOCKED static void show_erased(k_ldisc *l, uint8_t c, uint32_t old_head, bool one) {
  if (!local(l, K_ECHO)) return;
  if (local(l, K_ECHOPRT))
    k_echo_erased(l, l->head, old_head);
  else if (one && !local(l, K_ECHOE))
    k_echo_char(l, l->t.cc[K_VERASE]);
  else if (c == '\t')
    erase_tab(l);
  else
    k_echo_erase(l, c);
}

/* Where the last character of the line being edited begins; false when only half of it is there. */
static bool last_char(const k_ldisc *l, uint32_t *start) {
  uint32_t i = l->head;
  do {
    i--;
  } while (ldisc_is_continuation(l, at(l, i)) && i != l->line_end);
  *start = i;
  return !ldisc_is_continuation(l, at(l, i));
}

static bool is_of_word(uint8_t c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

K_LOCKED static void erase(k_ldisc *l, int which) {
  bool in_word = false;
  uint32_t start;
  while (l->head != l->line_end && last_char(l, &start)) {
    uint8_t c = at(l, start);
    if (which == K_VWERASE && in_word && !is_of_word(c)) break;
    in_word |= is_of_word(c);
    uint32_t old_head = l->head;
    l->head = start;
    show_erased(l, c, old_head, which == K_VERASE);
    if (which == K_VERASE) break;
  }
  if (l->head == l->line_end && local(l, K_ECHO)) k_echo_finish_erasing(l);
}

K_LOCKED static void kill_line(k_ldisc *l) {
  if (l->head == l->line_end) return;
  if (local(l, K_ECHO) && local(l, K_ECHOK) && local(l, K_ECHOKE) && local(l, K_ECHOE)) {
    erase(l, K_VKILL);
    return;
  }
  l->head = l->line_end;
  if (!local(l, K_ECHO)) return;
  k_echo_finish_erasing(l);
  k_echo_char(l, l->t.cc[K_VKILL]);
  if (local(l, K_ECHOK)) k_echo_raw(l, '\n');
}

K_LOCKED static void reprint(k_ldisc *l, uint8_t c) {
  k_echo_finish_erasing(l);
  k_echo_char(l, c);
  k_echo_raw(l, '\n');
  for (uint32_t i = l->line_end; i != l->head; i++) k_echo_char(l, at(l, i));
}

K_LOCKED static void take_literally(k_ldisc *l) {
  l->literal = true;
  if (!local(l, K_ECHO)) return;
  k_echo_finish_erasing(l);
  if (!local(l, K_ECHOCTL)) return;
  k_echo_raw(l, '^');
  k_echo_raw(l, '\b');
}

K_LOCKED static void echo_as_text(k_ldisc *l, uint8_t c) {
  if (!local(l, K_ECHO)) return;
  k_echo_finish_erasing(l);
  if (l->head == l->line_end) l->line_column = l->column;
  k_echo_char(l, c);
}

K_LOCKED static void echo(k_ldisc *l, uint8_t c) {
  if (c != '\n') {
    echo_as_text(l, c);
  } else if (local(l, K_ECHO)) {
    k_echo_finish_erasing(l);
    k_echo_raw(l, c);
  }
}

/* Ends the line, if `c` does. */
K_LOCKED static bool end_line(k_ldisc *l, uint8_t c) {
  if (c == '\n') {
    if (local(l, K_ECHO) || local(l, K_ECHONL)) k_echo_raw(l, '\n');
    ldisc_put(l, c, K_MARK_LINE);
  } else if (is_special(l, K_VEOF, c)) {
    ldisc_put(l, 0, K_MARK_EOF);
  } else if (is_special(l, K_VEOL, c) || (is_special(l, K_VEOL2, c) && local(l, K_IEXTEN))) {
    echo(l, c);
    if (c == 0xff && input(l, K_PARMRK)) ldisc_put(l, c, K_MARK_NONE);
    ldisc_put(l, c, K_MARK_LINE);
  } else {
    return false;
  }
  return true;
}

K_LOCKED static bool edit(k_ldisc *l, uint8_t c) {
  bool extended = local(l, K_IEXTEN);
  if (is_special(l, K_VERASE, c))
    erase(l, K_VERASE);
  else if (is_special(l, K_VKILL, c))
    kill_line(l);
  else if (is_special(l, K_VWERASE, c) && extended)
    erase(l, K_VWERASE);
  else if (is_special(l, K_VLNEXT, c) && extended)
    take_literally(l);
  else if (is_special(l, K_VREPRINT, c) && extended && local(l, K_ECHO))
    reprint(l, c);
  else
    return end_line(l, c);
  return true;
}

/* ---- one character ---- */

static bool controls_flow(k_ldisc *l, uint8_t c) {
  if (!input(l, K_IXON)) return false;
  if (is_special(l, K_VSTART, c)) {
    k_ldisc_start(l, false);
    return true;
  }
  if (!is_special(l, K_VSTOP, c)) return false;
  k_ldisc_stop(l, false);
  return true;
}

static int signal_of(const k_ldisc *l, uint8_t c) {
  if (!local(l, K_ISIG)) return 0;
  if (is_special(l, K_VINTR, c)) return K_SIGINT;
  if (is_special(l, K_VQUIT, c)) return K_SIGQUIT;
  return is_special(l, K_VSUSP, c) ? K_SIGTSTP : 0;
}

K_LOCKED static void signal_from(k_ldisc *l, int sig, uint8_t c) {
  l->on_signal(l->ctx, sig);
  if (!local(l, K_NOFLSH)) k_ldisc_flush_input(l);
  if (input(l, K_IXON)) k_ldisc_start(l, false);
  if (local(l, K_ECHO)) k_echo_char(l, c);
}

K_LOCKED static void ldisc_receive(k_ldisc *l, uint8_t c) {
  if (input(l, K_ISTRIP)) c &= 0x7f;
  if (input(l, K_IUCLC) && local(l, K_IEXTEN) && c >= 'A' && c <= 'Z') c = (uint8_t)(c | 0x20);
  if (local(l, K_EXTPROC)) {
    ldisc_put(l, c, K_MARK_NONE);
    return;
  }
  if (l->literal) {
    l->literal = false;
    echo_as_text(l, c);
    put_char(l, c);
    return;
  }
  if (controls_flow(l, c)) return;
  int sig = signal_of(l, c);
  if (sig != 0) {
    signal_from(l, sig, c);
    return;
  }
  if (input(l, K_IXON) && input(l, K_IXANY)) k_ldisc_start(l, false);
  if (c == '\r') {
    if (input(l, K_IGNCR)) return;
    if (input(l, K_ICRNL)) c = '\n';
  } else if (c == '\n' && input(l, K_INLCR)) {
    c = '\r';
  }
  if (k_ldisc_is_canonical(l) && edit(l, c)) return;
  echo(l, c);
  put_char(l, c);
}

size_t k_ldisc_receive(k_ldisc *l, const uint8_t *bytes, size_t len) {
  size_t done = 0;
  while (done < len && has_place(l)) ldisc_receive(l, bytes[done++]);
  return done;
}

/* ---- reading ---- */

bool k_ldisc_has_input(const k_ldisc *l, size_t at_least) {
  return k_ldisc_is_canonical(l) ? l->line_end != l->tail : used(l) >= at_least && used(l) > 0;
}

size_t k_ldisc_readable(const k_ldisc *l) {
  if (!k_ldisc_is_canonical(l)) return used(l);
  size_t n = 0;
  for (uint32_t i = l->tail; i != l->line_end; i++) n += l->marks[i % K_LDISC_CAP] != K_MARK_EOF;
  return n;
}

/* An end of file after the last byte that is asked for belongs to this read: it only ended the line. */
static k_ret ldisc_read_line(k_ldisc *l, uint8_t *buf, size_t len) {
  size_t n = 0;
  while (l->tail != l->line_end) {
    enum k_ldisc_mark mark = l->marks[l->tail % K_LDISC_CAP];
    if (n == len && mark != K_MARK_EOF) break;
    if (mark != K_MARK_EOF) buf[n++] = at(l, l->tail);
    l->tail++;
    if (mark != K_MARK_NONE) break;
  }
  return (k_ret)n;
}

k_ret k_ldisc_read(k_ldisc *l, void *buf, size_t len) {
  if (!k_ldisc_has_input(l, 1)) return -K_EAGAIN;
  if (len == 0) return 0;
  uint8_t *to = buf;
  if (k_ldisc_is_canonical(l)) return ldisc_read_line(l, to, len);
  size_t n = 0;
  while (n < len && l->tail != l->head) to[n++] = at(l, l->tail++);
  l->line_end = l->tail;
  return (k_ret)n;
}
