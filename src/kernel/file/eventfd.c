/* eventfd.c - counters of eventfd(2): reading, writing, readiness (eventfd.h). */
#include "kernel/file/eventfd.h"

#include "base/alloc.h"

#include <string.h>

typedef struct counter {
  uint64_t value;
  bool semaphore;
  k_waitq changed;
} counter;

static const uint64_t most = UINT64_MAX - 1;

static counter *eventfd_of(const k_file *f) { return f->object; }

K_LOCKED static k_ret counter_read(k_file *f, void *buf, size_t len, int64_t pos) {
  (void)pos;
  counter *c = eventfd_of(f);
  if (len < sizeof c->value) return -K_EINVAL;
  if (c->value == 0) return -K_EAGAIN;
  uint64_t taken = c->semaphore ? 1 : c->value;
  c->value -= taken;
  memcpy(buf, &taken, sizeof taken);
  k_wake(&c->changed);
  return sizeof taken;
}

K_LOCKED static k_ret counter_write(k_file *f, const void *buf, size_t len, int64_t pos) {
  (void)pos;
  counter *c = eventfd_of(f);
  uint64_t added;
  if (len < sizeof added) return -K_EINVAL;
  memcpy(&added, buf, sizeof added);
  if (added > most) return -K_EINVAL;
  if (added > most - c->value) return -K_EAGAIN;
  c->value += added;
  k_wake(&c->changed);
  return sizeof added;
}

static uint32_t counter_ready(k_file *f) {
  const counter *c = eventfd_of(f);
  return (c->value > 0 ? K_POLLIN | K_POLLRDNORM : 0) | (c->value < most ? K_POLLOUT | K_POLLWRNORM : 0);
}

static k_waitq *counter_queue(k_file *f) { return &eventfd_of(f)->changed; }

static void counter_release(k_file *f) { mem_free(eventfd_of(f)); }

static const k_file_ops counter_ops = {
  .name = "anon_inode:[eventfd]",
  .read = counter_read,
  .write = counter_write,
  .ready = counter_ready,
  .queue = counter_queue,
  .release = counter_release,
};

k_ret k_eventfd(k_kernel *k, uint64_t initial, bool semaphore, uint32_t flags, k_file **out) {
  counter *c = mem_zalloc(sizeof *c);
  if (c == NULL) return -K_ENOMEM;
  c->value = initial;
  c->semaphore = semaphore;
  k_waitq_init(&c->changed);
  k_ret r = k_file_new(k, &counter_ops, (flags & K_O_NONBLOCK) | K_O_RDWR, NULL, c, out);
  if (r < 0) mem_free(c);
  return r;
}

bool k_eventfd_look(const k_file *f, uint64_t *count, bool *semaphore) {
  if (f->ops != &counter_ops) return false;
  const counter *c = eventfd_of(f);
  *count = c->value;
  *semaphore = c->semaphore;
  return true;
}
