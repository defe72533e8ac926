/* epoll.c - a set is a file; its entries hang in the set and in a list of their file, which takes them away with
 * its last descriptor. Nothing is told to the set when an entry becomes ready: a wait looks at all of them
 * and sleeps on all of their queues, which is what poll(2) does with the same numbers. */
#include "kernel/file/epoll.h"

#include "base/alloc.h"
#include "kernel/proc/inner.h"

/* One entry. `file` is borrowed: k_epoll_forget takes the entry away with its last descriptor. */
typedef struct interest {
  list in_set;  /* reported entries go to the end, so that a short array shows all in turn */
  list in_file; /* k_file.interests */
  k_file *file;
  int32_t fd;
  uint32_t events;
  bool reported;  /* with K_EPOLLET: it was, */
  uint64_t wakes; /* when its queue had been woken so often */
  uint64_t data;
  struct epoll_set *set;
} interest;

typedef struct epoll_set {
  list interests;
  size_t count;
  k_waitq changed; /* entries were added or changed */
} epoll_set;

static const uint32_t always = K_POLLERR | K_POLLHUP;
static const uint32_t modes = K_EPOLLET | K_EPOLLONESHOT | 1u << 28 | 1u << 29;

static epoll_set *epoll_of(const k_file *f) { return f->object; }

/* In one sandbox. */
enum { MAX_INTERESTS = 16384 }; /* all of one file go with its last descriptor, under the lock */

K_LOCKED static void epoll_drop(interest *i) {
  i->file->kernel->interest_count--;
  list_remove(&i->in_set);
  list_remove(&i->in_file);
  i->set->count--;
  k_memory_uncharge(i->file->kernel, sizeof *i);
  mem_free(i);
}

void k_epoll_forget(k_file *f) {
  LIST_EACH_SAFE (i, &f->interests, interest, in_file) epoll_drop(i);
}

/* ---- looking ---- */

static uint32_t epoll_ready_of(const interest *i) {
  uint32_t all = K_POLLIN | K_POLLOUT | K_POLLRDNORM | K_POLLWRNORM;
  uint32_t ready = i->file->ops->ready == NULL ? all : i->file->ops->ready(i->file);
  return ready & (i->events | always);
}

static bool is_off(const interest *i) { return (i->events & ~modes) == 0; }

/* What to report of this entry now. An edge is any wake of its queue: more than were needed, never fewer. */
K_LOCKED static uint32_t news_of(interest *i) {
  uint32_t ready = is_off(i) ? 0 : epoll_ready_of(i);
  if (ready == 0 || (i->events & K_EPOLLET) == 0 || i->file->ops->queue == NULL) return ready;
  uint64_t wakes = i->file->ops->queue(i->file)->wakes;
  if (i->reported && i->wakes == wakes) return 0;
  i->reported = true;
  i->wakes = wakes;
  return ready;
}

K_LOCKED static size_t epoll_collect(epoll_set *s, k_epoll_event *events, size_t count) {
  size_t found = 0, left = s->count;
  LIST_EACH_SAFE (i, &s->interests, interest, in_set) {
    if (found == count || left-- == 0) break;
    uint32_t news = news_of(i);
    if (news == 0) continue;
    events[found++] = (k_epoll_event){ .events = news, .data = i->data };
    if ((i->events & K_EPOLLONESHOT) != 0) i->events &= modes;
    list_remove(&i->in_set);
    list_push(&s->interests, &i->in_set);
  }
  return found;
}

/* ---- the file ---- */

static uint32_t epoll_ready(k_file *f) {
  LIST_EACH (i, &epoll_of(f)->interests, interest, in_set) {
    if (!is_off(i) && epoll_ready_of(i) != 0) return K_POLLIN | K_POLLRDNORM;
  }
  return 0;
}

K_LOCKED static void epoll_release(k_file *f) {
  epoll_set *s = epoll_of(f);
  LIST_EACH_SAFE (i, &s->interests, interest, in_set) epoll_drop(i);
  mem_free(s);
}

static k_waitq *epoll_queue(k_file *f) { return &epoll_of(f)->changed; }

static const k_file_ops epoll_ops = {
  .name = "anon_inode:[eventpoll]",
  .ready = epoll_ready,
  .queue = epoll_queue,
  .release = epoll_release,
};

k_ret k_epoll_new(k_kernel *k, k_file **out) {
  epoll_set *s = mem_zalloc(sizeof *s);
  if (s == NULL) return -K_ENOMEM;
  list_init(&s->interests);
  k_waitq_init(&s->changed);
  k_ret r = k_file_new(k, &epoll_ops, K_O_RDWR, NULL, s, out);
  if (r < 0) mem_free(s);
  return r;
}

