/* pthread_cancel - pthread_cancel(3): at a call that waits, in a condition, by asking, disabled, with handlers that clean up. */
#include "posix.h"

#include <pthread.h>

#define E(...) say("%s = %s\n", #__VA_ARGS__, error_name(__VA_ARGS__))

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static int pipes[2];
static volatile int ready, go;

static void clean(void *name) { say("cleanup of %s\n", (const char *)name); }
static void unlock(void *mutex) { E(pthread_mutex_unlock(mutex)); }

static void *reads(void *unused) {
  char byte;
  pthread_cleanup_push(clean, "read");
  ready = 1;
  (void)!read(pipes[0], &byte, 1);
  say("not reached\n");
  pthread_cleanup_pop(1);
  return unused;
}

static void *sleeps(void *unused) {
  pthread_cleanup_push(clean, "outer");
  pthread_cleanup_push(clean, "inner");
  ready = 1;
  sleep(30);
  pthread_cleanup_pop(0);
  pthread_cleanup_pop(0);
  return unused;
}

static void *waits(void *unused) {
  pthread_mutex_lock(&mu);
  pthread_cleanup_push(unlock, &mu);
  ready = 1;
  while (true) pthread_cond_wait(&never, &mu);
  pthread_cleanup_pop(0);
  return unused;
}

static void *asks(void *unused) {
  ready = 1;
  while (!go) sched_yield();
  pthread_testcancel();
  say("not reached\n");
  return unused;
}

static void *refuses(void *unused) {
  int old;
  (void)unused;
  E(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old));
  IS(old == PTHREAD_CANCEL_ENABLE);
  ready = 1;
  while (!go) sched_yield();
  pthread_testcancel();
  sleep_ms(1);
  E(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old));
  say("enabled\n");
  pthread_testcancel();
  say("not reached\n");
  return NULL;
}

static void *ends(void *unused) { return unused; }

static void cancel(const char *what, void *(*fn)(void *)) {
  pthread_t t;
  void *result = NULL;
  say("%s\n", what);
  ready = go = 0;
  MUST(pthread_create(&t, NULL, fn, NULL));
  while (!ready) sched_yield();
  sleep_ms(10);
  E(pthread_cancel(t));
  go = 1;
  E(pthread_join(t, &result));
  IS(result == PTHREAD_CANCELED);
}

int main(void) {
  pthread_t t;
  MUST(pipe(pipes));
  cancel("read", reads);
  cancel("sleep", sleeps);
  cancel("condition", waits);
  E(pthread_mutex_trylock(&mu));
  cancel("testcancel", asks);
  cancel("disabled", refuses);
  MUST(pthread_create(&t, NULL, ends, NULL));
  sleep_ms(20);
  E(pthread_cancel(t));
  E(pthread_join(t, NULL));
  return 0;
}
