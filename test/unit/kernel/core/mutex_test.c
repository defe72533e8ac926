/* mutex_test.c - the lock of a kernel, as src/kernel/core/mutex.h promises it. */
#include "kernel/core/mutex.h"

#include "base/thread.h"
#include "test.h"

#include <stdatomic.h>

typedef struct place {
  k_mutex mu;
  atomic_int had;
} place;

static void takes_it_once(void *ctx) {
  place *at = ctx;
  k_mutex_lock(&at->mu);
  atomic_fetch_add(&at->had, 1);
  k_mutex_unlock(&at->mu);
}

TEST(a_breath_lets_a_waiting_thread_in) {
  place at = { 0 };
  pthread_t threads[3];
  k_mutex_init(&at.mu);
  k_mutex_lock(&at.mu);
  for (int i = 0; i < 3; i++)
    EXPECT_EQ(thread_start("waiter", 0, takes_it_once, &at, &threads[i], NULL), CAY_OK);
  while (atomic_load(&at.mu.waiting) < 3) sched_yield();
  EXPECT_EQ(atomic_load(&at.had), 0);
  while (atomic_load(&at.had) < 3) k_mutex_breathe(&at.mu); /* for ever, if it were first each time */
  EXPECT(k_mutex_is_mine(&at.mu));
  k_mutex_unlock(&at.mu);
  EXPECT(!k_mutex_is_mine(&at.mu));
  for (int i = 0; i < 3; i++) thread_join(threads[i]);
  k_mutex_destroy(&at.mu);
}

static void tries_it(void *ctx) {
  place *at = ctx;
  EXPECT(!k_mutex_try(&at->mu));
  EXPECT(!k_mutex_lock_within(&at->mu, 1));
  EXPECT(!k_mutex_is_mine(&at->mu));
}

TEST(a_taken_mutex_is_refused_at_once_or_after_a_while) {
  place at = { 0 };
  pthread_t thread;
  k_mutex_init(&at.mu);
  EXPECT(k_mutex_lock_within(&at.mu, 1));
  EXPECT_EQ(thread_start("other", 0, tries_it, &at, &thread, NULL), CAY_OK);
  thread_join(thread);
  k_mutex_unlock(&at.mu);
  EXPECT(k_mutex_try(&at.mu));
  k_mutex_unlock(&at.mu);
  k_mutex_destroy(&at.mu);
}

TEST(a_watch_counts_breaths) {
  place at = { 0 };
  k_hold_watch watch;
  k_mutex_init(&at.mu);
  k_mutex_lock(&at.mu);
  k_mutex_watch(&at.mu, &watch);
  k_mutex_breathe(&at.mu);
  k_mutex_breathe(&at.mu);
  EXPECT_EQ(watch.holds, 2);
  k_mutex_watch(&at.mu, NULL);
  k_mutex_unlock(&at.mu);
  k_mutex_destroy(&at.mu);
}
