/* proc_open.c - the texts of /proc, made when a file is opened, and charged until it is closed. */
#include "base/alloc.h"
#include "kernel/fs/proc/proc_fd.h"
#include "kernel/fs/proc/proc_node.h"

#include <string.h>

static k_ret text_read(k_file *f, void *buf_, size_t len, int64_t pos) {
  const buf *text = f->object;
  if ((uint64_t)pos >= text->len) return 0;
  size_t n = text->len - (size_t)pos < len ? text->len - (size_t)pos : len;
  memcpy(buf_, text->data + pos, n);
  return (k_ret)n;
}

static k_ret text_size(k_file *f) { return (k_ret)((const buf *)f->object)->len; }

K_LOCKED static void text_release(k_file *f) {
  k_memory_uncharge(f->kernel, ((const buf *)f->object)->cap);
  buf_free(f->object);
  mem_free(f->object);
}

static const k_file_ops text_ops = { .read = text_read, .size = text_size, .release = text_release };

K_LOCKED static k_ret text_fill(const proc_node *n, k_process *p, buf *text) {
  switch (n->row->kind) {
  case TEXT: return n->row->text(n->base.kernel, p, text);
  case TEXT_THREAD: return n->row->thread(proc_thread_in(p, n->tid), text);
  default: return proc_fdinfo(p, n->fd, text);
  }
}

k_ret proc_text_open(proc_node *n, uint32_t flags, k_file **out) {
  if ((flags & K_O_ACCMODE) != K_O_RDONLY) return -K_EACCES;
  k_process *p = proc_process_of(n);
  if (n->pid != 0 && p == NULL) return -K_ESRCH;
  buf *text = mem_alloc(sizeof *text);
  if (text == NULL) return -K_ENOMEM;
  *text = BUF_INIT(4 << 20);
  k_ret r = text_fill(n, p, text);
  if (r >= 0) r = k_memory_charge(n->base.kernel, text->cap); /* environ can be long, and open many times */
  if (r >= 0) {
    k_inode_ref(&n->base);
    r = k_file_new(n->base.kernel, &text_ops, flags, &n->base, text, out);
    if (r < 0) k_inode_unref(&n->base);
    if (r < 0) k_memory_uncharge(n->base.kernel, text->cap);
  }
  if (r < 0) {
    buf_free(text);
    mem_free(text);
  }
  return r;
}
