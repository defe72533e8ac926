/* mqueue.c - messages are kept in the order in which they are received: by priority, then by age.
 *
 * They are a binary heap, so a message finds its place in as many steps as their number has bits, whatever their priorities are.
 * A queue that goes frees them as a chore of the kernel. */
#include "kernel/file/mqueue.h"

#include "base/alloc.h"
#include "kernel/core/kernel.h"

#include <string.h>

enum { QUEUES_MAX = 256, NAME_LEN_MAX = 255, HEAP_FIRST = 16, FREED_AT_ONCE = 256 };

typedef struct message {
  uint32_t priority;
  uint64_t age; /* counts messages: the lower one came first */
  size_t len;
  uint8_t bytes[];
} message;

typedef struct mqueue {
  list named; /* kernel.message_queues; unlinked: without a name */
  k_kernel *kernel;
  char name[NAME_LEN_MAX + 1];
  uint64_t ino;
  uint32_t opens;
  k_mq_attr attr;
  bool counts;    /* a named semaphore of our C library: full is an error, and no sleep */
  message **heap; /* attr.messages of them; the next to be received is the first */
  size_t cap;     /* of heap */
  uint64_t sent;
  k_waitq changed;
  uint32_t receivers; /* that sleep: a message is theirs, and no notice is given */
  k_mq_notice notice;
  int32_t notified_pid; /* 0: no process is registered */
  int64_t notified_start_ns;
  k_chore freeing;
} mqueue;

static mqueue *mqueue_of(const k_file *f) { return f->object; }

/* ---- messages ---- */

static uint64_t weight(size_t len) { return sizeof(message) + len; }

K_LOCKED static k_ret message_new(k_kernel *k, const void *bytes, size_t len, uint32_t priority,
                                  message **out) {
  K_TRY(k_memory_charge(k, weight(len)));
  message *m = mem_alloc(sizeof *m + len);
  if (m == NULL) {
    k_memory_uncharge(k, weight(len));
    return -K_ENOMEM;
  }
  *m = (message){ .priority = priority, .len = len };
  if (len > 0) memcpy(m->bytes, bytes, len);
  *out = m;
  return 0;
}

K_LOCKED static void message_free(k_kernel *k, message *m) {
  k_memory_uncharge(k, weight(m->len));
  mem_free(m);
}

static bool message_is_before(const message *a, const message *b) {
  return a->priority != b->priority ? a->priority > b->priority : a->age < b->age;
}

/* For one more. */
K_LOCKED static k_ret mqueue_reserve(mqueue *q) {
  if ((size_t)q->attr.messages < q->cap) return 0;
  size_t cap = q->cap == 0 ? HEAP_FIRST : 2 * q->cap, more = (cap - q->cap) * sizeof(message *);
  K_TRY(k_memory_charge(q->kernel, more));
  message **heap = mem_realloc_array(q->heap, cap, sizeof *heap);
  if (heap == NULL) {
    k_memory_uncharge(q->kernel, more);
    return -K_ENOMEM;
  }
  q->heap = heap;
  q->cap = cap;
  return 0;
}

/* There is room for it. */
static void mqueue_insert(mqueue *q, message *m) {
  size_t at = (size_t)q->attr.messages++;
  m->age = q->sent++;
  for (size_t up; at > 0 && message_is_before(m, q->heap[up = (at - 1) / 2]); at = up)
    q->heap[at] = q->heap[up];
  q->heap[at] = m;
}

/* The place of the earlier of the messages below `at`; `count`: there is none. */
static size_t mqueue_below(const mqueue *q, size_t at, size_t count) {
  size_t left = 2 * at + 1;
  if (left >= count) return count;
  return left + 1 < count && message_is_before(q->heap[left + 1], q->heap[left]) ? left + 1 : left;
}

/* The next one to be received, which is taken out; NULL: there is none. */
static message *mqueue_take(mqueue *q) {
  if (q->attr.messages == 0) return NULL;
  size_t count = (size_t)--q->attr.messages, at = 0;
  message *first = q->heap[0], *last = q->heap[count];
  for (size_t down; (down = mqueue_below(q, at, count)) < count && message_is_before(q->heap[down], last);
       at = down)
    q->heap[at] = q->heap[down];
  q->heap[at] = last;
  return first;
}

/* ---- life ---- */

K_LOCKED static bool mqueue_free_some(k_chore *chore) {
  mqueue *q = CONTAINER_OF(chore, mqueue, freeing);
  k_kernel *k = q->kernel;
  for (int n = 0; n < FREED_AT_ONCE && q->attr.messages > 0; n++)
    message_free(k, q->heap[--q->attr.messages]);
  if (q->attr.messages > 0) return false;
  k_memory_uncharge(k, sizeof *q + q->cap * sizeof *q->heap);
  mem_free(q->heap);
  mem_free(q);
  return true;
}

