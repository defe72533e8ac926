/* thread_test.c - threads and their pool, as src/base/thread.h promises them. */
#include "base/thread.h"
#include "test.h"

#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

typedef struct work {
  sem_t started, go;
  atomic_bool done;
  pthread_t by;
  bool usr1_blocked, segv_blocked;
  char name[16];
} work;

static void work_init(work *w) {
  *w = (work){ 0 };
  sem_init(&w->started, 0, 0);
  sem_init(&w->go, 0, 0);
}

static void do_work(void *ctx) {
  work *w = ctx;
  w->by = pthread_self();
  (void)pthread_getname_np(pthread_self(), w->name, sizeof w->name);
  sigset_t mask;
  (void)pthread_sigmask(SIG_SETMASK, NULL, &mask);
  w->usr1_blocked = sigismember(&mask, SIGUSR1);
  w->segv_blocked = sigismember(&mask, SIGSEGV);
  sem_post(&w->started);
  sem_wait(&w->go);
  atomic_store(&w->done, true);
}

static thread_pool *pool_of(size_t keep) {
  thread_pool *pool = NULL;
  thread_pool_options options = { .name = "cay-test", .stack_len = 256 << 10, .keep = keep };
  EXPECT_EQ(thread_pool_new(&options, &pool, NULL), CAY_OK);
  return pool;
}

static void start(thread_pool *pool, work *w) {
  work_init(w);
  EXPECT_EQ(thread_pool_run(pool, do_work, w, NULL), CAY_OK);
  sem_wait(&w->started);
}

TEST(a_thread_has_its_name_and_leaves_signals_to_the_embedder) {
  work w;
  work_init(&w);
  sem_post(&w.go);
  pthread_t thread;
  EXPECT_EQ(thread_start("a-name-that-is-cut", 0, do_work, &w, &thread, NULL), CAY_OK);
  thread_join(thread);
  EXPECT_TEXT(w.name, "a-name-that-is-");
  EXPECT(w.done && w.usr1_blocked && !w.segv_blocked);
}

TEST(work_never_queues_behind_other_work) {
  thread_pool *pool = pool_of(4);
  work all[8];
  for (int i = 0; i < 8; i++) start(pool, &all[i]);
  for (int i = 0; i < 8; i++) sem_post(&all[i].go);
  thread_pool_free(pool);
  for (int i = 0; i < 8; i++) EXPECT(all[i].done);
}

TEST(an_idle_thread_is_used_again) {
  thread_pool *pool = pool_of(1);
  work first, second;
  start(pool, &first);
  sem_post(&first.go);
  while (thread_pool_idle(pool) != 1) sched_yield();
  start(pool, &second);
  EXPECT(pthread_equal(first.by, second.by));
  EXPECT_EQ(thread_pool_idle(pool), 0);
  sem_post(&second.go);
  thread_pool_free(pool);
}

TEST(threads_beyond_those_kept_go_away) {
  thread_pool *pool = pool_of(2);
  work all[6];
  for (int i = 0; i < 6; i++) start(pool, &all[i]);
  for (int i = 0; i < 6; i++) sem_post(&all[i].go);
  for (int i = 0; i < 6; i++)
    while (!all[i].done) sched_yield();
  while (thread_pool_idle(pool) != 2) usleep(1000);
  thread_pool_free(pool);
}

TEST(a_pool_waits_for_its_work) {
  thread_pool *pool = pool_of(0);
  work w;
  start(pool, &w);
  sem_post(&w.go);
  thread_pool_free(pool);
  EXPECT(w.done);
}

TEST(without_threads_the_work_is_refused) {
  AT_EVERY_FAULT {
    thread_pool *pool = NULL;
    thread_pool_options options = { .name = "cay-test" };
    cay_status status = thread_pool_new(&options, &pool, NULL);
    EXPECT(status == CAY_OK || (status == CAY_NO_MEMORY && pool == NULL));
    if (pool == NULL) continue;
    work w;
    work_init(&w);
    sem_post(&w.go);
    status = thread_pool_run(pool, do_work, &w, NULL);
    thread_pool_free(pool);
    EXPECT(status == CAY_OK ? w.done : status == CAY_NO_MEMORY && !w.done);
  }
}
