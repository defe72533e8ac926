/* inotify.c - instances of inotify(7): their queue of events, their marks on inodes, and their file
 * (inotify.h). */
#include "kernel/notify/inotify.h"

#include "base/alloc.h"
#include "kernel/notify/notify_inner.h"

#include <string.h>

/* struct inotify_event of Linux, without the name. */
typedef struct record {
  int32_t wd;
  uint32_t mask, cookie, len;
} record;
_Static_assert(sizeof(record) == 16, "as the guest's C library has it");

typedef struct event {
  list in_queue;
  int32_t wd;
  uint32_t mask, cookie;
  size_t name_len; /* bytes of name behind the structure */
} event;

struct inotify {
  k_kernel *kernel;
  list marks[NOTIFY_BUCKETS]; /* notify_bucket */
  uint64_t seed;              /* of notify_bucket */
  int32_t last_wd;
  list queue;
  uint32_t queued; /* events in it */
  size_t readable; /* bytes that they give */
  event overflow;  /* in the queue at most once */
  k_waitq changed;
  k_chore freeing;
  size_t freed; /* buckets whose marks are */
};

enum {
  FREED_AT_ONCE = 256, /* marks and events */
  READ_MAX = 32 << 10, /* bytes that one read gives: the others wait for the next */
};

static inotify *inotify_of(const k_file *f) { return f->object; }

static list *inotify_bucket(inotify *n, int32_t wd) { return &n->marks[notify_bucket(wd, n->seed)]; }

static const char *inotify_name(const event *e) { return (const char *)(e + 1); }

static size_t inotify_event_size(const event *e) { return sizeof *e + e->name_len; }

/* A name ends with at least one NUL, and the next record is aligned. */
static size_t inotify_record_size(const event *e) {
  if (e->name_len == 0) return sizeof(record);
  return sizeof(record) + (e->name_len + sizeof(record)) / sizeof(record) * sizeof(record);
}

/* ---- the queue ---- */

K_LOCKED static void inotify_enqueue(inotify *n, event *e) {
  list_push(&n->queue, &e->in_queue);
  n->queued++;
  n->readable += inotify_record_size(e);
  k_wake(&n->changed);
}

K_LOCKED static void inotify_dequeue(inotify *n, event *e) {
  list_remove(&e->in_queue);
  n->queued--;
  n->readable -= inotify_record_size(e);
  if (e == &n->overflow) return;
  k_memory_uncharge(n->kernel, inotify_event_size(e));
  mem_free(e);
}

static bool inotify_is_again(const inotify *n, int32_t wd, uint32_t mask, k_name name) {
  if (list_empty(&n->queue)) return false;
  const event *last = CONTAINER_OF(n->queue.prev, event, in_queue);
  if (last->wd != wd || last->mask != mask || (mask & K_IN_IGNORED) != 0) return false;
  return last->name_len == name.len &&
         (name.len == 0 || memcmp(inotify_name(last), name.data, name.len) == 0);
}

K_LOCKED static event *inotify_event_new(inotify *n, k_name name) {
  size_t size = sizeof(event) + name.len;
  if (n->queued >= K_INOTIFY_EVENTS || k_memory_charge(n->kernel, size) < 0) return NULL;
  event *e = mem_zalloc(size);
  if (e == NULL) {
    k_memory_uncharge(n->kernel, size);
    return NULL;
  }
  e->name_len = name.len;
  if (name.len != 0) memcpy(e + 1, name.data, name.len);
  return e;
}

void notify_put(notify_mark *m, uint32_t mask, uint32_t cookie, k_name name) {
  inotify *n = m->inotify;
  if ((mask & (K_IN_DELETE_SELF | K_IN_MOVE_SELF)) != 0) mask &= ~(uint32_t)K_IN_ISDIR; /* as Linux */
  if (inotify_is_again(n, m->wd, mask, name)) return;
  event *e = inotify_event_new(n, name);
  if (e == NULL) {
    if (!list_linked(&n->overflow.in_queue)) inotify_enqueue(n, &n->overflow);
    return;
  }
  e->wd = m->wd;
  e->mask = mask;
  e->cookie = cookie;
  inotify_enqueue(n, e);
}

