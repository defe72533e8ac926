/* lock.c - advisory locks on files: records of a process, of an open file description, and flock(2). The two
 * families do not see each other.
 *
 * A file that somebody has locked has a set, found by its inode in kernel.locked; it goes with its last lock.
 * Record locks of one owner never overlap: setting a range first cuts it out of what the owner has. */
#include "kernel/file/fcntl.h"

#include "base/alloc.h"

typedef struct record {
  list node;
  const void *owner; /* k_fdtable of a process, or k_file of OFD locks and flock */
  int64_t first, last;
  int32_t pid;           /* -1: not of a process */
  bool exclusive, whole; /* whole: flock(2) */
} record;

typedef struct k_lock_set {
  list node; /* kernel.locked */
  k_inode *inode;
  list records;
  list sleepers; /* of sleeping */
  k_waitq freed;
} k_lock_set;

/* A process that waits for a record lock, to see deadlocks. */
typedef struct sleeping {
  list node;
  const void *owner;
  const record *wanted;
} sleeping;

static k_lock_set *find_set(const k_kernel *k, const k_inode *inode) {
  LIST_EACH (s, &k->locked, k_lock_set, node) {
    if (s->inode == inode) return s;
  }
  return NULL;
}

K_LOCKED static k_ret get_set(k_kernel *k, k_inode *inode, k_lock_set **out) {
  *out = find_set(k, inode);
  if (*out != NULL) return 0;
  k_lock_set *s = mem_zalloc(sizeof *s);
  if (s == NULL) return -K_ENOLCK;
  s->inode = k_inode_ref(inode);
  list_init(&s->records);
  list_init(&s->sleepers);
  k_waitq_init(&s->freed);
  list_push(&k->locked, &s->node);
  *out = s;
  return 0;
}

K_LOCKED static void drop_set_if_empty(k_lock_set *s) {
  if (!list_empty(&s->records) || !list_empty(&s->sleepers)) return;
  list_remove(&s->node);
  k_inode_unref(s->inode);
  mem_free(s);
}

/* More locks than that in one sandbox are an attack on the host's memory. */
enum { MAX_LOCKS = 8192 };

/* ---- ranges ---- */

static bool overlap(const record *a, const record *b) { return a->first <= b->last && b->first <= a->last; }

static const record *conflict_of(const k_lock_set *s, const record *wanted) {
  LIST_EACH (r, &s->records, record, node) {
    if (r->whole == wanted->whole && r->owner != wanted->owner && overlap(r, wanted) &&
        (r->exclusive || wanted->exclusive))
      return r;
  }
  return NULL;
}

K_LOCKED static record *record_new(k_kernel *k, const record *like, int64_t first, int64_t last) {
  record *r = k->lock_count < MAX_LOCKS ? mem_alloc(sizeof *r) : NULL;
  if (r == NULL) return NULL;
  k->lock_count++;
  *r = *like;
  r->first = first;
  r->last = last;
  list_init(&r->node);
  return r;
}

K_LOCKED static void record_free(k_kernel *k, record *r) {
  if (r == NULL) return;
  list_remove(&r->node);
  k->lock_count--;
  mem_free(r);
}

/* Takes [first, last] away from what this owner has. `spare` is for the one record that may fall in two. */
K_LOCKED static void cut_out(k_kernel *k, k_lock_set *s, const record *range, record **spare) {
  LIST_EACH_SAFE (r, &s->records, record, node) {
    if (r->owner != range->owner || r->whole != range->whole || !overlap(r, range)) continue;
    if (r->first < range->first && r->last > range->last) {
      record *tail = *spare;
      *spare = NULL;
      assert(tail != NULL); /* a second one would overlap the first */
      *tail = (record){ .owner = r->owner,
                        .first = range->last + 1,
                        .last = r->last,
                        .pid = r->pid,
                        .exclusive = r->exclusive,
                        .whole = r->whole };
      list_push(&s->records, &tail->node);
      r->last = range->first - 1;
    } else if (r->first < range->first) {
      r->last = range->first - 1;
    } else if (r->last > range->last) {
      r->first = range->last + 1;
    } else {
      record_free(k, r);
    }
  }
}

