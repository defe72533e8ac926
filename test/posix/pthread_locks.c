/* pthread_locks - mutexes of each kind, robust ones, with a deadline; conditions, read-write locks, barriers, semaphores. */
#include "posix.h"

#include <pthread.h>
#include <semaphore.h>

#define E(...) say("%s = %s\n", #__VA_ARGS__, error_name(__VA_ARGS__))

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_spinlock_t spin;
static sem_t slots;
static long total, turn, serial, readers, most;

static struct timespec in_ms(int ms) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  t.tv_nsec += ms * 1000000L;
  t.tv_sec += t.tv_nsec / 1000000000;
  t.tv_nsec %= 1000000000;
  return t;
}

static void *add(void *unused) {
  for (int i = 0; i < 20000; i++) {
    pthread_mutex_lock(&mu);
    total++;
    pthread_mutex_unlock(&mu);
    pthread_spin_lock(&spin);
    serial++;
    pthread_spin_unlock(&spin);
  }
  return unused;
}

static void *ping(void *which) {
  for (int i = 0; i < 500; i++) {
    pthread_mutex_lock(&mu);
    while (turn % 2 != (intptr_t)which) pthread_cond_wait(&changed, &mu);
    turn++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mu);
  }
  return NULL;
}

static void *other_thread(void *mutex) { return (void *)(intptr_t)pthread_mutex_trylock(mutex); }
static void *unlock_it(void *mutex) { return (void *)(intptr_t)pthread_mutex_unlock(mutex); }
static void *die_with_it(void *mutex) { return (void *)(intptr_t)pthread_mutex_lock(mutex); }

static int in_thread(void *(*fn)(void *), void *arg) {
  pthread_t t;
  void *result;
  MUST(pthread_create(&t, NULL, fn, arg));
  MUST(pthread_join(t, &result));
  return (int)(intptr_t)result;
}

static void kinds(void) {
  static const struct {
    int kind;
    const char *name;
  } all[] = { { PTHREAD_MUTEX_NORMAL, "normal" },
              { PTHREAD_MUTEX_RECURSIVE, "recursive" },
              { PTHREAD_MUTEX_ERRORCHECK, "errorcheck" } };
  for (size_t i = 0; i < COUNT_OF(all); i++) {
    pthread_mutexattr_t attr;
    pthread_mutex_t m;
    say("%s\n", all[i].name);
    pthread_mutexattr_init(&attr);
    E(pthread_mutexattr_settype(&attr, all[i].kind));
    E(pthread_mutex_init(&m, &attr));
    E(pthread_mutex_lock(&m));
    E(in_thread(other_thread, &m));
    E(pthread_mutex_trylock(&m));
    struct timespec soon = in_ms(20);
    if (all[i].kind != PTHREAD_MUTEX_NORMAL) {
      E(pthread_mutex_lock(&m));
      E(in_thread(unlock_it, &m));
    } else {
      E(pthread_mutex_timedlock(&m, &soon));
    }
    E(pthread_mutex_unlock(&m));
  }
}

static void robust(void) {
  pthread_mutexattr_t attr;
  pthread_mutex_t m;
  pthread_mutexattr_init(&attr);
  E(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST));
  E(pthread_mutex_init(&m, &attr));
  E(in_thread(die_with_it, &m));
  E(pthread_mutex_lock(&m));
  E(pthread_mutex_consistent(&m));
  E(pthread_mutex_unlock(&m));
  E(in_thread(die_with_it, &m));
  E(pthread_mutex_lock(&m));
  E(pthread_mutex_unlock(&m));
  E(pthread_mutex_lock(&m));
}

static void *reader(void *unused) {
  for (int i = 0; i < 50; i++) {
    pthread_rwlock_rdlock(&rw);
    long now = __atomic_add_fetch(&readers, 1, __ATOMIC_SEQ_CST);
    if (now > most) most = now;
    sched_yield();
    __atomic_sub_fetch(&readers, 1, __ATOMIC_SEQ_CST);
    pthread_rwlock_unlock(&rw);
  }
  return unused;
}

static void *writer(void *unused) {
  for (int i = 0; i < 50; i++) {
    pthread_rwlock_wrlock(&rw);
    if (__atomic_load_n(&readers, __ATOMIC_SEQ_CST) != 0) say("a reader beside a writer\n");
    sched_yield();
    pthread_rwlock_unlock(&rw);
  }
  return unused;
}

static void *meet(void *unused) {
  (void)unused;
  return (void *)(intptr_t)(pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD);
}

static void *post(void *unused) {
  sleep_ms(20);
  sem_post(&slots);
  return unused;
}

static void run_all(void *(*const fns[])(void *), int count) {
  pthread_t t[8];
  for (int i = 0; i < count; i++) MUST(pthread_create(&t[i], NULL, fns[i], (void *)(intptr_t)(i % 2)));
  for (int i = 0; i < count; i++) MUST(pthread_join(t[i], NULL));
}

int main(void) {
  pthread_t t[4];
  void *result;
  E(pthread_spin_init(&spin, 0));
  run_all((void *(*const[])(void *)){ add, add, add, add }, 4);
  SHOW(total);
  SHOW(serial);
  run_all((void *(*const[])(void *)){ ping, ping }, 2);
  SHOW(turn);
  kinds();
  robust();

  struct timespec soon = in_ms(20);
  pthread_mutex_lock(&mu);
  E(pthread_cond_timedwait(&changed, &mu, &soon));
  soon.tv_nsec = -1;
  E(pthread_cond_timedwait(&changed, &mu, &soon));
  pthread_mutex_unlock(&mu);

  run_all((void *(*const[])(void *)){ reader, writer, reader, reader, writer }, 5);
  SHOW(readers);
  E(pthread_rwlock_rdlock(&rw));
  E(pthread_rwlock_trywrlock(&rw));
  E(pthread_rwlock_tryrdlock(&rw));
  soon = in_ms(20);
  E(pthread_rwlock_timedwrlock(&rw, &soon));

  E(pthread_barrier_init(&barrier, NULL, 4));
  for (int round = 0; round < 3; round++) {
    intptr_t serials = 0;
    for (int i = 0; i < 4; i++) MUST(pthread_create(&t[i], NULL, meet, NULL));
    for (int i = 0; i < 4; i++) {
      MUST(pthread_join(t[i], &result));
      serials += (intptr_t)result;
    }
    SHOW(serials);
  }

  SAY(sem_init(&slots, 0, 1));
  SAY(sem_trywait(&slots));
  SAY(sem_trywait(&slots));
  soon = in_ms(20);
  SAY(sem_timedwait(&slots, &soon));
  MUST(pthread_create(&t[0], NULL, post, NULL));
  SAY(sem_wait(&slots));
  MUST(pthread_join(t[0], NULL));
  return 0;
}
