/* wait_test.c - sleeping, as src/kernel/core/wait.h promises it. */
#include "base/thread.h"
#include "kernel/core/wait.h"
#include "native_runner.h"

typedef struct place {
  native *world;
  k_kernel *kernel;
  k_sleeper sleeper;
  k_waitq a, b;
} place;

static void place_init(place *at) {
  at->world = native_new(NULL);
  at->kernel = native_kernel(at->world);
  EXPECT_EQ(k_sleeper_init(&at->sleeper, at->kernel, NULL), 0);
  k_waitq_init(&at->a);
  k_waitq_init(&at->b);
  k_lock(at->kernel);
}

static void place_free(place *at) {
  EXPECT(list_empty(&at->a.waiters));
  EXPECT(list_empty(&at->b.waiters));
  k_unlock(at->kernel);
  k_sleeper_destroy(&at->sleeper);
  native_free(at->world);
}

TEST(a_sleep_ends_at_its_deadline) {
  place at;
  place_init(&at);
  k_waitq *queues[] = { &at.a, &at.b };
  EXPECT_EQ(k_sleep(&at.sleeper, queues, 2, clock_mono_ns() + NS_PER_MS), -K_ETIMEDOUT);
  EXPECT_EQ(k_sleep(&at.sleeper, queues, 2, 0), -K_ETIMEDOUT);
  EXPECT_EQ(k_sleep(&at.sleeper, NULL, 0, -5), -K_ETIMEDOUT);
  place_free(&at);
}

static void wakes(void *ctx) {
  place *at = ctx;
  for (bool asleep = false; !asleep;) {
    k_lock(at->kernel);
    asleep = at->sleeper.asleep;
    if (asleep) k_wake(&at->b);
    k_unlock(at->kernel);
  }
}

TEST(any_queue_wakes_a_sleeper) {
  place at;
  pthread_t thread;
  place_init(&at);
  k_waitq *queues[] = { &at.a, &at.b };
  EXPECT_EQ(thread_start("waker", 0, wakes, &at, &thread, NULL), CAY_OK);
  EXPECT_EQ(k_sleep(&at.sleeper, queues, 2, K_FOREVER), 0);
  k_unlock(at.kernel);
  thread_join(thread);
  k_lock(at.kernel);
  EXPECT_EQ(at.b.wakes, 1);
  place_free(&at);
}

TEST(a_thousand_queues_are_slept_on_and_no_more) {
  place at;
  static k_waitq many[K_SLEEP_MAX_QUEUES + 1];
  static k_waitq *queues[K_SLEEP_MAX_QUEUES + 1];
  place_init(&at);
  for (size_t i = 0; i < COUNT_OF(many); i++) {
    k_waitq_init(&many[i]);
    queues[i] = &many[i];
  }
  EXPECT_EQ(k_sleep(&at.sleeper, queues, K_SLEEP_MAX_QUEUES, 0), -K_ETIMEDOUT);
  EXPECT_EQ(k_sleep(&at.sleeper, queues, K_SLEEP_MAX_QUEUES + 1, 0), -K_EINVAL);
  for (size_t i = 0; i < COUNT_OF(many); i++) EXPECT(list_empty(&many[i].waiters));
  place_free(&at);
}

TEST(sleeping_on_few_queues_takes_no_memory) {
  place at;
  place_init(&at);
  k_waitq *queues[] = { &at.a, &at.b };
  mem_fail_at(1);
  EXPECT_EQ(k_sleep(&at.sleeper, queues, 2, 0), -K_ETIMEDOUT);
  EXPECT(!mem_has_failed());
  mem_fail_at(0);
  place_free(&at);
}

static int killed_in_sleep(k_process *p, void *arg) {
  (void)arg;
  k_ret pid = native_fork(p, native_sleeps, NULL);
  native_until_asleep(p, (int32_t)pid);
  SYS((k_process_end(k_process_find(p->kernel, (int32_t)pid), 3 << 8), 0));
  k_wait_result got;
  NEED_EQ(SYS(k_wait(p, -1, K_WEXITED, &got)), pid);
  return got.status >> 8;
}

TEST(the_end_of_a_process_ends_its_sleep) { EXPECT_EQ(native_run(killed_in_sleep, NULL), 3 << 8); }