K_LOCKED static void mqueue_free_unused(mqueue *q) {
  if (q->opens > 0 || list_linked(&q->named)) return;
  q->freeing = (k_chore){ .some = mqueue_free_some };
  if (!mqueue_free_some(&q->freeing)) k_chore_add(q->kernel, &q->freeing);
}

K_LOCKED static void mqueue_release(k_file *f) {
  mqueue *q = mqueue_of(f);
  q->opens--;
  mqueue_free_unused(q);
}

static uint32_t mqueue_ready(k_file *f) {
  const k_mq_attr *a = &mqueue_of(f)->attr;
  return (a->messages > 0 ? K_POLLIN | K_POLLRDNORM : 0) |
         (a->messages < a->max_messages ? K_POLLOUT | K_POLLWRNORM : 0);
}

static k_waitq *mqueue_queue(k_file *f) { return &mqueue_of(f)->changed; }

static k_ret mqueue_stat(k_file *f, k_stat *out) {
  *out =
      (k_stat){ .mode = K_S_IFREG | 0600, .nlink = 1, .uid = K_UID, .gid = K_GID, .ino = mqueue_of(f)->ino };
  return 0;
}

static const k_file_ops mqueue_ops = {
  .ready = mqueue_ready,
  .queue = mqueue_queue,
  .stat = mqueue_stat,
  .release = mqueue_release,
};

/* ---- names ---- */

static k_ret mqueue_check_name(const char *name) {
  size_t len = strnlen(name, NAME_LEN_MAX + 1);
  if (len == 0) return -K_ENOENT;
  if (len > NAME_LEN_MAX) return -K_ENAMETOOLONG;
  return strchr(name, '/') != NULL || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ? -K_EACCES : 0;
}

K_LOCKED static mqueue *mqueue_find(k_kernel *k, const char *name, uint32_t *count) {
  LIST_EACH (q, &k->message_queues, mqueue, named) {
    if (strcmp(q->name, name) == 0) return q;
    ++*count;
  }
  return NULL;
}

K_LOCKED static k_ret mqueue_new(k_kernel *k, const char *name, const k_mq_attr *attr, mqueue **out) {
  k_mq_attr a = { .max_messages = K_MQ_DEFAULT_MESSAGES, .message_size = K_MQ_DEFAULT_SIZE };
  if (attr != NULL) a = (k_mq_attr){ .max_messages = attr->max_messages, .message_size = attr->message_size };
  if (a.max_messages <= 0 || a.message_size <= 0) return -K_EINVAL;
  bool counts = a.max_messages == INT32_MAX && a.message_size == 1;
  if (counts) a.max_messages = K_MQ_MESSAGES_MAX;
  if (a.max_messages > K_MQ_MESSAGES_MAX || a.message_size > K_MQ_SIZE_MAX) return -K_EINVAL;
  K_TRY(k_memory_charge(k, sizeof(mqueue)));
  mqueue *q = mem_zalloc(sizeof *q);
  if (q == NULL) {
    k_memory_uncharge(k, sizeof *q);
    return -K_ENOMEM;
  }
  q->kernel = k;
  q->attr = a;
  q->counts = counts;
  q->ino = ++k->anonymous_ino;
  memcpy(q->name, name, strlen(name) + 1);
  k_waitq_init(&q->changed);
  list_init(&q->named);
  *out = q;
  return 0;
}

K_LOCKED static k_ret mqueue_open(mqueue *q, uint32_t flags, k_file **out) {
  K_TRY(k_file_new(q->kernel, &mqueue_ops, flags & (K_O_ACCMODE | K_O_NONBLOCK), NULL, q, out));
  q->opens++;
  return 0;
}

k_ret k_mq_open(k_kernel *k, const char *name, uint32_t flags, const k_mq_attr *attr, k_file **out) {
  uint32_t count = 0;
  K_TRY(mqueue_check_name(name));
  mqueue *q = mqueue_find(k, name, &count);
  if (q != NULL && (flags & (K_O_CREAT | K_O_EXCL)) == (K_O_CREAT | K_O_EXCL)) return -K_EEXIST;
  if (q != NULL) return mqueue_open(q, flags, out);
  if ((flags & K_O_CREAT) == 0) return -K_ENOENT;
  if (count >= QUEUES_MAX) return -K_ENOSPC;
  K_TRY(mqueue_new(k, name, attr, &q));
  k_ret r = mqueue_open(q, flags, out);
  if (r < 0)
    mqueue_free_unused(q);
  else
    list_push(&k->message_queues, &q->named);
  return r;
}

k_ret k_mq_unlink(k_kernel *k, const char *name) {
  uint32_t count = 0;
  K_TRY(mqueue_check_name(name));
  mqueue *q = mqueue_find(k, name, &count);
  if (q == NULL) return -K_ENOENT;
  list_remove(&q->named);
  mqueue_free_unused(q);
  return 0;
}

