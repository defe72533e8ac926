/* tty.c - a pair of terminals whose settings, keys, output, reads and closings come in any order: what waits
 * stays within its bounds, no read gives more than was there, and all memory is given back in the end.
 *
 * The input is calls: one byte says which, one how long, then that many bytes for those that take some. */
#include "kernel/tty/tty.h"
#include "base/alloc.h"
#include "input.h"
#include "kernel/core/kernel.h"
#include "kernel/fs/mem/memfs.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static size_t next_bytes(input *in, const uint8_t **out) {
  size_t n = next_byte(in);
  if (n > in->len) n = in->len;
  *out = in->data;
  in->data += n;
  in->len -= n;
  return n;
}

typedef struct pair {
  k_kernel *k;
  k_file *master, *slave;
} pair;

static pair pair_new(void) {
  pair p = { 0 };
  k_inode *root = NULL;
  must(memfs_new(NULL, &root) == 0);
  must(k_kernel_new(&(k_options){ .limits = { 1 << 18, 1 << 20, 100, 4, 16, 0, 0 }, .root = root, .seed = 1 },
                    &p.k) == 0);
  k_lock(p.k);
  must(k_tty_new(p.k, NULL, 0, &p.master) == 0);
  k_tty_of(p.master)->locked = false;
  must(k_tty_open(k_tty_of(p.master), NULL, NULL, K_O_RDWR, &p.slave) == 0);
  return p;
}

static void set(pair *p, const uint8_t *bytes, size_t len) {
  k_termios t;
  must(k_tty_control(NULL, p->slave, K_TCGETS, &t, sizeof t) == 0);
  memcpy(&t, bytes, len < sizeof t ? len : sizeof t);
  must(k_tty_control(NULL, p->slave, len & 1 ? K_TCSETS : K_TCSETSF, &t, sizeof t) == 0);
}

static void control(pair *p, uint8_t which) {
  static const uint32_t REQUESTS[] = { K_TCXONC,     K_TCFLSH,    K_TIOCGPGRP,  K_TIOCSPGRP,
                                       K_TIOCGSID,   K_FIONREAD,  K_TIOCGWINSZ, K_TIOCSWINSZ,
                                       K_TIOCNOTTY,  K_TIOCSCTTY, K_TIOCGPTN,   K_TIOCSIG,
                                       K_TIOCGPTLCK, K_TCSBRK,    K_TIOCOUTQ,   0xdead };
  uint64_t arg[8] = { which >> 5 };
  k_file *f = which & 16 ? p->master : p->slave;
  (void)!k_tty_control(NULL, f, REQUESTS[which & 15], arg, 8);
}

static void reopen(pair *p) {
  k_tty *t = k_tty_of(p->master);
  k_file_unref(p->slave);
  must(k_tty_open(t, NULL, NULL, K_O_RDWR, &p->slave) == 0);
}

static void look(const pair *p) {
  const k_tty *t = k_tty_of(p->master);
  const k_ldisc *l = &t->line;
  must(l->line_end - l->tail <= l->head - l->tail && l->head - l->tail <= K_LDISC_CAP);
  must(l->out.len <= K_LDISC_OUT_CAP && k_ldisc_shown(l) <= l->out.len && t->typed.len <= t->typed.cap);
  (void)p->master->ops->ready(p->master);
  (void)p->slave->ops->ready(p->slave);
}

static void call(pair *p, input *in) {
  char back[256];
  const uint8_t *bytes;
  uint8_t which = next_byte(in);
  size_t len = next_bytes(in, &bytes), there;
  switch (which % 10) {
  case 0:
  case 1:
  case 2: must(k_file_write(NULL, p->master, bytes, len) <= (k_ret)len); break;
  case 3: must(k_file_write(NULL, p->slave, bytes, len) <= (k_ret)len); break;
  case 4:
    there = k_ldisc_readable(&k_tty_of(p->master)->line);
    must(k_file_read(NULL, p->slave, back, len) <= (k_ret)(there < len ? there : len));
    break;
  case 5: must(k_file_read(NULL, p->master, back, len) <= (k_ret)len); break;
  case 6: set(p, bytes, len); break;
  case 7: control(p, len > 0 ? bytes[0] : which); break;
  case 8: reopen(p); break;
  default: k_tty_hang_up(k_tty_of(p->master)); reopen(p);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  input in = { data, len };
  pair p = pair_new();
  while (in.len > 0) {
    call(&p, &in);
    look(&p);
  }
  k_file_unref(p.master);
  k_file_unref(p.slave);
  must(p.k->used.memory == 0);
  k_unlock(p.k);
  k_kernel_free(p.k);
  return 0;
}
