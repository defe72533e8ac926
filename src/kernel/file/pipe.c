/* pipe.c - pipes and FIFOs: the same object, reached without and with a name. */
#include "kernel/file/pipe.h"

#include "base/alloc.h"
#include "kernel/file/ring.h"
#include "kernel/proc/process.h"

/* A pipe that stands in a FIFO's inode knows the slot, to empty it when it goes. */
struct k_fifo {
  k_kernel *kernel;
  k_fifo **slot; /* NULL: a pipe */
  k_ring ring;
  uint32_t readers, writers;
  uint32_t reader_count, writer_count; /* ever: a sleeper in open(2) sees that the other side came by */
  k_waitq changed;
  int64_t made_ns, changed_ns;
  uint64_t ino;
};
typedef struct k_fifo pipe_state;

static pipe_state *pipe_of(const k_file *f) { return f->object; }

static bool reads(uint32_t flags) { return (flags & K_O_ACCMODE) != K_O_WRONLY; }
static bool writes(uint32_t flags) { return (flags & K_O_ACCMODE) != K_O_RDONLY; }

K_LOCKED static pipe_state *state_new(k_kernel *k) {
  pipe_state *s = mem_zalloc(sizeof *s);
  if (s == NULL) return NULL;
  s->kernel = k;
  k_ring_init(&s->ring, K_PIPE_CAP);
  k_waitq_init(&s->changed);
  s->made_ns = s->changed_ns = k_real_ns(k);
  s->ino = ++k->anonymous_ino;
  return s;
}

K_LOCKED static void state_drop(pipe_state *s) {
  if (s->readers > 0 || s->writers > 0) return;
  if (s->slot != NULL) *s->slot = NULL;
  k_ring_free(&s->ring, s->kernel);
  mem_free(s);
}

K_LOCKED static void pipe_enter(pipe_state *s, uint32_t flags) {
  if (reads(flags)) s->readers++, s->reader_count++;
  if (writes(flags)) s->writers++, s->writer_count++;
  k_wake(&s->changed);
}

K_LOCKED static void pipe_leave(pipe_state *s, uint32_t flags) {
  if (reads(flags)) s->readers--;
  if (writes(flags)) s->writers--;
  k_wake(&s->changed);
  state_drop(s);
}

/* ---- operations ---- */

K_LOCKED static k_ret pipe_read(k_file *f, void *buf, size_t len, int64_t pos) {
  (void)pos;
  pipe_state *s = pipe_of(f);
  if (len == 0) return 0;
  if (s->ring.len == 0) return s->writers > 0 ? -K_EAGAIN : 0;
  size_t n = k_ring_peek(&s->ring, buf, len);
  k_ring_skip(&s->ring, n);
  k_wake(&s->changed);
  return (k_ret)n;
}

K_LOCKED static k_ret pipe_write(k_file *f, const void *buf, size_t len, int64_t pos) {
  (void)pos;
  pipe_state *s = pipe_of(f);
  if (len == 0) return 0;
  if (s->readers == 0) return -K_EPIPE;
  size_t room = k_ring_room(&s->ring);
  /* POSIX: a small write is all or nothing, or lines of two writers would mix. */
  if (room == 0 || (len <= K_PIPE_ATOMIC && len > room)) return -K_EAGAIN;
  K_TRY(k_ring_reserve(&s->ring, s->kernel, len <= K_PIPE_ATOMIC ? len : 1));
  k_ret n = k_ring_put(&s->ring, s->kernel, buf, len);
  if (n > 0) k_wake(&s->changed);
  return n;
}

static uint32_t pipe_ready(k_file *f) {
  const pipe_state *s = pipe_of(f);
  uint32_t ready = 0;
  if (reads(f->flags)) {
    if (s->ring.len > 0) ready |= K_POLLIN | K_POLLRDNORM;
    /* A FIFO has no hang-up before the first writer after this open. */
    if (s->writers == 0 && (s->slot == NULL || s->writer_count != f->writers_seen)) ready |= K_POLLHUP;
  }
  if (writes(f->flags)) {
    if (k_ring_room(&s->ring) >= K_PIPE_ATOMIC) ready |= K_POLLOUT | K_POLLWRNORM;
    if (s->readers == 0) ready |= K_POLLERR;
  }
  return ready;
}

static k_waitq *pipe_queue(k_file *f) { return &pipe_of(f)->changed; }

static k_ret pipe_stat(k_file *f, k_stat *out) {
  const pipe_state *s = pipe_of(f);
  *out = (k_stat){
    .ino = s->ino,
    .mode = K_S_IFIFO | 0600,
    .nlink = 1,
    .uid = K_UID,
    .gid = K_GID,
    .dev_minor = 14,
    .atime_ns = s->made_ns,
    .mtime_ns = s->made_ns,
    .ctime_ns = s->made_ns,
    .btime_ns = s->made_ns,
  };
  return 0;
}

