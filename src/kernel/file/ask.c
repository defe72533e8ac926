#include "kernel/file/ask.h"

#include "base/alloc.h"

#include <string.h>

k_ret k_ask_new(k_kernel *k, k_ask **out) {
  if (k->asks >= K_ASKS_MAX) return -K_EAGAIN;
  k_ask *ask = mem_zalloc(sizeof *ask);
  if (ask == NULL) return -K_ENOMEM;
  ask->kernel = k;
  ask->refs = 1;
  k_waitq_init(&ask->changed);
  k->asks++;
  *out = ask;
  return 0;
}

void k_ask_unref(k_ask *ask) {
  if (--ask->refs > 0) return;
  ask->kernel->asks--;
  mem_free(ask->data);
  mem_free(ask);
}

void k_ask_answer(k_ask *ask, bool refused, uint8_t *data, size_t len) {
  assert(!ask->answered);
  ask->answered = true;
  ask->refused = refused;
  ask->data = data;
  ask->len = len;
  k_wake(&ask->changed);
  k_ask_unref(ask);
}

/* ---- the file ---- */

static k_ask *ask_of(const k_file *f) { return f->object; }

/* The position is kept by the description, as of a file that has 1 + len bytes. */
static k_ret ask_read(k_file *f, void *buf, size_t len, int64_t pos) {
  const k_ask *ask = ask_of(f);
  uint8_t *to = buf;
  size_t done = 0;
  (void)pos;
  if (!ask->answered) return -K_EAGAIN;
  if (len > 0 && f->answer_offset == 0) to[done++] = ask->refused;
  size_t from = (size_t)(f->answer_offset > 0 ? f->answer_offset - 1 : 0);
  size_t left = ask->len - from, n = left < len - done ? left : len - done;
  if (n != 0) memcpy(to + done, ask->data + from, n);
  f->answer_offset += done + n;
  return (k_ret)(done + n);
}

static uint32_t ask_ready(k_file *f) { return ask_of(f)->answered ? K_POLLIN | K_POLLRDNORM : 0; }

static k_waitq *ask_queue(k_file *f) { return &ask_of(f)->changed; }

static k_ret ask_ioctl(k_file *f, uint32_t request, void *arg, size_t len) {
  if (request != K_FIONREAD || len < sizeof(int32_t)) return -K_ENOTTY;
  size_t left = ask_of(f)->answered ? ask_of(f)->len + 1 - (size_t)f->answer_offset : 0;
  int32_t count = left > INT32_MAX ? INT32_MAX : (int32_t)left;
  memcpy(arg, &count, sizeof count);
  return 0;
}

static k_ret ask_stat(k_file *f, k_stat *out) {
  (void)f;
  *out =
      (k_stat){ .ino = 1, .mode = K_S_IFIFO | 0400, .nlink = 1, .uid = K_UID, .gid = K_GID, .dev_minor = 15 };
  return 0;
}

static void ask_release(k_file *f) {
  ask_of(f)->dropped = true;
  k_ask_unref(ask_of(f));
}

static const k_file_ops ask_ops = {
  .read = ask_read,
  .stat = ask_stat,
  .ioctl = ask_ioctl,
  .ready = ask_ready,
  .queue = ask_queue,
  .release = ask_release,
};

k_ret k_ask_open(k_ask *ask, k_file **out) {
  return k_file_new(ask->kernel, &ask_ops, K_O_RDONLY, NULL, ask, out);
}
