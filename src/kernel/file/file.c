/* file.c - open file descriptions: permission to read and write, the position, transfers in pieces,
 * seeking (file.h). */
#include "kernel/file/file.h"

#include "base/alloc.h"
#include "kernel/file/epoll.h"
#include "kernel/file/fcntl.h"
#include "kernel/file/transfer.h"
#include "kernel/notify/notify.h"

#include <string.h>

enum { FILE_COST = sizeof(k_file) + K_FILE_OBJECT };

k_ret k_file_new(k_kernel *k, const k_file_ops *ops, uint32_t flags, k_inode *inode, void *object,
                 k_file **out) {
  K_TRY(k_memory_charge(k, FILE_COST));
  k_file *f = mem_alloc(sizeof *f);
  if (f == NULL) {
    k_memory_uncharge(k, FILE_COST);
    return -K_ENOMEM;
  }
  *f = (k_file){
    .ops = ops,
    .kernel = k,
    .refs = 1,
    .flags = flags & ~(uint32_t)(K_O_CREAT | K_O_EXCL | K_O_TRUNC | K_O_CLOEXEC | K_O_NOCTTY),
    .inode = inode,
    .object = object,
    .serial = ++k->files_opened,
  };
  list_init(&f->interests);
  *out = f;
  return 0;
}

void k_file_unref(k_file *f) {
  if (f == NULL || --f->refs > 0) return;
  k_locks_drop_file(f);
  k_epoll_forget(f);
  if (f->inode != NULL && (f->flags & K_O_PATH) == 0)
    k_notify(f->inode, (f->flags & K_O_ACCMODE) == K_O_RDONLY ? K_IN_CLOSE_NOWRITE : K_IN_CLOSE_WRITE);
  if (f->ops->release != NULL) f->ops->release(f);
  k_memory_uncharge(f->kernel, FILE_COST);
  k_inode_unref(f->inode);
  mem_free(f);
}

/* ---- what may be done with it at all ---- */

bool k_file_seekable(const k_file *f) { return f->ops->size != NULL; }

k_ret k_file_may_read(const k_file *f) {
  if ((f->flags & K_O_PATH) != 0 || (f->flags & K_O_ACCMODE) == K_O_WRONLY) return -K_EBADF;
  if (f->ops->read != NULL) return 0;
  return f->inode != NULL && k_is_dir(f->inode) ? -K_EISDIR : -K_EINVAL;
}

k_ret k_file_may_write(const k_file *f) {
  if ((f->flags & K_O_PATH) != 0 || (f->flags & K_O_ACCMODE) == K_O_RDONLY) return -K_EBADF;
  return f->ops->write != NULL ? 0 : -K_EINVAL;
}

/* RLIMIT_FSIZE: how much of `len` may be written at `pos`. */
K_LOCKED static k_ret within_size_limit(k_process *p, const k_file *f, size_t len, int64_t pos) {
  if (p == NULL || f->inode == NULL || !k_is_reg(f->inode)) return (k_ret)len;
  uint64_t limit = p->rlimits[K_RLIMIT_FSIZE].soft;
  if (limit == K_RLIM_INFINITY || len == 0) return (k_ret)len;
  if ((uint64_t)pos >= limit) {
    k_signal_send(p, &(k_siginfo){ .signo = K_SIGXFSZ, .code = K_SI_KERNEL });
    return -K_EFBIG;
  }
  uint64_t room = limit - (uint64_t)pos;
  return (k_ret)(len < room ? len : room);
}

/* ---- the position ----
 *
 * An operation that asks the host releases kernel.mu, and two processes may share the description: the second
 * waits, or both would use the same position. */

K_LOCKED static k_ret take_position(k_process *p, k_file *f) {
  k_waitq *queue = &f->kernel->positions;
  while (f->busy && p != NULL) K_TRY(k_sleep(k_sleeper_of(p), &queue, 1, K_FOREVER));
  f->busy = true;
  return 0;
}

K_LOCKED static void give_position(k_file *f) {
  f->busy = false;
  k_wake(&f->kernel->positions);
}

/* ---- one try, and sleeping between tries ---- */

static bool may_sleep(const k_process *p, const k_file *f, uint32_t how) {
  return p != NULL && (f->flags & K_O_NONBLOCK) == 0 && (how & K_TRANSFER_NOW) == 0 && f->ops->queue != NULL;
}

int64_t k_file_deadline(k_file *f, bool writing) {
  int64_t timeout = f->ops->timeout_ns != NULL ? f->ops->timeout_ns(f, writing) : 0, now;
  if (timeout == 0) return K_FOREVER;
  now = clock_mono_ns();
  return timeout < K_FOREVER - now ? now + timeout : K_FOREVER;
}

K_LOCKED k_ret k_file_sleep(k_process *p, k_file *f, int64_t deadline_ns) {
  k_waitq *queue = f->ops->queue(f);
  k_ret r = k_sleep(k_sleeper_of(p), &queue, 1, deadline_ns);
  if (r == -K_ETIMEDOUT) return -K_EAGAIN;
  return deadline_ns == K_FOREVER ? r : k_never_restart(r); /* signal(7): with a timeout never again */
}