K_LOCKED static k_ret pipe_ioctl(k_file *f, uint32_t request, void *arg, size_t len) {
  if (request != K_FIONREAD || len < sizeof(int32_t)) return -K_ENOTTY;
  *(int32_t *)arg = (int32_t)pipe_of(f)->ring.len;
  return 0;
}

K_LOCKED static void pipe_release(k_file *f) { pipe_leave(pipe_of(f), f->flags); }

static const k_file_ops pipe_ops = {
  .read = pipe_read,
  .write = pipe_write,
  .stat = pipe_stat,
  .ioctl = pipe_ioctl,
  .ready = pipe_ready,
  .queue = pipe_queue,
  .release = pipe_release,
};

/* stat(2) is that of the inode. */
static const k_file_ops fifo_ops = {
  .read = pipe_read,
  .write = pipe_write,
  .ioctl = pipe_ioctl,
  .ready = pipe_ready,
  .queue = pipe_queue,
  .release = pipe_release,
};

/* ---- pipe(2) ---- */

k_ret k_pipe_new(k_kernel *k, uint32_t flags, k_file **read_end, k_file **write_end) {
  pipe_state *s = state_new(k);
  if (s == NULL) return -K_ENOMEM;
  flags &= K_O_NONBLOCK;
  k_file *in = NULL, *out = NULL;
  k_ret r = k_file_new(k, &pipe_ops, flags | K_O_RDONLY, NULL, s, &in);
  if (r < 0) {
    state_drop(s);
    return r;
  }
  pipe_enter(s, K_O_RDONLY);
  r = k_file_new(k, &pipe_ops, flags | K_O_WRONLY, NULL, s, &out);
  if (r < 0) {
    k_file_unref(in);
    return r;
  }
  pipe_enter(s, K_O_WRONLY);
  *read_end = in;
  *write_end = out;
  return 0;
}

static bool is_pipe(const k_file *f) { return f->ops == &pipe_ops || f->ops == &fifo_ops; }

k_ret k_pipe_capacity(k_file *f) { return is_pipe(f) ? (k_ret)pipe_of(f)->ring.cap : -K_EBADF; }

k_ret k_pipe_resize(k_file *f, uint64_t cap) {
  if (!is_pipe(f)) return -K_EBADF;
  if (cap > K_PIPE_CAP_MAX) return -K_EPERM;
  size_t rounded = K_PAGE;
  while (rounded < cap) rounded *= 2;
  pipe_state *s = pipe_of(f);
  K_TRY(k_ring_resize(&s->ring, s->kernel, rounded));
  k_wake(&s->changed);
  return (k_ret)rounded;
}

/* ---- looking ---- */

const void *k_pipe_of(const k_file *f) { return f->ops == &pipe_ops ? pipe_of(f) : NULL; }
bool k_pipe_is_same(const k_file *a, const k_file *b) {
  return is_pipe(a) && is_pipe(b) && pipe_of(a) == pipe_of(b);
}
uint32_t k_pipe_ends(const k_file *f) { return pipe_of(f)->readers + pipe_of(f)->writers; }

size_t k_pipe_peek(const k_file *f, void *out, size_t len) {
  const k_ring *ring = &pipe_of(f)->ring;
  return out != NULL ? k_ring_peek(ring, out, len) : ring->len;
}

/* ---- fifo(7) ---- */

/* Sleeps until somebody has opened the other side, even if that one is gone again. */
K_LOCKED static k_ret wait_for_other_side(k_process *p, pipe_state *s, bool reader) {
  const uint32_t *here = reader ? &s->writers : &s->readers;
  const uint32_t *count = reader ? &s->writer_count : &s->reader_count;
  uint32_t before = *count;
  k_waitq *queue = &s->changed;
  while (*here == 0 && *count == before) {
    if (p == NULL) return -K_ENXIO;
    K_TRY(k_sleep(k_sleeper_of(p), &queue, 1, K_FOREVER));
  }
  return 0;
}

K_LOCKED k_ret k_fifo_open(k_process *p, k_inode *inode, k_fifo **slot, uint32_t flags, k_file **out) {
  bool nonblock = (flags & K_O_NONBLOCK) != 0, both = (flags & K_O_ACCMODE) == K_O_RDWR;
  bool reader = (flags & K_O_ACCMODE) == K_O_RDONLY;
  if (nonblock && !reader && !both && (*slot == NULL || (*slot)->readers == 0)) return -K_ENXIO;
  pipe_state *s = *slot;
  if (s == NULL) {
    s = state_new(inode->kernel);
    if (s == NULL) return -K_ENOMEM;
    s->slot = slot;
    *slot = s;
  }
  uint32_t writers_seen = s->writer_count;
  pipe_enter(s, flags);
  k_ret r = both || nonblock ? 0 : wait_for_other_side(p, s, reader);
  if (r >= 0) r = k_file_new(inode->kernel, &fifo_ops, flags, inode, s, out);
  if (r < 0) {
    pipe_leave(s, flags);
    return r;
  }
  k_inode_ref(inode);
  (*out)->writers_seen = writers_seen;
  return 0;
}
