/* kernel.c - a kernel: its beginning and end, its lock with chores and pauses, its memory account and
 * clocks (kernel.h). */
#include "kernel/core/kernel.h"

#include "base/alloc.h"
#include "kernel/file/mqueue.h"
#include "kernel/proc/inner.h"
#include "kernel/sock/socket.h"
#include "kernel/vfs/mount.h"

static void seed(k_kernel *k, uint64_t number, k_ret *r) {
  if (number != 0)
    rng_seed_number(&k->random, number);
  else if (rng_seed(&k->random, NULL) != CAY_OK)
    *r = -K_EIO;
}

static void destroy(k_kernel *k) {
  k_mutex_destroy(&k->mu);
  (void)pthread_mutex_destroy(&k->seen_mu);
  mem_free(k);
}

/* The root is the caller's until all has succeeded, so the mounts get a reference of their own. */
K_LOCKED static k_ret set_up(k_kernel *k, k_inode *root) {
  k_ret r = vfs_mounts_new(k, k_inode_ref(root));
  if (r < 0) {
    k_inode_unref(root);
    return r;
  }
  r = k_process_make_init(k);
  if (r < 0) vfs_mounts_free(k);
  return r;
}

k_ret k_kernel_new(const k_options *options, k_kernel **out) {
  k_kernel *k = mem_zalloc(sizeof *k);
  if (k == NULL) return -K_ENOMEM;
  *k = (k_kernel){
    .runner = options->runner,
    .runner_ctx = options->runner_ctx,
    .alarms = options->alarms,
    .limits = options->limits,
    .last_pid = 1,
    .boot_mono_ns = clock_mono_ns(),
  };
  k_mutex_init(&k->mu);
  (void)pthread_mutex_init(&k->seen_mu, NULL);
  list_init(&k->chores);
  list_init(&k->processes);
  list_init(&k->locked);
  list_init(&k->ttys);
  list_init(&k->message_queues);
  list_init(&k->watched);
  list_init(&k->sockets);
  list_init(&k->parcels);
  list_init(&k->dead_parcels);
  k_waitq_init(&k->exits);
  k_waitq_init(&k->positions);
  k_waitq_init(&k->arrivals);
  k_cpu_budget_init(k);
  k_ret r = 0;
  seed(k, options->seed, &r);
  k_lock(k);
  if (r >= 0) r = set_up(k, options->root);
  if (r >= 0)
    k_inode_unref(options->root);
  else
    options->root->kernel = NULL; /* mounting has set it */
  k_unlock(k);
  if (r < 0) {
    destroy(k);
    return r;
  }
  *out = k;
  return 0;
}

/* ---- the lock ---- */

K_UNCHECKED void k_lock(k_kernel *k) {
  k_mutex_lock(&k->mu);
  k->worked = 0;
}

K_UNCHECKED bool k_try_lock(k_kernel *k) {
  if (!k_mutex_try(&k->mu)) return false;
  k->worked = 0;
  return true;
}

static mem_freed *take_freed(k_kernel *k) {
  mem_freed *list = k->freed;
  k->freed = NULL;
  return list;
}

K_RELEASES static void unlock(k_kernel *k) {
  mem_freed *list = take_freed(k);
  k_mutex_unlock(&k->mu); /* the kernel may be gone from here on */
  mem_freed_free(list);
}

K_LOCKED static void breathe(k_kernel *k) {
  if (k->freed != NULL) {
    unlock(k);
    k_mutex_lock(&k->mu);
  } else {
    k_mutex_breathe(&k->mu);
  }
  k->worked = 0;
}

static k_chore *own_chore(k_kernel *k) {
  LIST_EACH (chore, &k->chores, k_chore, node) {
    if (pthread_equal(chore->by, pthread_self())) return chore;
  }
  return NULL;
}

/* Other threads come in between, and the kernel must not be freed by one of them. */
K_LOCKED static void do_chores(k_kernel *k) {
  k_kernel_hold(k);
  for (k_chore *chore; (chore = own_chore(k)) != NULL;) {
    list_remove(&chore->node);
    if (!chore->some(chore)) list_push(&k->chores, &chore->node);
    breathe(k);
  }
  k_kernel_drop(k);
}

void k_finish_chores(k_kernel *k) {
  if (!list_empty(&k->chores)) do_chores(k);
}

void k_unlock(k_kernel *k) {
  k_finish_chores(k);
  unlock(k);
}

void k_chore_add(k_kernel *k, k_chore *chore) {
  chore->by = pthread_self();
  list_push(&k->chores, &chore->node);
}