K_LOCKED static k_ret read_stream(k_process *p, k_file *f, void *buf, size_t len, uint32_t how) {
  int64_t deadline = 0;
  if (f->ops->read_by != NULL) return f->ops->read_by(p, f, buf, len, !may_sleep(p, f, how));
  if (f->ops->queue == NULL) return k_file_read_pieces(p, f, buf, len, 0);
  for (;;) {
    k_ret r = f->ops->read(f, buf, len, 0);
    if (r != -K_EAGAIN || !may_sleep(p, f, how)) return r;
    if (deadline == 0) deadline = k_file_deadline(f, false);
    K_TRY(k_file_sleep(p, f, deadline));
  }
}

/* All of it, sleeping as long as it takes; bytes moved before a failure count. */
K_LOCKED static k_ret write_stream(k_process *p, k_file *f, const void *buf, size_t len, uint32_t how) {
  size_t done = 0;
  int64_t deadline = 0;
  k_ret r;
  if (f->ops->admit_writer != NULL && p != NULL) K_TRY(f->ops->admit_writer(p, f));
  for (;;) {
    r = f->ops->write(f, (const char *)buf + done, len - done, 0);
    if (r > 0) done += (size_t)r;
    bool again = r == -K_EAGAIN && may_sleep(p, f, how);
    if (again && deadline == 0) deadline = k_file_deadline(f, true);
    if (again) r = k_file_sleep(p, f, deadline);
    if (r < 0 || (!again && (r == 0 || done >= len))) break;
  }
  if (r == -K_EPIPE && p != NULL && (how & K_TRANSFER_NO_SIGNAL) == 0)
    k_signal_send(p, &(k_siginfo){ .signo = K_SIGPIPE, .code = K_SI_USER, .pid = p->pid });
  return done > 0 ? (k_ret)done : r;
}

/* ---- pieces: others have kernel.mu in between ----
 *
 * A piece that was short ends the call, and so does the end of the process: moved bytes count. */

enum { PIECE = K_WORK_MAX, OVERHEAD = 64 /* of one operation, in units of k_work */ };

static size_t piece_of(const k_file *f, size_t left) {
  return left < PIECE || f->ops->lets_go ? left : PIECE;
}

/* Adds what one piece moved. True: it was the last one. */
K_LOCKED static bool piece_done(k_process *p, const k_file *f, size_t want, k_ret moved, size_t *done) {
  if (moved > 0) *done += (size_t)moved;
  bool ending = k_work(f->kernel, p, f->ops->lets_go ? 0 : want + OVERHEAD);
  return ending || moved < (k_ret)want;
}

k_ret k_file_read_pieces(k_process *p, k_file *f, void *buf, size_t len, int64_t pos) {
  size_t done = 0, want;
  k_ret r;
  if (__builtin_add_overflow(pos, len, &(int64_t){ 0 })) return -K_EINVAL;
  do {
    want = piece_of(f, len - done);
    r = f->ops->read(f, (char *)buf + done, want, pos + (int64_t)done);
  } while (!piece_done(p, f, want, r, &done) && done < len);
  return done > 0 ? (k_ret)done : r;
}

K_LOCKED static k_ret write_pieces(k_process *p, k_file *f, const void *buf, size_t len, int64_t pos) {
  size_t done = 0, want;
  k_ret r;
  do {
    want = piece_of(f, len - done);
    r = f->ops->write(f, (const char *)buf + done, want, pos + (int64_t)done);
  } while (!piece_done(p, f, want, r, &done) && done < len);
  return done > 0 ? (k_ret)done : r;
}

K_LOCKED static k_ret write_at_once(k_process *p, k_file *f, const void *buf, size_t len, int64_t pos) {
  if ((f->flags & K_O_APPEND) != 0) {
    pos = f->ops->size(f);
    if (pos < 0) return pos;
  }
  k_ret allowed = within_size_limit(p, f, len, pos);
  if (allowed < 0) return allowed;
  if (__builtin_add_overflow(pos, allowed, &(int64_t){ 0 })) return -K_EFBIG;
  return write_pieces(p, f, buf, (size_t)allowed, pos);
}

/* The pieces of two calls do not mix, and appended bytes stay together. */
K_LOCKED static k_ret write_at(k_process *p, k_file *f, const void *buf, size_t len, int64_t pos) {
  if (f->inode == NULL || f->ops->lets_go) return write_at_once(p, f, buf, len, pos);
  k_inode_write_begin(f->inode);
  k_ret r = write_at_once(p, f, buf, len, pos);
  k_inode_write_end(f->inode);
  return r;
}

/* ---- the calls ---- */

K_LOCKED static k_ret read_moving(k_process *p, k_file *f, void *buf, size_t len) {
  K_TRY(take_position(p, f));
  k_ret r = k_file_read_pieces(p, f, buf, len, f->pos);
  if (r > 0) f->pos += r;
  give_position(f);
  return r;
}

