/* named_semaphores - sem_open(3): semaphores that processes share by name. */
#include "posix.h"

#include <semaphore.h>

static char name[64];

static void child(void) {
  sem_t *s = sem_open(name, 0);
  IS(s != SEM_FAILED);
  SAY(sem_trywait(s));
  sleep_ms(20);
  SAY(sem_post(s));
}

static void value(sem_t *s) {
  int n = -1;
  SAY(sem_getvalue(s, &n));
  SHOW(n);
}

static void unnamed(void) {
  sem_t s;
  struct timespec at;
  SAY(sem_init(&s, 0, 1));
  SAY(sem_wait(&s));
  SAY(sem_trywait(&s));
  clock_gettime(CLOCK_REALTIME, &at);
  SAY(sem_timedwait(&s, &at));
  SAY(sem_post(&s));
  value(&s);
  SAY(sem_destroy(&s));
}

int main(void) {
  snprintf(name, sizeof name, "/cay-posix-%d", (int)getpid());
  IS(sem_open(name, 0) == SEM_FAILED && errno == ENOENT);
  sem_t *s = sem_open(name, O_CREAT | O_EXCL, 0600, 2);
  IS(s != SEM_FAILED);
  IS(sem_open(name, O_CREAT | O_EXCL, 0600, 2) == SEM_FAILED && errno == EEXIST);
  IS(sem_open(name, O_CREAT, 0600, 7) == s);
  value(s);
  SAY(sem_wait(s));
  SAY(sem_wait(s));
  SAY(sem_trywait(s));
  value(s);
  struct timespec at;
  clock_gettime(CLOCK_REALTIME, &at);
  SAY(sem_timedwait(s, &at));
  SAY(sem_post(s));
  reap_child("child", child);
  value(s);
  SAY(sem_wait(s));
  pid_t pid = MUST(fork());
  if (pid == 0) {
    sleep_ms(20);
    _exit(sem_post(s) == 0 ? 0 : 1);
  }
  SAY(sem_wait(s));
  reap("poster", pid);
  value(s);
  SAY(sem_close(s));
  SAY(sem_unlink(name));
  SAY(sem_unlink(name));
  IS(sem_open(name, 0) == SEM_FAILED && errno == ENOENT);
  SAY(sem_post(s));
  value(s);
  SAY(sem_close(s));
  unnamed();
  return 0;
}