/* ---- marks ---- */

void notify_mark_end(notify_mark *m, bool tell) {
  k_kernel *k = m->inotify->kernel;
  if (tell) notify_put(m, K_IN_IGNORED, 0, (k_name){ 0 });
  list_remove(&m->in_watched);
  list_remove(&m->in_inotify);
  k->watches--;
  k_memory_uncharge(k, sizeof *m);
  mem_free(m);
}

K_LOCKED static notify_mark *inotify_mark_of(const inotify *n, const k_inode *inode) {
  if (inode->watched == NULL) return NULL;
  LIST_EACH (m, &inode->watched->marks, notify_mark, in_watched) {
    if (m->inotify == n) return m;
  }
  return NULL;
}

K_LOCKED static k_ret inotify_mark_new(inotify *n, k_inode *inode, uint32_t mask) {
  k_kernel *k = n->kernel;
  k_watched *w = NULL;
  if (k->watches >= K_INOTIFY_WATCHES || n->last_wd == INT32_MAX) return -K_ENOSPC;
  K_TRY(k_memory_charge(k, sizeof(notify_mark)));
  notify_mark *m = mem_zalloc(sizeof *m);
  k_ret r = m != NULL ? notify_watched_of(inode, &w) : -K_ENOMEM;
  if (r < 0) {
    mem_free(m);
    k_memory_uncharge(k, sizeof *m);
    return r;
  }
  *m = (notify_mark){ .watched = w, .inotify = n, .wd = ++n->last_wd, .mask = mask };
  list_push(&w->marks, &m->in_watched);
  list_push(inotify_bucket(n, m->wd), &m->in_inotify);
  k->watches++;
  return m->wd;
}

/* ---- the file ---- */

static void inotify_write_record(uint8_t *to, const event *e) {
  size_t size = inotify_record_size(e);
  record r = { .wd = e->wd, .mask = e->mask, .cookie = e->cookie, .len = (uint32_t)(size - sizeof r) };
  memset(to, 0, size);
  memcpy(to, &r, sizeof r);
  memcpy(to + sizeof r, inotify_name(e), e->name_len);
}

K_LOCKED static k_ret inotify_read(k_file *f, void *buf, size_t len, int64_t pos) {
  inotify *n = inotify_of(f);
  size_t done = 0;
  (void)pos;
  if (list_empty(&n->queue)) return -K_EAGAIN;
  if (len > READ_MAX) len = READ_MAX;
  LIST_EACH_SAFE (e, &n->queue, event, in_queue) {
    size_t size = inotify_record_size(e);
    if (size > len - done) break;
    inotify_write_record((uint8_t *)buf + done, e);
    done += size;
    inotify_dequeue(n, e);
  }
  return done > 0 ? (k_ret)done : -K_EINVAL;
}

static k_ret inotify_ioctl(k_file *f, uint32_t request, void *arg, size_t len) {
  if (request != K_FIONREAD || len < sizeof(int32_t)) return -K_ENOTTY;
  *(int32_t *)arg = (int32_t)inotify_of(f)->readable;
  return 0;
}

static uint32_t inotify_ready(k_file *f) {
  return list_empty(&inotify_of(f)->queue) ? 0 : K_POLLIN | K_POLLRDNORM;
}

static k_waitq *inotify_queue(k_file *f) { return &inotify_of(f)->changed; }

/* False: there are more. */
K_LOCKED static bool inotify_free_marks(inotify *n, int *left) {
  for (; n->freed < NOTIFY_BUCKETS; n->freed++) {
    list *bucket = &n->marks[n->freed];
    for (; !list_empty(bucket); --*left) {
      if (*left == 0) return false;
      notify_mark *m = CONTAINER_OF(bucket->next, notify_mark, in_inotify);
      k_watched *w = m->watched;
      notify_mark_end(m, false);
      notify_watched_drop(w);
    }
  }
  return true;
}

