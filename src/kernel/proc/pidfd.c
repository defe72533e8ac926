/* pidfd.c - files that name a process: their readiness, the process behind one, and detaching at its end
 * (pidfd.h). */
#include "kernel/proc/pidfd.h"

#include "base/alloc.h"
#include "kernel/proc/inner.h"

typedef struct pidfd {
  list in_process;
  k_process *process; /* NULL: gone */
} pidfd;

static pidfd *pidfd_of(const k_file *f) { return f->object; }

/* Every end of a process wakes all who watch one: they look again. */
static k_waitq *pidfd_queue(k_file *f) { return &f->kernel->exits; }

K_LOCKED static uint32_t pidfd_ready(k_file *f) {
  const k_process *p = pidfd_of(f)->process;
  if (p == NULL) return K_POLLIN | K_POLLRDNORM | K_POLLHUP;
  return p->zombie ? K_POLLIN | K_POLLRDNORM : 0;
}

static void pidfd_release(k_file *f) {
  list_remove(&pidfd_of(f)->in_process);
  mem_free(pidfd_of(f));
}

static const k_file_ops pidfd_ops = {
  .name = "anon_inode:[pidfd]",
  .ready = pidfd_ready,
  .queue = pidfd_queue,
  .release = pidfd_release,
};

k_ret k_pidfd(k_process *p, uint32_t flags, k_file **out) {
  pidfd *d = mem_zalloc(sizeof *d);
  if (d == NULL) return -K_ENOMEM;
  k_ret r = k_file_new(p->kernel, &pidfd_ops, (flags & K_O_NONBLOCK) | K_O_RDWR, NULL, d, out);
  if (r < 0) {
    mem_free(d);
    return r;
  }
  d->process = p;
  list_push(&p->pidfds, &d->in_process);
  return 0;
}

k_ret k_pidfd_process(const k_file *f, k_process **out) {
  if (f->ops != &pidfd_ops) return -K_EBADF;
  *out = pidfd_of(f)->process;
  return 0;
}

k_ret k_pidfd_file(const k_process *self, const k_file *f, int32_t fd, k_file **out) {
  k_process *p = NULL;
  k_file *found = NULL;
  K_TRY(k_pidfd_process(f, &p));
  if (p == NULL || p->dying || p->zombie) return -K_ESRCH;
  if (p == p->kernel->init || (self->view.uid != 0 && self->view.uid != p->view.uid)) return -K_EPERM;
  K_TRY(k_fd_get(&p->fds, fd, &found));
  *out = k_file_ref(found);
  return 0;
}

void k_pidfds_detach(k_process *p) {
  LIST_EACH_SAFE (d, &p->pidfds, pidfd, in_process) {
    d->process = NULL;
    list_remove(&d->in_process);
  }
}
