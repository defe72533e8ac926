/* callback.c - a callback as a file: one answer, read as bytes, and two references (callback.h). */
#include "kernel/file/callback.h"

#include "base/alloc.h"

#include <string.h>

k_ret k_callback_new(k_kernel *k, k_callback **out) {
  if (k->callbacks >= K_CALLBACKS_MAX) return -K_EAGAIN;
  k_callback *call = mem_zalloc(sizeof *call);
  if (call == NULL) return -K_ENOMEM;
  call->kernel = k;
  call->refs = 1;
  k_waitq_init(&call->changed);
  k->callbacks++;
  *out = call;
  return 0;
}

void k_callback_unref(k_callback *call) {
  if (--call->refs > 0) return;
  call->kernel->callbacks--;
  mem_free(call->data);
  mem_free(call);
}

void k_callback_answer(k_callback *call, bool refused, uint8_t *data, size_t len) {
  assert(!call->answered);
  call->answered = true;
  call->refused = refused;
  call->data = data;
  call->len = len;
  k_wake(&call->changed);
  k_callback_unref(call);
}

/* ---- the file ---- */

static k_callback *callback_of(const k_file *f) { return f->object; }

/* The position is kept by the description, as of a file that has 1 + len bytes. */
static k_ret callback_read(k_file *f, void *buf, size_t len, int64_t pos) {
  const k_callback *call = callback_of(f);
  uint8_t *to = buf;
  size_t done = 0;
  (void)pos;
  if (!call->answered) return -K_EAGAIN;
  if (len > 0 && f->answer_offset == 0) to[done++] = call->refused;
  size_t from = (size_t)(f->answer_offset > 0 ? f->answer_offset - 1 : 0);
  size_t left = call->len - from, n = left < len - done ? left : len - done;
  if (n != 0) memcpy(to + done, call->data + from, n);
  f->answer_offset += done + n;
  return (k_ret)(done + n);
}

static uint32_t callback_ready(k_file *f) { return callback_of(f)->answered ? K_POLLIN | K_POLLRDNORM : 0; }

static k_waitq *callback_queue(k_file *f) { return &callback_of(f)->changed; }

static k_ret callback_ioctl(k_file *f, uint32_t request, void *arg, size_t len) {
  if (request != K_FIONREAD || len < sizeof(int32_t)) return -K_ENOTTY;
  size_t left = callback_of(f)->answered ? callback_of(f)->len + 1 - (size_t)f->answer_offset : 0;
  int32_t count = left > INT32_MAX ? INT32_MAX : (int32_t)left;
  memcpy(arg, &count, sizeof count);
  return 0;
}

static k_ret callback_stat(k_file *f, k_stat *out) {
  (void)f;
  *out =
      (k_stat){ .ino = 1, .mode = K_S_IFIFO | 0400, .nlink = 1, .uid = K_UID, .gid = K_GID, .dev_minor = 15 };
  return 0;
}

K_LOCKED static void callback_release(k_file *f) {
  callback_of(f)->dropped = true;
  k_callback_unref(callback_of(f));
}

static const k_file_ops callback_ops = {
  .read = callback_read,
  .stat = callback_stat,
  .ioctl = callback_ioctl,
  .ready = callback_ready,
  .queue = callback_queue,
  .release = callback_release,
};

k_ret k_callback_open(k_callback *call, k_file **out) {
  return k_file_new(call->kernel, &callback_ops, K_O_RDONLY, NULL, call, out);
}
