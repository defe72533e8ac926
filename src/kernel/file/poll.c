/* poll.c - a wait for many descriptors: one look at all, then a sleep on all of their wait queues
 * (poll.h). */
#include "kernel/file/poll.h"

#include "base/alloc.h"
#include "kernel/proc/inner.h"

enum { FEW = 16, ALWAYS = K_POLLERR | K_POLLHUP | K_POLLNVAL };

static uint32_t poll_ready_of(k_file *f) {
  if ((f->flags & K_O_PATH) != 0) return K_POLLNVAL;
  if (f->ops->ready == NULL) return K_POLLIN | K_POLLOUT | K_POLLRDNORM | K_POLLWRNORM;
  return f->ops->ready(f);
}

static size_t poll_look(const k_process *p, k_pollfd *fds, size_t count) {
  size_t found = 0;
  for (size_t i = 0; i < count; i++) {
    fds[i].revents = 0;
    if (fds[i].fd < 0) continue;
    k_file *f;
    uint32_t ready = k_fd_get(&p->fds, fds[i].fd, &f) < 0 ? K_POLLNVAL : poll_ready_of(f);
    fds[i].revents = (uint16_t)(ready & (fds[i].events | (uint32_t)ALWAYS));
    if (fds[i].revents != 0) found++;
  }
  return found;
}

static size_t queues_of(const k_process *p, const k_pollfd *fds, size_t count, k_waitq **queues) {
  size_t n = 0;
  for (size_t i = 0; i < count; i++) {
    k_file *f;
    if (fds[i].fd < 0 || k_fd_get(&p->fds, fds[i].fd, &f) < 0 || f->ops->queue == NULL) continue;
    queues[n++] = f->ops->queue(f);
  }
  return n;
}

/* Another thread may close a descriptor while this one sleeps on its queue. */
K_LOCKED static k_ret sleep_on(k_process *p, const k_pollfd *fds, size_t count, int64_t deadline_ns,
                               k_waitq **queues) {
  size_t queue_count = queues_of(p, fds, count, queues), held = 0;
  k_file **files = p->thread_count > 1 ? mem_zalloc_array(count + 1, sizeof *files) : NULL, *f;
  if (p->thread_count > 1 && files == NULL) return -K_ENOMEM;
  for (size_t i = 0; files != NULL && i < count; i++)
    if (fds[i].fd >= 0 && k_fd_get(&p->fds, fds[i].fd, &f) >= 0) files[held++] = k_file_ref(f);
  k_ret r = k_sleep(k_sleeper_of(p), queues, queue_count, deadline_ns);
  while (held > 0) k_file_unref(files[--held]);
  mem_free(files);
  return r;
}

K_LOCKED static k_ret wait_for_any(k_process *p, k_pollfd *fds, size_t count, int64_t deadline_ns,
                                   k_waitq **queues) {
  for (;;) {
    size_t found = poll_look(p, fds, count);
    if (found > 0) return (k_ret)found;
    if (deadline_ns <= 0) return 0;
    k_ret r = sleep_on(p, fds, count, deadline_ns, queues);
    if (r == -K_ETIMEDOUT) return 0;
    if (r < 0) return k_never_restart(r);
  }
}

K_LOCKED k_ret k_poll(k_process *p, k_pollfd *fds, size_t count, int64_t deadline_ns, const k_sigset *mask) {
  k_waitq *few[FEW], **queues = few;
  if (count > K_SLEEP_MAX_QUEUES) return -K_EINVAL;
  if (count > FEW && (queues = mem_zalloc_array(count, sizeof *queues)) == NULL) return -K_ENOMEM;
  k_signal_mask_for_call(p, mask);
  k_ret r = wait_for_any(p, fds, count, deadline_ns, queues);
  if (queues != few) mem_free(queues);
  return k_signal_mask_after_call(p, mask, r);
}
