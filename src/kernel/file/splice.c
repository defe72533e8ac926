/* splice.c - bytes between a pipe and another file (splice(2), tee(2)). Nothing is saved by it here, where all
 * files are in one memory; programs expect the calls to work. */
#include "kernel/file/splice.h"

#include "kernel/file/pipe.h"
#include "kernel/file/transfer.h"

#include "base/alloc.h"

enum { CHUNK = 64 << 10 };

static bool file_is_pipe(k_file *f) { return k_pipe_capacity(f) >= 0; }

/* Sleeps until the pipe holds something: how much of it was copied, 0 at its end. It stays in the pipe. */
K_LOCKED static k_ret splice_peek(k_process *p, k_file *pipe, void *buf, size_t len, bool now) {
  for (;;) {
    size_t n = k_pipe_peek(pipe, buf, len);
    if (n > 0) return (k_ret)n;
    if ((pipe->ops->ready(pipe) & K_POLLHUP) != 0) return 0;
    if (now || (pipe->flags & K_O_NONBLOCK) != 0) return -K_EAGAIN;
    K_TRY(k_file_sleep(p, pipe, K_FOREVER));
  }
}

K_LOCKED static k_ret splice_write(k_process *p, k_file *out, int64_t *pos, const void *buf, size_t len,
                                   bool now) {
  k_ret r = k_transfer_write(p, out, buf, len, pos != NULL ? *pos : -1, now ? K_TRANSFER_NOW : 0);
  if (r > 0 && pos != NULL) *pos += r;
  return r;
}

/* Taken out of the pipe is what the other file took. */
K_LOCKED static k_ret splice_from_pipe(const k_splice *s, uint8_t *buf, size_t len) {
  k_ret n = splice_peek(s->p, s->in, buf, len, s->now);
  if (n <= 0) return n;
  k_ret r = splice_write(s->p, s->out, s->out_pos, buf, (size_t)n, s->now);
  if (r > 0) (void)!k_transfer_read(s->p, s->in, buf, (size_t)r, -1, K_TRANSFER_NOW);
  return r;
}

/* The position goes on by what the pipe took. */
K_LOCKED static k_ret splice_to_pipe(const k_splice *s, uint8_t *buf, size_t len) {
  bool seekable = k_file_seekable(s->in);
  int64_t *pos = s->in_pos != NULL ? s->in_pos : &s->in->pos;
  k_ret n = k_transfer_read(s->p, s->in, buf, len, seekable ? *pos : -1, s->now ? K_TRANSFER_NOW : 0);
  if (n <= 0) return n;
  k_ret r = splice_write(s->p, s->out, NULL, buf, (size_t)n, s->now);
  if (r > 0 && seekable) *pos += r;
  return r;
}

static k_ret splice_check(const k_splice *s) {
  bool from = file_is_pipe(s->in), to = file_is_pipe(s->out);
  if ((from && s->in_pos != NULL) || (to && s->out_pos != NULL)) return -K_ESPIPE;
  if ((s->in->flags & K_O_PATH) != 0 || (s->in->flags & K_O_ACCMODE) == K_O_WRONLY) return -K_EBADF;
  K_TRY(k_file_may_write(s->out));
  if (!from && !to) return -K_EINVAL;
  if (from && to) return k_pipe_is_same(s->in, s->out) ? -K_EINVAL : 0;
  if (from && (s->out->flags & K_O_APPEND) != 0) return -K_EINVAL;
  if (s->in->ops->read == NULL || (s->in_pos != NULL && !k_file_seekable(s->in))) return -K_EINVAL;
  return s->out_pos != NULL && !k_file_seekable(s->out) ? -K_EINVAL : 0;
}

K_LOCKED static k_ret splice_with_buffer(const k_splice *s, size_t len,
                                         k_ret (*move)(const k_splice *s, uint8_t *buf, size_t len)) {
  if (len > CHUNK) len = CHUNK;
  uint8_t *buf = mem_alloc(len);
  if (buf == NULL) return -K_ENOMEM;
  k_ret r = move(s, buf, len);
  mem_free(buf);
  return r;
}

K_LOCKED k_ret k_splice_some(const k_splice *s, size_t len) {
  K_TRY(splice_check(s));
  if ((s->in_pos != NULL && *s->in_pos < 0) || (s->out_pos != NULL && *s->out_pos < 0)) return -K_EINVAL;
  return splice_with_buffer(s, len, file_is_pipe(s->in) ? splice_from_pipe : splice_to_pipe);
}

K_LOCKED static k_ret splice_copy_pipe(const k_splice *s, uint8_t *buf, size_t len) {
  k_ret n = splice_peek(s->p, s->in, buf, len, s->now);
  return n <= 0 ? n : splice_write(s->p, s->out, NULL, buf, (size_t)n, s->now);
}

K_LOCKED k_ret k_tee_some(const k_splice *s, size_t len) {
  if ((s->in->flags & K_O_ACCMODE) == K_O_WRONLY || (s->out->flags & K_O_ACCMODE) == K_O_RDONLY)
    return -K_EBADF;
  if (!file_is_pipe(s->in) || !file_is_pipe(s->out) || k_pipe_is_same(s->in, s->out)) return -K_EINVAL;
  return splice_with_buffer(s, len, splice_copy_pipe);
}