void k_mqs_free(k_kernel *k) {
  LIST_EACH_SAFE (q, &k->message_queues, mqueue, named) {
    list_remove(&q->named);
    mqueue_free_unused(q);
  }
}

/* ---- sending and receiving ---- */

static k_ret mqueue_opened_for(const k_file *f, uint32_t access) {
  if (f->ops != &mqueue_ops) return -K_EBADF;
  uint32_t mode = f->flags & K_O_ACCMODE;
  return mode == access || mode == K_O_RDWR ? 0 : -K_EBADF;
}

/* The registration is for one message. */
K_LOCKED static void mqueue_give_notice(mqueue *q) {
  if (q->notified_pid == 0 || q->receivers > 0 || q->attr.messages != 1) return;
  k_process *p = k_process_find(q->kernel, q->notified_pid);
  if (p != NULL && p->start_ns == q->notified_start_ns && q->notice.signals) {
    k_siginfo info = { .signo = q->notice.signo, .code = K_SI_MESGQ, .value = q->notice.value };
    k_signal_send(p, &info);
  }
  q->notified_pid = 0;
}

K_LOCKED static k_ret mqueue_sleep(k_process *p, k_file *f, int64_t deadline_ns) {
  k_waitq *queue = &mqueue_of(f)->changed;
  if ((f->flags & K_O_NONBLOCK) != 0) return -K_EAGAIN;
  return k_sleep(k_sleeper_of(p), &queue, 1, deadline_ns);
}

k_ret k_mq_send(k_process *p, k_file *f, const void *bytes, size_t len, uint32_t priority,
                int64_t deadline_ns) {
  message *m = NULL;
  K_TRY(mqueue_opened_for(f, K_O_WRONLY));
  mqueue *q = mqueue_of(f);
  if (len > (size_t)q->attr.message_size) return -K_EMSGSIZE;
  if (q->counts && q->attr.messages >= q->attr.max_messages) return -K_EOVERFLOW;
  while (q->attr.messages >= q->attr.max_messages) K_TRY(mqueue_sleep(p, f, deadline_ns));
  K_TRY(mqueue_reserve(q));
  K_TRY(message_new(q->kernel, bytes, len, priority, &m));
  mqueue_insert(q, m);
  k_wake(&q->changed);
  mqueue_give_notice(q);
  return 0;
}

k_ret k_mq_receive(k_process *p, k_file *f, void *bytes, size_t cap, uint32_t *priority,
                   int64_t deadline_ns) {
  K_TRY(mqueue_opened_for(f, K_O_RDONLY));
  mqueue *q = mqueue_of(f);
  if (cap < (size_t)q->attr.message_size) return -K_EMSGSIZE;
  while (q->attr.messages == 0) {
    q->receivers++;
    k_ret slept = mqueue_sleep(p, f, deadline_ns);
    q->receivers--;
    K_TRY(slept);
  }
  message *m = mqueue_take(q);
  k_ret len = (k_ret)m->len;
  if (len > 0) memcpy(bytes, m->bytes, m->len);
  *priority = m->priority;
  message_free(q->kernel, m);
  k_wake(&q->changed);
  return len;
}

k_ret k_mq_attributes(k_file *f, const uint32_t *set_flags, k_mq_attr *old) {
  if (f->ops != &mqueue_ops) return -K_EBADF;
  if (set_flags != NULL && (*set_flags & ~(uint32_t)K_O_NONBLOCK) != 0) return -K_EINVAL;
  *old = mqueue_of(f)->attr;
  old->flags = f->flags & K_O_NONBLOCK;
  if (set_flags != NULL) f->flags = (f->flags & ~(uint32_t)K_O_NONBLOCK) | *set_flags;
  return 0;
}

K_LOCKED static bool mqueue_is_taken(mqueue *q) {
  const k_process *p = q->notified_pid == 0 ? NULL : k_process_find(q->kernel, q->notified_pid);
  return p != NULL && !p->zombie && p->start_ns == q->notified_start_ns;
}

k_ret k_mq_notify(k_process *p, k_file *f, const k_mq_notice *notice) {
  if (f->ops != &mqueue_ops) return -K_EBADF;
  mqueue *q = mqueue_of(f);
  if (notice == NULL) {
    if (q->notified_pid == p->pid) q->notified_pid = 0;
    return 0;
  }
  if (notice->signals && (notice->signo < 1 || notice->signo > K_NSIG)) return -K_EINVAL;
  if (mqueue_is_taken(q)) return -K_EBUSY;
  q->notice = *notice;
  q->notified_pid = p->pid;
  q->notified_start_ns = p->start_ns;
  return 0;
}