bool k_work(k_kernel *k, const k_process *p, size_t units) {
  k_assert_held(k);
  k->worked += units;
  if (k->worked >= K_WORK_MAX) breathe(k);
  return p != NULL && p->dying;
}

/* ---- the end ---- */

void k_kernel_hold(k_kernel *k) { k->threads++; }

void k_kernel_drop(k_kernel *k) {
  assert(k->threads > 0);
  if (--k->threads == 0) k_wake(&k->exits);
}

/* k_sleeper_init cannot fail without a process: it takes no memory. */
K_LOCKED static void wait_for_threads(k_kernel *k) {
  k_sleeper sleeper;
  if (k_sleeper_init(&sleeper, k, NULL) < 0) return;
  k_waitq *queue = &k->exits;
  while (k->threads > 0) (void)!k_sleep(&sleeper, &queue, 1, K_FOREVER);
  k_sleeper_destroy(&sleeper);
}

void k_kernel_stop(k_kernel *k) {
  k_lock(k);
  k->shutting_down = true;
  LIST_EACH (p, &k->processes, k_process, in_kernel) k_process_end(p, K_SIGKILL);
  wait_for_threads(k);
  k_unlock(k);
}

/* A process that was made and never started has no thread to end it. */
K_LOCKED static void discard_rest(k_kernel *k) {
  while (!list_empty(&k->processes)) {
    k_process *p = CONTAINER_OF(k->processes.next, k_process, in_kernel);
    if (p->zombie)
      k_process_reap(p);
    else
      k_process_discard(p);
  }
}

void k_kernel_free(k_kernel *k) {
  if (k == NULL) return;
  k_kernel_stop(k);
  k_cpu_budget_stop(k);
  k_lock(k);
  discard_rest(k);
  k_process_free_init(k);
  k_parcels_collect(k);
  k_mqs_free(k);
  k_finish_chores(k); /* watches hold inodes */
  vfs_mounts_free(k);
  k_unlock(k);
  destroy(k);
}

/* ---- accounts and clocks ---- */

K_UNCHECKED void k_usage(k_kernel *k, k_account *out) {
  enum { PATIENCE_MS = 5 };
  bool locked = k_mutex_lock_within(&k->mu, PATIENCE_MS);
  (void)pthread_mutex_lock(&k->seen_mu);
  if (locked) {
    k->seen = k->used;
    k->seen.memory = k_memory_used(k);
    uint64_t peak = atomic_load_explicit(&k->stacks_peak, memory_order_relaxed);
    if (peak > k->seen.memory_peak) k->seen.memory_peak = peak;
    k->seen.cpu_ns = k_cpu_spent_ns(k);
  }
  *out = k->seen;
  (void)pthread_mutex_unlock(&k->seen_mu);
  if (locked) k_mutex_unlock(&k->mu);
}

uint64_t k_memory_used(const k_kernel *k) {
  return k->used.memory + atomic_load_explicit(&k->stacks, memory_order_relaxed);
}

k_ret k_memory_charge(k_kernel *k, uint64_t bytes) {
  uint64_t used = k_memory_used(k);
  if (used > k->limits.memory || bytes > k->limits.memory - used) return -K_ENOMEM;
  k_memory_charge_over(k, bytes);
  return 0;
}

void k_memory_charge_over(k_kernel *k, uint64_t bytes) {
  __atomic_store_n(&k->used.memory, k->used.memory + bytes, __ATOMIC_RELAXED); /* k_memory_stack reads it */
  uint64_t used = k_memory_used(k);
  if (used > k->used.memory_peak) k->used.memory_peak = used;
}

K_UNCHECKED bool k_memory_stack(k_kernel *k, int64_t more) {
  uint64_t all = atomic_fetch_add_explicit(&k->stacks, (uint64_t)more, memory_order_relaxed) +
                 (uint64_t)more + __atomic_load_n(&k->used.memory, __ATOMIC_RELAXED);
  uint64_t peak = atomic_load_explicit(&k->stacks_peak, memory_order_relaxed);
  if (more <= 0) return true;
  while (all > peak && !atomic_compare_exchange_weak(&k->stacks_peak, &peak, all)) {}
  return all <= k->limits.memory;
}

void k_memory_uncharge(k_kernel *k, uint64_t bytes) {
  assert(bytes <= k->used.memory);
  __atomic_store_n(&k->used.memory, k->used.memory - bytes, __ATOMIC_RELAXED);
}

int64_t k_real_ns(const k_kernel *k) {
  (void)k;
  return clock_real_ns();
}

int64_t k_mono_ns(const k_kernel *k) { return clock_mono_ns() - k->boot_mono_ns; }