/* All memory is taken first: a failure changes nothing. */
K_LOCKED static k_ret lock_apply(k_kernel *k, k_lock_set *s, const record *wanted, bool unlock) {
  record *spare = record_new(k, wanted, 0, 0), *added = NULL;
  if (spare == NULL) return -K_ENOLCK;
  if (!unlock && (added = record_new(k, wanted, wanted->first, wanted->last)) == NULL) {
    record_free(k, spare);
    return -K_ENOLCK;
  }
  cut_out(k, s, wanted, &spare);
  if (added != NULL) list_push(&s->records, &added->node);
  record_free(k, spare);
  k_wake(&s->freed);
  return 0;
}

/* ---- waiting ---- */

static const sleeping *sleep_of(const k_kernel *k, const void *owner, const k_lock_set **in) {
  LIST_EACH (s, &k->locked, k_lock_set, node) {
    LIST_EACH (w, &s->sleepers, sleeping, node) {
      if (w->owner != owner) continue;
      *in = s;
      return w;
    }
  }
  return NULL;
}

/* Follows the chain of waiters. Long chains are not followed to their end: those sleeps can be interrupted. */
static bool would_deadlock(const k_kernel *k, const k_lock_set *s, const record *wanted) {
  const record *held = conflict_of(s, wanted);
  for (int i = 0; i < 32 && held != NULL; i++) {
    const k_lock_set *in = NULL;
    const sleeping *w = sleep_of(k, held->owner, &in);
    if (w == NULL) return false;
    held = conflict_of(in, w->wanted);
    if (held != NULL && held->owner == wanted->owner) return true;
  }
  return false;
}

K_LOCKED static k_ret lock_wait_for(k_process *p, k_lock_set *s, const record *wanted) {
  sleeping here = { .owner = wanted->owner, .wanted = wanted };
  k_waitq *queue = &s->freed;
  k_ret r = 0;
  list_push(&s->sleepers, &here.node);
  while (r >= 0 && conflict_of(s, wanted) != NULL) {
    r = wanted->pid > 0 && would_deadlock(p->kernel, s, wanted) ? -K_EDEADLK : 0;
    if (r >= 0) r = k_sleep(k_sleeper_of(p), &queue, 1, K_FOREVER);
  }
  list_remove(&here.node);
  return r;
}

K_LOCKED static k_ret set_lock(k_process *p, k_inode *inode, const record *wanted, bool unlock, bool wait) {
  k_lock_set *s;
  K_TRY(get_set(p->kernel, inode, &s));
  k_ret r = 0;
  if (!unlock && conflict_of(s, wanted) != NULL) r = wait ? lock_wait_for(p, s, wanted) : -K_EAGAIN;
  if (r >= 0) r = lock_apply(p->kernel, s, wanted, unlock);
  drop_set_if_empty(s);
  return r;
}

/* ---- fcntl(2) ---- */

K_LOCKED static k_ret range_of(k_file *f, const k_flock *lock, record *out) {
  int64_t base = 0;
  if (lock->whence == K_SEEK_CUR)
    base = f->pos;
  else if (lock->whence == K_SEEK_END && f->ops->size != NULL)
    base = f->ops->size(f);
  else if (lock->whence != K_SEEK_SET)
    return -K_EINVAL;
  if (base < 0) return base;
  int64_t first, end;
  if (__builtin_add_overflow(base, lock->start, &first)) return -K_EOVERFLOW;
  if (__builtin_add_overflow(first, lock->len, &end)) return -K_EOVERFLOW;
  out->first = lock->len < 0 ? end : first;
  out->last = lock->len == 0 ? INT64_MAX : lock->len < 0 ? first - 1 : end - 1;
  return out->first < 0 ? -K_EINVAL : 0;
}

static k_ret test_lock(const k_kernel *k, const k_inode *inode, const record *wanted, k_flock *lock) {
  const k_lock_set *s = find_set(k, inode);
  const record *held = s == NULL ? NULL : conflict_of(s, wanted);
  if (held == NULL) {
    lock->type = K_F_UNLCK;
    return 0;
  }
  *lock = (k_flock){
    .type = held->exclusive ? K_F_WRLCK : K_F_RDLCK,
    .whence = K_SEEK_SET,
    .start = held->first,
    .len = held->last == INT64_MAX ? 0 : held->last - held->first + 1,
    .pid = held->pid,
  };
  return 0;
}

