/* mutex.c - the lock of a kernel (mutex.h). */
#include "kernel/core/mutex.h"

#include "base/clock.h"

#include <stdatomic.h>

k_lock_role k_the_lock;

void k_mutex_init(k_mutex *m) {
  *m = (k_mutex){ 0 };
  (void)pthread_mutex_init(&m->mu, NULL);
  (void)pthread_mutex_init(&m->door, NULL);
}

void k_mutex_destroy(k_mutex *m) {
  (void)pthread_mutex_destroy(&m->mu);
  (void)pthread_mutex_destroy(&m->door);
}

static uintptr_t self(void) { return (uintptr_t)pthread_self(); }

/* ---- watching ---- */

static void hold_begins(k_mutex *m) {
  k_hold_watch *w = atomic_load_explicit(&m->watch, memory_order_relaxed);
  atomic_store_explicit(&m->holder, self(), memory_order_relaxed);
  if (w != NULL) w->since_ns = clock_thread_cpu_ns();
}

static void hold_ends(k_mutex *m) {
  k_hold_watch *w = atomic_load_explicit(&m->watch, memory_order_relaxed);
  atomic_store_explicit(&m->holder, 0, memory_order_relaxed);
  if (w == NULL) return;
  int64_t ns = clock_thread_cpu_ns() - w->since_ns;
  if (ns > w->longest_ns) w->longest_ns = ns;
  w->holds++;
}

void k_mutex_watch(k_mutex *m, k_hold_watch *watch) {
  if (watch != NULL) *watch = (k_hold_watch){ .since_ns = clock_thread_cpu_ns() };
  atomic_store_explicit(&m->watch, watch, memory_order_relaxed);
}

bool k_mutex_is_mine(const k_mutex *m) {
  return atomic_load_explicit(&m->holder, memory_order_relaxed) == self();
}

/* ---- taking ----
 *
 * Unchecked: the analysis follows k_the_lock and not the two mutexes that it is made of. */

static void pass_the_door(k_mutex *m) {
  (void)pthread_mutex_lock(&m->door);
  (void)pthread_mutex_lock(&m->mu);
  (void)pthread_mutex_unlock(&m->door);
}

K_UNCHECKED void k_mutex_lock(k_mutex *m) {
  if (pthread_mutex_trylock(&m->mu) != 0) {
    atomic_fetch_add_explicit(&m->waiting, 1, memory_order_relaxed);
    pass_the_door(m);
    atomic_fetch_sub_explicit(&m->waiting, 1, memory_order_relaxed);
  }
  hold_begins(m);
}

K_UNCHECKED bool k_mutex_try(k_mutex *m) {
  if (pthread_mutex_trylock(&m->mu) != 0) return false;
  hold_begins(m);
  return true;
}

/* Beside the door: a thread in it may wait for longer. */
K_UNCHECKED bool k_mutex_lock_within(k_mutex *m, int64_t ms) {
  struct timespec until = clock_timespec(clock_real_ns() + ms * NS_PER_MS);
  atomic_fetch_add_explicit(&m->waiting, 1, memory_order_relaxed);
  bool taken = pthread_mutex_timedlock(&m->mu, &until) == 0;
  atomic_fetch_sub_explicit(&m->waiting, 1, memory_order_relaxed);
  if (taken) hold_begins(m);
  return taken;
}

K_UNCHECKED void k_mutex_unlock(k_mutex *m) {
  hold_ends(m);
  (void)pthread_mutex_unlock(&m->mu);
}

K_UNCHECKED void k_mutex_breathe(k_mutex *m) {
  if (atomic_load_explicit(&m->waiting, memory_order_relaxed) == 0) {
    if (atomic_load_explicit(&m->watch, memory_order_relaxed) != NULL) {
      hold_ends(m);
      hold_begins(m);
    }
    return;
  }
  hold_ends(m);
  (void)pthread_mutex_unlock(&m->mu);
  pass_the_door(m);
  hold_begins(m);
}
