/* iov.c - vectors, and copying from one file to another (readv(2), writev(2), sendfile(2)). */
#include "kernel/file/pipe.h"
#include "kernel/file/transfer.h"
#include "kernel/sock/socket.h"

#include "base/alloc.h"

#include <string.h>

enum { SEND_CHUNK = 64 << 10, MESSAGE_MAX = 1 << 20 /* more than any can have */ };

static k_ret total_len(const k_iov *iov, size_t count, size_t *out) {
  size_t total = 0;
  for (size_t i = 0; i < count; i++) {
    if (iov[i].len > K_TRANSFER_MAX - total) return -K_EINVAL;
    total += iov[i].len;
  }
  *out = total;
  return 0;
}

static void iov_gather(uint8_t *to, const k_iov *iov, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (iov[i].len != 0) memcpy(to, iov[i].data, iov[i].len);
    to += iov[i].len;
  }
}

static void iov_scatter(const k_iov *iov, size_t count, const uint8_t *from, size_t len) {
  for (size_t i = 0; i < count && len > 0; i++) {
    size_t n = iov[i].len < len ? iov[i].len : len;
    if (n != 0) memcpy(iov[i].data, from, n);
    from += n;
    len -= n;
  }
}

/* Messages come and go whole. */
static bool has_messages(const k_file *f) { return k_is_socket(f) && k_socket_type(f) != K_SOCK_STREAM; }

/* A read of these is one thing: a message, a line of a terminal. */
static bool is_read_whole(const k_file *f) { return has_messages(f) || f->ops->read_by != NULL; }

/* ---- reading: only the first part may sleep ---- */

K_LOCKED static k_ret iov_read_whole(k_process *p, k_file *f, const k_iov *iov, size_t count, size_t total) {
  if (total > MESSAGE_MAX) total = MESSAGE_MAX;
  uint8_t *whole = mem_alloc(total);
  if (whole == NULL) return -K_ENOMEM;
  k_ret r = k_file_read(p, f, whole, total);
  if (r > 0) iov_scatter(iov, count, whole, (size_t)r);
  mem_free(whole);
  return r;
}

k_ret k_file_readv(k_process *p, k_file *f, const k_iov *iov, size_t count, int64_t pos) {
  size_t total, done = 0;
  if (pos < -1) return -K_EINVAL;
  K_TRY(total_len(iov, count, &total));
  K_TRY(k_file_may_read(f));
  if (is_read_whole(f)) return iov_read_whole(p, f, iov, count, total);
  for (size_t i = 0; i < count; i++) {
    if (iov[i].len == 0) continue;
    int64_t at = pos < 0 ? -1 : pos + (int64_t)done;
    k_ret r = k_transfer_read(p, f, iov[i].data, iov[i].len, at, done > 0 ? K_TRANSFER_NOW : 0);
    if (r < 0) return done > 0 ? (k_ret)done : r;
    done += (size_t)r;
    if ((size_t)r < iov[i].len || k_socket_is_at_mark(f)) break;
  }
  return (k_ret)done;
}

/* ---- writing: what fits into one atomic write is made one ---- */

K_LOCKED static k_ret iov_write_whole(k_process *p, k_file *f, const k_iov *iov, size_t count, size_t total,
                                      int64_t pos) {
  uint8_t few[K_PIPE_ATOMIC], *whole = few;
  few[0] = 0;
  if (total > sizeof few && (whole = mem_alloc(total)) == NULL) return -K_ENOMEM;
  iov_gather(whole, iov, count);
  k_ret r = k_transfer_write(p, f, whole, total, pos, 0);
  if (whole != few) mem_free(whole);
  return r;
}

k_ret k_file_writev(k_process *p, k_file *f, const k_iov *iov, size_t count, int64_t pos) {
  size_t total, done = 0;
  if (pos < -1) return -K_EINVAL;
  K_TRY(total_len(iov, count, &total));
  K_TRY(k_file_may_write(f));
  if (has_messages(f) && total > MESSAGE_MAX) return -K_EMSGSIZE;
  if (total <= K_PIPE_ATOMIC || has_messages(f)) return iov_write_whole(p, f, iov, count, total, pos);
  for (size_t i = 0; i < count; i++) {
    if (iov[i].len == 0) continue;
    int64_t at = pos < 0 ? -1 : pos + (int64_t)done;
    k_ret r = k_transfer_write(p, f, iov[i].data, iov[i].len, at, 0);
    if (r < 0) return done > 0 ? (k_ret)done : r;
    done += (size_t)r;
    if ((size_t)r < iov[i].len) break;
  }
  return (k_ret)done;
}

/* ---- sendfile ---- */

/* One chunk: the count that arrived at `out`. Bytes read and not written are read again next time. */
K_LOCKED static k_ret iov_send_chunk(k_process *p, k_file *out, k_file *in, int64_t pos, uint8_t *chunk,
                                     size_t len) {
  k_ret n = k_file_pread(p, in, chunk, len, pos);
  return n <= 0 ? n : k_file_write(p, out, chunk, (size_t)n);
}

K_LOCKED static k_ret send_all(k_process *p, k_file *out, k_file *in, int64_t *pos, uint8_t *chunk,
                               size_t len) {
  size_t done = 0;
  while (done < len) {
    size_t want = len - done < SEND_CHUNK ? len - done : SEND_CHUNK;
    k_ret n = iov_send_chunk(p, out, in, *pos, chunk, want);
    if (n < 0) return done > 0 ? (k_ret)done : n;
    if (n == 0) break;
    done += (size_t)n;
    *pos += n;
  }
  return (k_ret)done;
}

k_ret k_sendfile(k_process *p, k_file *out, k_file *in, int64_t *pos, size_t len) {
  K_TRY(k_file_may_read(in));
  K_TRY(k_file_may_write(out));
  if (!k_file_seekable(in)) return pos != NULL ? -K_ESPIPE : -K_EINVAL;
  if ((out->flags & K_O_APPEND) != 0 || (pos != NULL && *pos < 0)) return -K_EINVAL;
  uint8_t *chunk = mem_alloc(SEND_CHUNK);
  if (chunk == NULL) return -K_ENOMEM;
  int64_t at = pos != NULL ? *pos : in->pos;
  k_ret r = send_all(p, out, in, &at, chunk, len < K_TRANSFER_MAX ? len : K_TRANSFER_MAX);
  if (pos != NULL)
    *pos = at;
  else
    in->pos = at;
  mem_free(chunk);
  return r;
}