K_LOCKED static k_ret write_moving(k_process *p, k_file *f, const void *buf, size_t len) {
  K_TRY(take_position(p, f));
  k_ret r = write_at(p, f, buf, len, f->pos);
  if (r > 0) f->pos += r;
  if (r > 0 && (f->flags & K_O_APPEND) != 0) {
    k_ret end = f->ops->size(f);
    if (end >= 0) f->pos = end;
  }
  give_position(f);
  return r;
}

static size_t cut(size_t len) { return len < K_TRANSFER_MAX ? len : K_TRANSFER_MAX; }

K_LOCKED static k_ret read_any(k_process *p, k_file *f, void *buf, size_t len, int64_t pos, uint32_t how) {
  if (pos >= 0) return k_file_seekable(f) ? k_file_read_pieces(p, f, buf, cut(len), pos) : -K_ESPIPE;
  if (k_file_seekable(f)) return read_moving(p, f, buf, cut(len));
  return read_stream(p, f, buf, cut(len), how);
}

K_LOCKED static k_ret write_any(k_process *p, k_file *f, const void *buf, size_t len, int64_t pos,
                                uint32_t how) {
  if (pos >= 0) return k_file_seekable(f) ? write_at(p, f, buf, cut(len), pos) : -K_ESPIPE;
  if (k_file_seekable(f)) return write_moving(p, f, buf, cut(len));
  return write_stream(p, f, buf, cut(len), how);
}

/* Bytes that pass through a FIFO are not told of (Linux 6.18). */
void k_file_used(k_file *f, uint32_t event) {
  if (f->inode != NULL && (f->inode->mode & K_S_IFMT) != K_S_IFIFO) k_notify(f->inode, event);
}

k_ret k_transfer_read(k_process *p, k_file *f, void *buf, size_t len, int64_t pos, uint32_t how) {
  K_TRY(k_file_may_read(f));
  k_ret r = read_any(p, f, buf, len, pos, how);
  if (r > 0) k_file_used(f, K_IN_ACCESS);
  return r;
}

k_ret k_transfer_write(k_process *p, k_file *f, const void *buf, size_t len, int64_t pos, uint32_t how) {
  K_TRY(k_file_may_write(f));
  k_ret r = write_any(p, f, buf, len, pos, how);
  if (r > 0) k_file_used(f, K_IN_MODIFY);
  return r;
}

k_ret k_file_read(k_process *p, k_file *f, void *buf, size_t len) {
  return k_transfer_read(p, f, buf, len, -1, 0);
}

k_ret k_file_write(k_process *p, k_file *f, const void *buf, size_t len) {
  return k_transfer_write(p, f, buf, len, -1, 0);
}

k_ret k_file_pread(k_process *p, k_file *f, void *buf, size_t len, int64_t pos) {
  return pos < 0 ? -K_EINVAL : k_transfer_read(p, f, buf, len, pos, 0);
}

k_ret k_file_pwrite(k_process *p, k_file *f, const void *buf, size_t len, int64_t pos) {
  return pos < 0 ? -K_EINVAL : k_transfer_write(p, f, buf, len, pos, 0);
}

/* ---- seeking and status ---- */

static k_ret seek_hole(k_file *f, int64_t offset, bool hole) {
  if (f->ops->seek_data != NULL) return f->ops->seek_data(f, offset, hole);
  k_ret size = f->ops->size(f);
  if (size < 0) return size;
  if (offset < 0 || offset >= size) return -K_ENXIO;
  return hole ? size : offset;
}

K_LOCKED static k_ret seek_target(k_file *f, int64_t offset, int whence) {
  int64_t base;
  switch (whence) {
  case K_SEEK_SET: return offset;
  case K_SEEK_CUR: base = f->pos; break;
  case K_SEEK_END:
    if (f->ops->size == NULL) return -K_EINVAL;
    base = f->ops->size(f);
    if (base < 0) return base;
    break;
  case K_SEEK_DATA:
  case K_SEEK_HOLE: return f->ops->size == NULL ? -K_EINVAL : seek_hole(f, offset, whence == K_SEEK_HOLE);
  default: return -K_EINVAL;
  }
  if (__builtin_add_overflow(base, offset, &offset)) return -K_EOVERFLOW;
  return offset < 0 ? -K_EINVAL : offset;
}

k_ret k_file_seek(k_file *f, int64_t offset, int whence) {
  if ((f->flags & K_O_PATH) != 0) return -K_EBADF;
  if (!k_file_seekable(f) && f->ops->readdir == NULL) return -K_ESPIPE;
  if (f->inode != NULL && (f->inode->mode & K_S_IFMT) == K_S_IFCHR) return 0; /* as /dev/null of Linux */
  if (whence == K_SEEK_SET && offset < 0) return -K_EINVAL;
  k_ret target = seek_target(f, offset, whence);
  if (target >= 0) f->pos = target;
  return target;
}

k_ret k_file_stat(k_file *f, k_stat *out) {
  if (f->ops->stat != NULL) return f->ops->stat(f, out);
  if (f->inode != NULL) return f->inode->ops->stat(f->inode, out);
  *out = (k_stat){ .mode = 0600, .nlink = 1, .uid = K_UID, .gid = K_GID };
  return 0;
}
