/* tty.c - pairs of master and slave: life, reading, writing. */
#include "kernel/tty/tty.h"

#include "base/alloc.h"
#include "kernel/file/transfer.h"

enum { TYPED_CAP = 65536 };
#define DECISECOND (NS_PER_SEC / 10)

static const k_file_ops master_ops, slave_ops;

k_tty *k_tty_of(const k_file *f) { return f->ops == &master_ops || f->ops == &slave_ops ? f->object : NULL; }

bool k_tty_is_master(const k_file *f) { return f->ops == &master_ops; }

bool k_tty_is_hung_up(const k_file *slave) {
  const k_tty *t = slave->object;
  return slave->hangups_seen != t->hangups;
}

/* ---- life ---- */

K_LOCKED static void tty_on_signal(void *ctx, int sig) { k_tty_signal(ctx, sig); }

/* The lowest number that is free, and whom it goes before in the list. */
K_LOCKED static k_ret free_number(k_kernel *k, list **before, uint32_t *out) {
  uint32_t number = 0;
  list *at = k->ttys.next;
  for (; at != &k->ttys && CONTAINER_OF(at, k_tty, in_kernel)->number == number; at = at->next) number++;
  if (number >= K_TTY_MAX) return -K_ENOSPC;
  *before = at;
  *out = number;
  return 0;
}

K_LOCKED static k_ret tty_new(k_kernel *k, k_tty **out) {
  list *before;
  uint32_t number;
  K_TRY(free_number(k, &before, &number));
  K_TRY(k_memory_charge(k, sizeof(k_tty)));
  k_tty *t = mem_zalloc(sizeof *t);
  if (t == NULL) {
    k_memory_uncharge(k, sizeof *t);
    return -K_ENOMEM;
  }
  t->kernel = k;
  t->refs = 1;
  t->number = number;
  t->locked = t->has_master = true;
  k_ldisc_init(&t->line, k, tty_on_signal, t);
  k_ring_init(&t->typed, TYPED_CAP);
  k_waitq_init(&t->changed);
  list_push(before, &t->in_kernel); /* in front of it */
  *out = t;
  return 0;
}

void k_tty_unref(k_tty *t) {
  if (t == NULL || --t->refs > 0) return;
  list_remove(&t->in_kernel);
  k_ldisc_free(&t->line);
  k_ring_free(&t->typed, t->kernel);
  k_memory_uncharge(t->kernel, sizeof *t);
  mem_free(t);
}

k_ret k_tty_new(k_kernel *k, k_inode *inode, uint32_t flags, k_file **master) {
  k_tty *t = NULL;
  K_TRY(tty_new(k, &t));
  k_ret r = k_file_new(k, &master_ops, (flags & ~(uint32_t)K_O_ACCMODE) | K_O_RDWR, inode, t, master);
  if (r < 0) k_tty_unref(t);
  return r;
}

k_ret k_tty_open(k_tty *t, k_process *p, k_inode *inode, uint32_t flags, k_file **slave) {
  if (t->locked || !t->has_master) return -K_EIO;
  K_TRY(k_file_new(t->kernel, &slave_ops, flags, inode, k_tty_ref(t), slave));
  (*slave)->hangups_seen = t->hangups;
  t->slaves++;
  t->slave_gone = false;
  bool readable = (flags & K_O_ACCMODE) != K_O_WRONLY;
  if (p != NULL && readable && (flags & K_O_NOCTTY) == 0 && k_tty_may_be_given(t, p)) k_tty_give(t, p);
  k_wake(&t->changed);
  return 0;
}

K_LOCKED static void master_release(k_file *f) {
  k_tty *t = f->object;
  t->has_master = false;
  list_remove(&t->in_kernel);
  list_init(&t->in_kernel);
  k_tty_hang_up(t);
  k_tty_unref(t);
}

K_LOCKED static void slave_release(k_file *f) {
  k_tty *t = f->object;
  if (!k_tty_is_hung_up(f) && --t->slaves == 0) {
    t->slave_gone = true;
    k_wake(&t->changed);
  }
  k_tty_unref(t);
}

