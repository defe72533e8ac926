/* ldisc_echo.c - output of programs, and the echo of input. */
#include "kernel/tty/ldisc.h"

#include <string.h>

enum { TAB = 8, MOST = TAB /* bytes that one can become */ };

static bool output(const k_ldisc *l, uint32_t flag) { return (l->t.oflag & flag) != 0; }
static bool ldisc_echo_is_control(uint8_t c) { return c < 0x20 || c == 0x7f; }
static bool ldisc_echo_is_continuation(const k_ldisc *l, uint8_t c) {
  return (l->t.iflag & K_IUTF8) != 0 && (c & 0xc0) == 0x80;
}

/* What one byte of output becomes (OPOST): how many bytes of `to`. Keeps count of the column. */
static size_t process(k_ldisc *l, uint8_t c, uint8_t to[MOST]) {
  switch (c) {
  case '\n':
    if (output(l, K_ONLRET)) l->column = 0;
    if (output(l, K_ONLCR)) {
      l->column = l->line_column = 0;
      memcpy(to, "\r\n", 2);
      return 2;
    }
    l->line_column = l->column;
    break;
  case '\r':
    if (output(l, K_ONOCR) && l->column == 0) return 0;
    if (output(l, K_OCRNL)) {
      c = '\n';
      if (!output(l, K_ONLRET)) break;
    }
    l->column = l->line_column = 0;
    break;
  case '\t': {
    uint32_t spaces = TAB - l->column % TAB;
    l->column += spaces;
    if ((l->t.oflag & K_TABDLY) != K_XTABS) break;
    memset(to, ' ', spaces);
    return spaces;
  }
  case '\b':
    if (l->column > 0) l->column--;
    break;
  default:
    if (ldisc_echo_is_control(c)) break;
    if (output(l, K_OLCUC) && c >= 'a' && c <= 'z') c = (uint8_t)(c & ~0x20);
    if (!ldisc_echo_is_continuation(l, c)) l->column++;
  }
  to[0] = c;
  return 1;
}

/* ---- of programs ---- */

bool k_ldisc_has_room(const k_ldisc *l) { return !l->stopped && l->out.len + MOST <= K_LDISC_WRITE_CAP; }

k_ret k_ldisc_write(k_ldisc *l, const void *bytes, size_t len) {
  if (len == 0) return 0;
  if (!k_ldisc_has_room(l)) return -K_EAGAIN;
  const uint8_t *from = bytes;
  size_t room = K_LDISC_WRITE_CAP - l->out.len, want = len < room / 2 ? 2 * len + MOST : room, done = 0;
  if (want > room) want = room;
  K_TRY(k_ring_reserve(&l->out, l->kernel, want));
  if (!output(l, K_OPOST)) return k_ring_put(&l->out, l->kernel, from, len < want ? len : want);
  while (done < len && want >= MOST) {
    uint8_t to[MOST];
    size_t n = process(l, from[done++], to);
    (void)!k_ring_put(&l->out, l->kernel, to, n); /* room for it was reserved */
    want -= n;
  }
  return (k_ret)done;
}

/* ---- flow ---- */

void k_ldisc_stop(k_ldisc *l, bool by_call) {
  if (by_call) l->stopped_by_call = true;
  if (l->stopped) return;
  l->stopped = true;
  l->shown = l->out.len;
}

void k_ldisc_start(k_ldisc *l, bool by_call) {
  if (by_call) l->stopped_by_call = false;
  if (!l->stopped_by_call) l->stopped = false;
}

size_t k_ldisc_shown(const k_ldisc *l) { return l->stopped ? l->shown : l->out.len; }

size_t k_ldisc_take(k_ldisc *l, void *buf, size_t len) {
  size_t there = k_ldisc_shown(l), n = k_ring_peek(&l->out, buf, len < there ? len : there);
  k_ring_skip(&l->out, n);
  if (l->stopped) l->shown -= n;
  return n;
}

void k_ldisc_flush_output(k_ldisc *l) {
  k_ring_skip(&l->out, l->out.len);
  l->shown = 0;
}

/* ---- echo: bytes without room are lost, as the screen has no reader ---- */

K_LOCKED static void ldisc_echo_show(k_ldisc *l, const void *bytes, size_t len) {
  if (k_ring_room(&l->out) >= len) (void)!k_ring_put(&l->out, l->kernel, bytes, len);
}

void k_echo_raw(k_ldisc *l, uint8_t c) {
  uint8_t to[MOST] = { c };
  size_t n = output(l, K_OPOST) ? process(l, c, to) : 1;
  ldisc_echo_show(l, to, n);
}

void k_echo_char(k_ldisc *l, uint8_t c) {
  if ((l->t.lflag & K_ECHOCTL) == 0 || !ldisc_echo_is_control(c) || c == '\t') {
    k_echo_raw(l, c);
    return;
  }
  uint8_t to[2] = { '^', (uint8_t)(c ^ 0100) };
  ldisc_echo_show(l, to, sizeof to);
  l->column += 2;
}

void k_echo_finish_erasing(k_ldisc *l) {
  if (!l->erasing) return;
  k_echo_raw(l, '/');
  l->erasing = false;
}

K_LOCKED static void back_over_one(k_ldisc *l) {
  k_echo_raw(l, '\b');
  k_echo_raw(l, ' ');
  k_echo_raw(l, '\b');
}

void k_echo_erase(k_ldisc *l, uint8_t c) {
  bool shown_as_two = ldisc_echo_is_control(c) && (l->t.lflag & K_ECHOCTL) != 0;
  if (shown_as_two) back_over_one(l);
  if (!ldisc_echo_is_control(c) || shown_as_two) back_over_one(l);
}

void k_echo_erase_tab(k_ldisc *l, uint32_t columns, bool after_tab) {
  if (!after_tab) columns += l->line_column;
  for (uint32_t back = TAB - columns % TAB; back > 0; back--) {
    ldisc_echo_show(l, "\b", 1);
    if (l->column > 0) l->column--;
  }
}

void k_echo_erased(k_ldisc *l, uint32_t from, uint32_t to) {
  if (!l->erasing) k_echo_raw(l, '\\');
  l->erasing = true;
  k_echo_char(l, l->in[from % K_LDISC_CAP]);
  while (++from != to) ldisc_echo_show(l, &l->in[from % K_LDISC_CAP], 1);
}
