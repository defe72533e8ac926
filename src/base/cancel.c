/* cancel.c - the flag of a cancellation, its eventfd, and its list of watches (cancel.h). */
#include "base/cancel.h"

#include <sys/eventfd.h>
#include <unistd.h>

void cancel_init(cancel *c) {
  pthread_mutex_init(&c->mu, NULL);
  list_init(&c->watches);
  c->fd = -1;
  atomic_init(&c->raised, false);
}

void cancel_end(cancel *c) {
  if (c == NULL) return;
  if (c->fd >= 0) (void)close(c->fd);
  pthread_mutex_destroy(&c->mu);
}

void cancel_raise(cancel *c) {
  if (c == NULL) return;
  pthread_mutex_lock(&c->mu);
  if (!atomic_exchange(&c->raised, true)) {
    if (c->fd >= 0) (void)eventfd_write(c->fd, 1);
    LIST_EACH (watch, &c->watches, cancel_watch, in_cancel) {
      watch->fn(watch->ctx);
    }
  }
  pthread_mutex_unlock(&c->mu);
}

bool cancel_raised(cancel *c) { return c != NULL && atomic_load(&c->raised); }

int cancel_fd(cancel *c) {
  if (c == NULL) return -1;
  pthread_mutex_lock(&c->mu);
  if (c->fd < 0) c->fd = eventfd(atomic_load(&c->raised) ? 1 : 0, EFD_CLOEXEC | EFD_NONBLOCK);
  int fd = c->fd;
  pthread_mutex_unlock(&c->mu);
  return fd;
}

void cancel_add(cancel *c, cancel_watch *watch) {
  list_init(&watch->in_cancel);
  if (c == NULL) return;
  pthread_mutex_lock(&c->mu);
  list_push(&c->watches, &watch->in_cancel);
  if (atomic_load(&c->raised)) watch->fn(watch->ctx);
  pthread_mutex_unlock(&c->mu);
}

void cancel_remove(cancel *c, cancel_watch *watch) {
  if (c == NULL) return;
  pthread_mutex_lock(&c->mu);
  list_remove(&watch->in_cancel);
  pthread_mutex_unlock(&c->mu);
}