/* ---- from side to side ---- */

K_LOCKED static void take_typed(k_tty *t) {
  uint8_t chunk[256];
  size_t n, taken;
  do {
    n = k_ring_peek(&t->typed, chunk, sizeof chunk);
    taken = k_ldisc_receive(&t->line, chunk, n);
    k_ring_skip(&t->typed, taken);
  } while (taken > 0 && taken == n);
  if (t->input_ended && t->typed.len == 0) k_ldisc_end_line(&t->line);
}

void k_tty_changed(k_tty *t) {
  take_typed(t);
  k_wake(&t->changed);
}

/* ---- the master ---- */

K_LOCKED static k_ret master_read(k_file *f, void *buf, size_t len, int64_t pos) {
  (void)pos;
  k_tty *t = f->object;
  if (len == 0) return 0;
  size_t n = k_ldisc_take(&t->line, buf, len);
  if (n == 0) return t->slave_gone ? -K_EIO : -K_EAGAIN;
  k_wake(&t->changed);
  return (k_ret)n;
}

K_LOCKED static k_ret master_write(k_file *f, const void *buf, size_t len, int64_t pos) {
  (void)pos;
  k_tty *t = f->object;
  if (len == 0) return 0;
  if (k_ring_room(&t->typed) == 0) return -K_EAGAIN;
  K_TRY(k_ring_reserve(&t->typed, t->kernel, 1));
  k_ret n = k_ring_put(&t->typed, t->kernel, buf, len);
  if (n > 0) k_tty_changed(t);
  return n;
}

static uint32_t master_ready(k_file *f) {
  const k_tty *t = f->object;
  uint32_t ready = t->slave_gone ? K_POLLHUP : 0;
  if (k_ldisc_shown(&t->line) > 0) ready |= K_POLLIN | K_POLLRDNORM;
  if (k_ring_room(&t->typed) > 0) ready |= K_POLLOUT | K_POLLWRNORM;
  return ready;
}

static k_waitq *tty_queue(k_file *f) { return &((k_tty *)f->object)->changed; }

/* ---- the slave ---- */

/* One read(2), which may take several looks: with VMIN and VTIME bytes are gathered until there are enough. */
typedef struct reading {
  k_process *p; /* NULL: the embedder */
  k_file *file;
  k_tty *tty;
  uint8_t *buf;
  size_t len, done;
  int64_t deadline_ns;
  bool now; /* never sleeps */
} reading;

/* A process that was stopped meanwhile and continues in the background must not read. */
K_LOCKED static k_ret sleep_for_input(reading *r) {
  k_waitq *queues[] = { &r->tty->changed, &r->tty->kernel->exits };
  return k_sleep(k_sleeper_of(r->p), queues, COUNT_OF(queues), r->deadline_ns);
}

K_LOCKED static k_ret take_input(reading *r) {
  k_ret n = k_ldisc_read(&r->tty->line, r->buf + r->done, r->len - r->done);
  if (n > 0) r->done += (size_t)n;
  if (n >= 0) k_tty_changed(r->tty);
  return n;
}

/* Is the read over? Without lines: as VMIN and VTIME say (termios(3), "MIN == 0, TIME == 0" and so on). */
static bool has_enough(reading *r, k_ret taken) {
  const k_ldisc *line = &r->tty->line;
  size_t min = line->t.cc[K_VMIN], time = line->t.cc[K_VTIME];
  if (taken == 0 || r->done == r->len) return true;
  if (r->tty->input_ended && taken < 0) return true;
  if (k_ldisc_is_canonical(line)) return r->done > 0;
  if (min == 0 && (r->done > 0 || time == 0)) return true;
  if (min > 0 && r->done >= min) return true;
  bool starts_now = min == 0 ? r->deadline_ns == K_FOREVER : taken > 0;
  if (time > 0 && starts_now) r->deadline_ns = clock_mono_ns() + (int64_t)time * DECISECOND;
  return false;
}

