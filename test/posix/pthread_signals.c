/* pthread_signals - signals of a process with threads: masks and handlers of a thread, pthread_kill, sigwait, who takes what
 * was sent to the process, stop and continue of all. */
#include "posix.h"

#include <pthread.h>
#include <sys/syscall.h>

#define E(...) say("%s = %s\n", #__VA_ARGS__, error_name(__VA_ARGS__))

static pthread_t worker;
static volatile int in_worker, in_main, ready, stop;

static void note(int sig) {
  (void)sig;
  if (pthread_equal(pthread_self(), worker))
    in_worker++;
  else
    in_main++;
}

static void *spins(void *unused) {
  ready = 1;
  while (!stop) continue;
  return unused;
}

static void *sleeps(void *unused) {
  struct timespec t = { 30, 0 };
  (void)unused;
  ready = 1;
  return (void *)(intptr_t)(nanosleep(&t, NULL) < 0 ? errno : 0);
}

static void *takes(void *set) {
  int sig = 0;
  ready = 1;
  int r = sigwait(set, &sig);
  return (void *)(intptr_t)(r == 0 ? sig : -r);
}

static void start(void *(*fn)(void *), void *arg) {
  ready = stop = in_worker = in_main = 0;
  MUST(pthread_create(&worker, NULL, fn, arg));
  while (!ready) sched_yield();
  sleep_ms(10);
}

static intptr_t finish(void) {
  void *result;
  stop = 1;
  MUST(pthread_join(worker, &result));
  return (intptr_t)result;
}

static void until(volatile int *what) {
  for (int i = 0; i < 5000 && *what == 0; i++) sleep_ms(1);
}

int main(void) {
  struct sigaction sa = { .sa_handler = note };
  sigset_t set, old, pending;
  MUST(sigaction(SIGUSR1, &sa, NULL));
  MUST(sigaction(SIGUSR2, &sa, NULL));

  start(spins, NULL);
  E(pthread_kill(worker, SIGUSR1));
  until(&in_worker);
  SHOW(in_worker);
  SHOW(in_main);
  E(pthread_kill(worker, 0));
  finish();

  start(sleeps, NULL);
  E(pthread_kill(worker, SIGUSR1));
  say("sleep: %s\n", error_name((int)finish()));
  SHOW(in_worker);

  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  E(pthread_sigmask(SIG_BLOCK, &set, &old));
  start(takes, &set);
  MUST(kill(getpid(), SIGUSR2));
  say("sigwait: %s\n", signal_name((int)finish()));
  SHOW(in_worker + in_main);

  /* Blocked in one, open in the other: that one takes it. */
  start(sleeps, NULL);
  E(pthread_kill(worker, SIGUSR2));
  MUST(sigpending(&pending));
  IS(sigismember(&pending, SIGUSR2));
  E(pthread_kill(worker, SIGUSR1));
  say("sleep: %s\n", error_name((int)finish()));

  E(pthread_kill(pthread_self(), SIGUSR2));
  MUST(sigpending(&pending));
  IS(sigismember(&pending, SIGUSR2));
  in_main = 0;
  E(pthread_sigmask(SIG_SETMASK, &old, NULL));
  SHOW(in_main);

  /* The process's own signal while this thread blocks it. */
  start(spins, NULL);
  E(pthread_sigmask(SIG_BLOCK, &set, NULL));
  MUST(kill(getpid(), SIGUSR2));
  until(&in_worker);
  SHOW(in_worker);
  SHOW(in_main);
  finish();
  SAY(syscall(SYS_tgkill, getpid(), 0x7fffffff, SIGUSR1));
  SAY(syscall(SYS_tkill, -1, SIGUSR1));
  return 0;
}
