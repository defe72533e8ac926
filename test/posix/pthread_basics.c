/* pthread_basics - pthreads(7): create, join, detach, exit; variables and keys of a thread; once; many of them. */
#include "posix.h"

#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>

#define E(...) say("%s = %s\n", #__VA_ARGS__, error_name(__VA_ARGS__))

static _Thread_local int mine = 5;
static _Thread_local char big[3000];
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int destroyed, begun;
static sem_t ended;

static void begin(void) { begun++; }

static void destroy(void *value) { __atomic_fetch_add(&destroyed, (int)(intptr_t)value, __ATOMIC_SEQ_CST); }

static void *count(void *number) {
  pthread_once(&once, begin);
  pthread_setspecific(key, number);
  mine += (int)(intptr_t)number;
  for (size_t i = 0; i < sizeof big; i++)
    if (big[i] != 0) return NULL;
  memset(big, 1, sizeof big);
  errno = mine;
  sched_yield();
  return errno == mine && pthread_getspecific(key) == number ? (void *)(intptr_t)mine : NULL;
}

static void *leave(void *value) {
  pthread_exit(value);
  return NULL;
}

static void *detached(void *unused) {
  (void)unused;
  sem_post(&ended);
  return NULL;
}

static void *identity(void *out) {
  *(pid_t *)out = (pid_t)syscall(SYS_gettid);
  return (void *)(intptr_t)(getpid() == (pid_t)syscall(SYS_gettid));
}

static void *stack_use(void *depth) {
  volatile char room[1024];
  room[0] = 1;
  if ((intptr_t)depth == 0) return (void *)1;
  return (void *)((intptr_t)stack_use((void *)((intptr_t)depth - 1)) + room[0]);
}

int main(void) {
  pthread_t t[8], one;
  void *result;
  pthread_attr_t attr;
  E(pthread_key_create(&key, destroy));
  for (intptr_t i = 0; i < 8; i++) MUST(pthread_create(&t[i], NULL, count, (void *)(i + 1)));
  for (int i = 0; i < 8; i++) {
    E(pthread_join(t[i], &result));
    SHOW((intptr_t)result);
  }
  SHOW(mine);
  SHOW(destroyed);
  SHOW(begun);
  MUST(pthread_create(&one, NULL, leave, &key));
  E(pthread_join(one, &result));
  IS(result == &key);

  pid_t tid = 0;
  MUST(pthread_create(&one, NULL, identity, &tid));
  pthread_join(one, &result);
  SHOW((intptr_t)result);
  IS(tid > 0 && tid != getpid());
  IS(syscall(SYS_gettid) == getpid());

  sem_init(&ended, 0, 0);
  E(pthread_attr_init(&attr));
  E(pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED));
  for (int i = 0; i < 100; i++) {
    MUST(pthread_create(&one, &attr, detached, NULL));
    sem_wait(&ended);
  }
  E(pthread_attr_setstacksize(&attr, 1024));
  E(pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_JOINABLE));
  E(pthread_attr_setstacksize(&attr, 2 << 20));
  MUST(pthread_create(&one, &attr, stack_use, (void *)1000));
  pthread_join(one, &result);
  SHOW((intptr_t)result);
  for (int i = 0; i < 200; i++) {
    MUST(pthread_create(&one, NULL, count, (void *)1));
    MUST(pthread_join(one, NULL));
  }
  SHOW(destroyed);
  IS(pthread_equal(pthread_self(), pthread_self()));
  return 0;
}