/* ---- epoll_ctl(2) ---- */

static interest *epoll_find(epoll_set *s, const k_file *file, int32_t fd) {
  LIST_EACH (i, &s->interests, interest, in_set) {
    if (i->file == file && i->fd == fd) return i;
  }
  return NULL;
}

K_LOCKED static k_ret epoll_add(epoll_set *s, k_file *file, int32_t fd, const k_epoll_event *event) {
  if (s->count >= K_SLEEP_MAX_QUEUES - 1 || file->kernel->interest_count >= MAX_INTERESTS) return -K_ENOSPC;
  K_TRY(k_memory_charge(file->kernel, sizeof(interest)));
  interest *i = mem_zalloc(sizeof *i);
  if (i == NULL) {
    k_memory_uncharge(file->kernel, sizeof *i);
    return -K_ENOMEM;
  }
  *i = (interest){ .file = file, .fd = fd, .events = event->events, .data = event->data, .set = s };
  list_push(&s->interests, &i->in_set);
  list_push(&file->interests, &i->in_file);
  s->count++;
  file->kernel->interest_count++;
  return 0;
}

k_ret k_epoll_ctl(k_process *p, k_file *epoll, int op, int32_t fd, const k_epoll_event *event) {
  k_file *file;
  K_TRY(k_fd_get(&p->fds, fd, &file));
  /* Sets inside sets would have to pass on wakes; they are not supported. */
  if (epoll->ops != &epoll_ops || file->ops == &epoll_ops) return k_file_wrong(epoll, -K_EINVAL);
  if (file->ops->ready == NULL) return k_file_wrong(file, -K_EPERM); /* ordinary files, as Linux */
  epoll_set *s = epoll_of(epoll);
  interest *i = epoll_find(s, file, fd);
  k_ret r = 0;
  if (op == K_EPOLL_CTL_ADD) {
    r = i != NULL ? -K_EEXIST : epoll_add(s, file, fd, event);
  } else if (op != K_EPOLL_CTL_DEL && op != K_EPOLL_CTL_MOD) {
    r = -K_EINVAL;
  } else if (i == NULL) {
    r = -K_ENOENT;
  } else if (op == K_EPOLL_CTL_DEL) {
    epoll_drop(i);
  } else {
    i->events = event->events;
    i->data = event->data;
    i->reported = false;
  }
  if (r >= 0) k_wake(&s->changed);
  return r;
}

/* ---- epoll_wait(2) ---- */

typedef struct watched {
  size_t count; /* of queues; the first is the set's own, the others are of files[1], ... */
  k_waitq **queues;
  k_file **files; /* references: another process that shares the set may close its descriptors meanwhile */
} watched;

K_LOCKED static void watch_all(epoll_set *s, watched *w) {
  w->queues[w->count++] = &s->changed;
  LIST_EACH (i, &s->interests, interest, in_set) {
    if (is_off(i) || i->file->ops->queue == NULL) continue;
    w->queues[w->count] = i->file->ops->queue(i->file);
    w->files[w->count++] = k_file_ref(i->file);
  }
}

K_LOCKED static k_ret sleep_on_all(k_process *p, epoll_set *s, int64_t deadline_ns) {
  void **both = mem_zalloc_array(2 * (s->count + 1), sizeof *both);
  if (both == NULL) return -K_ENOMEM;
  watched w = { .queues = (k_waitq **)both, .files = (k_file **)both + s->count + 1 };
  watch_all(s, &w);
  k_ret r = k_sleep(k_sleeper_of(p), w.queues, w.count, deadline_ns);
  for (size_t i = 1; i < w.count; i++) k_file_unref(w.files[i]);
  mem_free(both);
  return k_never_restart(r);
}

K_LOCKED k_ret k_epoll_wait(k_process *p, k_file *epoll, k_epoll_event *events, size_t count,
                            int64_t deadline_ns, const k_sigset *mask) {
  if (epoll->ops != &epoll_ops || count == 0) return k_file_wrong(epoll, -K_EINVAL);
  epoll_set *s = epoll_of(epoll);
  k_signal_mask_for_call(p, mask);
  k_ret r;
  do {
    r = (k_ret)epoll_collect(s, events, count);
    if (r > 0 || deadline_ns <= 0) break;
    r = sleep_on_all(p, s, deadline_ns);
  } while (r >= 0);
  if (r == -K_ETIMEDOUT) r = 0;
  return k_signal_mask_after_call(p, mask, r);
}
