/* input.c - the file operations of standard input given as bytes, and its place as descriptor 0 (input.h). */
#include "sandbox/input.h"

#include "base/alloc.h"

#include <string.h>

struct input {
  size_t len;
  uint8_t data[];
};

static k_ret input_read(k_file *f, void *buf, size_t len, int64_t pos) {
  const struct input *in = f->object;
  if ((uint64_t)pos >= in->len) return 0;
  size_t left = in->len - (size_t)pos, n = len < left ? len : left;
  memcpy(buf, in->data + pos, n);
  return (k_ret)n;
}

static k_ret input_size(k_file *f) { return (k_ret)((struct input *)f->object)->len; }

static k_ret input_stat(k_file *f, k_stat *out) {
  const struct input *in = f->object;
  *out = (k_stat){
    .ino = 1,
    .size = in->len,
    .blocks = (in->len + 511) / 512,
    .mode = K_S_IFREG | 0400,
    .nlink = 1,
    .uid = K_UID,
    .gid = K_GID,
  };
  return 0;
}

static void input_release(k_file *f) { mem_free(f->object); }

static const k_file_ops input_ops = {
  .read = input_read, .size = input_size, .stat = input_stat, .release = input_release
};

static K_LOCKED k_ret input_open(k_kernel *k, cay_slice bytes, k_file **out) {
  struct input *in = mem_alloc(sizeof *in + bytes.len);
  if (in == NULL) return -K_ENOMEM;
  in->len = bytes.len;
  if (bytes.len != 0) memcpy(in->data, bytes.data, bytes.len);
  k_ret r = k_file_new(k, &input_ops, K_O_RDONLY, NULL, in, out);
  if (r < 0) mem_free(in);
  return r;
}

k_ret sb_input_put(k_process *p, cay_slice bytes) {
  k_file *f = NULL;
  K_TRY(input_open(p->kernel, bytes, &f));
  k_ret r = k_fd_put(&p->fds, f, 0, false);
  if (r < 0) k_file_unref(f);
  return r;
}
