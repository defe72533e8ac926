/* proc_fd.c - the inode behind /proc/self/fd/N for a file outside the tree, and the text of fdinfo/N
 * (proc_fd.h). */
#include "kernel/fs/proc/proc_fd.h"

#include "base/alloc.h"
#include "kernel/file/eventfd.h"
#include "kernel/proc/pidfd.h"

#include <inttypes.h>

typedef struct fd_node {
  k_inode base;
  k_file *file; /* a reference */
} fd_node;

static k_ret fd_stat(k_inode *i, k_stat *out) {
  return k_file_stat(CONTAINER_OF(i, fd_node, base)->file, out);
}

K_LOCKED static k_ret fd_open(k_inode *i, uint32_t flags, k_file **out) {
  k_file *f = CONTAINER_OF(i, fd_node, base)->file;
  uint32_t wanted = flags & K_O_ACCMODE, has = f->flags & K_O_ACCMODE;
  if (has != K_O_RDWR && wanted != has) return -K_EACCES;
  *out = k_file_ref(f);
  return 0;
}

K_LOCKED static void fd_release(k_inode *i) {
  fd_node *n = CONTAINER_OF(i, fd_node, base);
  k_file *f = n->file;
  mem_free(n);
  k_file_unref(f);
}

static const k_inode_ops fd_inode_ops = { .stat = fd_stat, .open = fd_open, .release = fd_release };

k_ret proc_fd_inode(k_file *f, void *fs, k_inode **out) {
  k_stat st;
  K_TRY(k_file_stat(f, &st));
  fd_node *n = mem_zalloc(sizeof *n);
  if (n == NULL) return -K_ENOMEM;
  uint32_t type = (st.mode & K_S_IFMT) != 0 ? st.mode & K_S_IFMT : K_S_IFCHR;
  n->base = (k_inode){ .ops = &fd_inode_ops, .kernel = f->kernel, .fs = fs, .refs = 1, .mode = type | 0666 };
  n->file = k_file_ref(f);
  *out = &n->base;
  return 0;
}

k_ret proc_fdinfo(const k_process *p, int32_t fd, buf *out) {
  k_file *f;
  if (k_fd_get(&p->fds, fd, &f) < 0) return -K_ENOENT;
  uint32_t flags = f->flags | (p->fds.slots[fd].cloexec ? K_O_CLOEXEC : 0);
  cay_status s = buf_appendf(out, "pos:\t%" PRId64 "\nflags:\t0%o\nmnt_id:\t0\n", f->pos, flags);
  uint64_t count;
  bool semaphore;
  if (s == CAY_OK && k_eventfd_look(f, &count, &semaphore))
    s = buf_appendf(out, "eventfd-count: %16" PRIx64 "\neventfd-semaphore: %d\n", count, semaphore);
  k_process *named = NULL;
  if (s == CAY_OK && k_pidfd_process(f, &named) == 0) {
    int32_t pid = named != NULL ? named->pid : -1;
    s = buf_appendf(out, "Pid:\t%d\nNSpid:\t%d\n", pid, pid);
  }
  return s == CAY_OK ? 0 : -K_ENOMEM;
}