static k_ret may_lock(const k_file *f, int16_t type) {
  uint32_t mode = f->flags & K_O_ACCMODE;
  if (type == K_F_RDLCK && mode == K_O_WRONLY) return -K_EBADF;
  if (type == K_F_WRLCK && mode == K_O_RDONLY) return -K_EBADF;
  return 0;
}

/* Another thread may close the descriptor meanwhile: then the lock is gone, too. */
K_LOCKED static k_ret set_held(k_process *p, int32_t fd, k_file *f, const record *wanted, bool unlock,
                               bool waits) {
  k_file *now = NULL;
  (void)k_file_ref(f);
  k_ret r = set_lock(p, f->inode, wanted, unlock, waits);
  if (r >= 0 && (k_fd_get(&p->fds, fd, &now) < 0 || now != f))
    k_locks_drop_table(p->kernel, &p->fds, f->inode);
  k_file_unref(f);
  return r;
}

K_LOCKED k_ret k_fcntl_lock(k_process *p, int32_t fd, uint32_t cmd, k_flock *lock) {
  k_file *f;
  K_TRY(k_fd_get(&p->fds, fd, &f));
  if ((f->flags & K_O_PATH) != 0) return -K_EBADF;
  if (f->inode == NULL) return -K_EINVAL;
  if (lock->type < K_F_RDLCK || lock->type > K_F_UNLCK) return -K_EINVAL;
  bool ofd = cmd >= K_F_OFD_GETLK;
  if (ofd && lock->pid != 0) return -K_EINVAL;
  record wanted = {
    .owner = ofd ? (const void *)f : (const void *)&p->fds,
    .pid = ofd ? -1 : p->pid,
    .exclusive = lock->type == K_F_WRLCK,
  };
  K_TRY(range_of(f, lock, &wanted));
  switch (cmd) {
  case K_F_GETLK:
  case K_F_OFD_GETLK:
    return lock->type == K_F_UNLCK ? -K_EINVAL : test_lock(p->kernel, f->inode, &wanted, lock);
  case K_F_SETLK:
  case K_F_SETLKW:
  case K_F_OFD_SETLK:
  case K_F_OFD_SETLKW:
    K_TRY(may_lock(f, lock->type));
    return set_held(p, fd, f, &wanted, lock->type == K_F_UNLCK, cmd == K_F_SETLKW || cmd == K_F_OFD_SETLKW);
  default: return -K_EINVAL;
  }
}

/* ---- flock(2) ---- */

K_LOCKED k_ret k_flock_set(k_process *p, int32_t fd, uint32_t operation) {
  k_file *f;
  K_TRY(k_fd_get(&p->fds, fd, &f));
  uint32_t kind = operation & ~(uint32_t)K_LOCK_NB;
  if (kind != K_LOCK_SH && kind != K_LOCK_EX && kind != K_LOCK_UN) return -K_EINVAL;
  if ((f->flags & K_O_PATH) != 0) return -K_EBADF;
  if (f->inode == NULL) return -K_EINVAL;
  record wanted = { .owner = f, .last = INT64_MAX, .pid = -1, .exclusive = kind == K_LOCK_EX, .whole = true };
  return set_held(p, fd, f, &wanted, kind == K_LOCK_UN, (operation & K_LOCK_NB) == 0);
}

/* ---- what goes with a descriptor ---- */

K_LOCKED static void drop_owner(k_kernel *k, k_lock_set *s, const void *owner) {
  bool any = false;
  LIST_EACH_SAFE (r, &s->records, record, node) {
    if (r->owner != owner) continue;
    record_free(k, r);
    any = true;
  }
  if (any) k_wake(&s->freed);
  drop_set_if_empty(s);
}

void k_locks_drop_table(k_kernel *k, const k_fdtable *table, const k_inode *inode) {
  if (list_empty(&k->locked)) return;
  k_lock_set *s = find_set(k, inode);
  if (s != NULL) drop_owner(k, s, table);
}

void k_locks_drop_file(k_file *f) {
  if (f->inode == NULL || list_empty(&f->kernel->locked)) return;
  k_lock_set *s = find_set(f->kernel, f->inode);
  if (s != NULL) drop_owner(f->kernel, s, f);
}