/* First the marks: without them nothing joins the queue while others have kernel.mu. */
K_LOCKED static bool inotify_free_some(k_chore *chore) {
  inotify *n = CONTAINER_OF(chore, inotify, freeing);
  k_kernel *k = n->kernel;
  int left = FREED_AT_ONCE;
  if (!inotify_free_marks(n, &left)) return false;
  for (; !list_empty(&n->queue); left--) {
    if (left == 0) return false;
    inotify_dequeue(n, CONTAINER_OF(n->queue.next, event, in_queue));
  }
  k->inotifies--;
  k_memory_uncharge(k, sizeof *n);
  mem_free(n);
  return true;
}

K_LOCKED static void inotify_release(k_file *f) {
  inotify *n = inotify_of(f);
  n->freeing = (k_chore){ .some = inotify_free_some };
  if (!inotify_free_some(&n->freeing)) k_chore_add(n->kernel, &n->freeing);
}

static const k_file_ops inotify_ops = {
  .name = "anon_inode:inotify",
  .read = inotify_read,
  .ioctl = inotify_ioctl,
  .ready = inotify_ready,
  .queue = inotify_queue,
  .release = inotify_release,
};

/* ---- the calls ---- */

static inotify *inotify_make(k_kernel *k) {
  inotify *n = mem_zalloc(sizeof *n);
  if (n == NULL) return NULL;
  n->kernel = k;
  n->seed = rng_u64(&k->random) | 1;
  n->overflow = (event){ .wd = -1, .mask = K_IN_Q_OVERFLOW };
  for (size_t b = 0; b < NOTIFY_BUCKETS; b++) list_init(&n->marks[b]);
  list_init(&n->queue);
  list_init(&n->overflow.in_queue);
  return n;
}

k_ret k_inotify_new(k_kernel *k, uint32_t flags, k_file **out) {
  if (k->inotifies >= K_INOTIFY_INSTANCES) return -K_EMFILE;
  K_TRY(k_memory_charge(k, sizeof(inotify)));
  inotify *n = inotify_make(k);
  k_ret r = -K_ENOMEM;
  if (n != NULL) {
    k_waitq_init(&n->changed);
    r = k_file_new(k, &inotify_ops, (flags & K_O_NONBLOCK) | K_O_RDONLY, NULL, n, out);
  }
  if (r < 0) {
    mem_free(n);
    k_memory_uncharge(k, sizeof *n);
    return r;
  }
  k->inotifies++;
  return 0;
}

k_ret k_inotify_check(const k_file *f, uint32_t mask) {
  const uint32_t known = K_IN_ALL_EVENTS | K_IN_UNMOUNT | K_IN_Q_OVERFLOW | K_IN_IGNORED | K_IN_ONLYDIR |
                         K_IN_DONT_FOLLOW | K_IN_EXCL_UNLINK | K_IN_MASK_CREATE | K_IN_MASK_ADD | K_IN_ISDIR |
                         K_IN_ONESHOT;
  if ((mask & known) == 0 || (mask & ~known) != 0) return -K_EINVAL;
  if ((mask & K_IN_MASK_ADD) != 0 && (mask & K_IN_MASK_CREATE) != 0) return -K_EINVAL;
  return f->ops == &inotify_ops ? 0 : k_file_wrong(f, -K_EINVAL);
}

k_ret k_inotify_add(k_file *f, k_inode *inode, uint32_t mask) {
  const uint32_t kept = K_IN_ALL_EVENTS | K_IN_EXCL_UNLINK | K_IN_ONESHOT;
  inotify *n = inotify_of(f);
  notify_mark *m = inotify_mark_of(n, inode);
  if (m == NULL) return inotify_mark_new(n, inode, mask & kept);
  if ((mask & K_IN_MASK_CREATE) != 0) return -K_EEXIST;
  m->mask = (mask & kept) | ((mask & K_IN_MASK_ADD) != 0 ? m->mask : 0);
  return m->wd;
}

k_ret k_inotify_remove(k_file *f, int32_t wd) {
  if (f->ops != &inotify_ops) return k_file_wrong(f, -K_EINVAL);
  if (wd <= 0) return -K_EINVAL;
  LIST_EACH (m, inotify_bucket(inotify_of(f), wd), notify_mark, in_inotify) {
    if (m->wd != wd) continue;
    k_watched *w = m->watched;
    notify_mark_end(m, true);
    notify_watched_drop(w);
    return 0;
  }
  return -K_EINVAL;
}