static k_ret given(const reading *r, k_ret otherwise) { return r->done > 0 ? (k_ret)r->done : otherwise; }

K_LOCKED static k_ret tty_read_input(reading *r) {
  bool has_slept = false;
  for (;;) {
    if (k_tty_is_hung_up(r->file)) return given(r, has_slept ? -K_EIO : 0);
    k_ret admitted = r->p != NULL ? k_tty_admit(r->p, r->tty, K_SIGTTIN) : 0;
    if (admitted == -K_EAGAIN) continue;
    if (admitted < 0) return given(r, admitted);
    if (has_enough(r, take_input(r))) return (k_ret)r->done;
    if (r->now) return given(r, -K_EAGAIN);
    k_ret slept = sleep_for_input(r);
    has_slept = true;
    if (slept == -K_ETIMEDOUT) return (k_ret)r->done;
    if (slept < 0) return given(r, slept);
  }
}

K_LOCKED static k_ret slave_read(k_process *p, k_file *f, void *buf, size_t len, bool now) {
  if (len == 0) return 0;
  reading r = {
    .p = p, .file = f, .tty = f->object, .buf = buf, .len = len, .deadline_ns = K_FOREVER, .now = now
  };
  return tty_read_input(&r);
}

K_LOCKED static k_ret slave_write(k_file *f, const void *buf, size_t len, int64_t pos) {
  (void)pos;
  k_tty *t = f->object;
  if (k_tty_is_hung_up(f)) return -K_EIO;
  k_ret n = k_ldisc_write(&t->line, buf, len);
  if (n > 0) k_tty_changed(t);
  return n;
}

/* Only with TOSTOP is the background kept from writing. */
static k_ret slave_admit(k_process *p, k_file *f) {
  k_tty *t = f->object;
  if (k_tty_is_hung_up(f) || (t->line.t.lflag & K_TOSTOP) == 0) return 0;
  k_ret r;
  do {
    r = k_tty_admit(p, t, K_SIGTTOU);
  } while (r == -K_EAGAIN);
  return r;
}

static uint32_t slave_ready(k_file *f) {
  const k_tty *t = f->object;
  const k_ldisc *line = &t->line;
  if (k_tty_is_hung_up(f)) return K_POLLIN | K_POLLOUT | K_POLLERR | K_POLLHUP | K_POLLRDNORM | K_POLLWRNORM;
  uint8_t min = line->t.cc[K_VMIN];
  uint32_t ready = 0;
  if (t->input_ended || k_ldisc_has_input(line, min > 0 && line->t.cc[K_VTIME] == 0 ? min : 1))
    ready |= K_POLLIN | K_POLLRDNORM;
  if (k_ldisc_has_room(line)) ready |= K_POLLOUT | K_POLLWRNORM;
  return ready;
}

static k_ret tty_stat(k_file *f, k_stat *out) {
  const k_tty *t = f->object;
  if (f->inode != NULL) return f->inode->ops->stat(f->inode, out);
  *out = (k_stat){ .ino = t->number + 3,
                   .mode = K_S_IFCHR | 0620,
                   .nlink = 1,
                   .uid = K_UID,
                   .gid = K_GID,
                   .rdev_major = f->ops == &master_ops ? 5 : 136,
                   .rdev_minor = f->ops == &master_ops ? 2 : t->number };
  return 0;
}

K_LOCKED static k_ret no_read(k_file *f, void *buf, size_t len, int64_t pos) {
  (void)pos;
  return slave_read(NULL, f, buf, len, true);
}

static const k_file_ops master_ops = {
  .read = master_read,
  .write = master_write,
  .stat = tty_stat,
  .control = k_tty_control,
  .ready = master_ready,
  .queue = tty_queue,
  .release = master_release,
};

static const k_file_ops slave_ops = {
  .read = no_read,
  .read_by = slave_read,
  .write = slave_write,
  .admit_writer = slave_admit,
  .stat = tty_stat,
  .control = k_tty_control,
  .ready = slave_ready,
  .queue = tty_queue,
  .release = slave_release,
};
