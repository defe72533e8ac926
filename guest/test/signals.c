/* Handlers, masks and jumps out of handlers. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "check.h"

static volatile sig_atomic_t seen, order[8];
static sigjmp_buf back;

static void note(int sig) { order[seen++ & 7] = sig; }

static void leave(int sig) { siglongjmp(back, sig); }

static void inform(int sig, siginfo_t *info, void *context) {
  ucontext_t *uc = context;
  CHECK(info->si_signo == sig && info->si_pid == getpid() && uc && !sigismember(&uc->uc_sigmask, sig));
  sigaddset(&uc->uc_sigmask, SIGUSR2); /* stays blocked after the handler */
  seen++;
}

static int blocked(int sig) {
  sigset_t now;
  sigprocmask(SIG_SETMASK, 0, &now);
  return sigismember(&now, sig);
}

static void a_handler_runs_at_once_and_its_mask_is_undone(void) {
  struct sigaction action = { .sa_handler = note };
  sigaction(SIGUSR1, &action, 0);
  seen = 0;
  CHECK(raise(SIGUSR1) == 0 && seen == 1 && order[0] == SIGUSR1 && !blocked(SIGUSR1));
}

static void blocked_signals_wait(void) {
  sigset_t set, old;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  seen = 0;
  sigprocmask(SIG_BLOCK, &set, &old);
  raise(SIGUSR1);
  CHECK(seen == 0);
  sigprocmask(SIG_SETMASK, &old, 0);
  CHECK(seen == 1);
}

static void a_handler_can_be_left_by_a_jump(void) {
  struct sigaction action = { .sa_handler = leave };
  sigaction(SIGUSR1, &action, 0);
  for (volatile int i = 0; i < 3; i++) {
    int sig = sigsetjmp(back, 1);
    if (!sig) {
      raise(SIGUSR1);
      CHECK(!"reached");
    }
    CHECK(sig == SIGUSR1 && !blocked(SIGUSR1));
  }
}

static void a_handler_sees_and_changes_its_context(void) {
  struct sigaction action = { .sa_sigaction = inform, .sa_flags = SA_SIGINFO };
  sigaction(SIGUSR1, &action, 0);
  seen = 0;
  kill(getpid(), SIGUSR1);
  CHECK(seen == 1 && blocked(SIGUSR2));
}

static void a_one_shot_handler_is_gone(void) {
  struct sigaction action = { .sa_handler = note, .sa_flags = (int)SA_RESETHAND }, after;
  sigaction(SIGUSR1, &action, 0);
  raise(SIGUSR1);
  sigaction(SIGUSR1, 0, &after);
  CHECK(after.sa_handler == SIG_DFL);
}

static void a_sleep_is_interrupted(void) {
  struct sigaction action = { .sa_handler = note };
  struct itimerval soon = { .it_value.tv_usec = 20000 };
  sigaction(SIGALRM, &action, 0);
  seen = 0;
  setitimer(ITIMER_REAL, &soon, 0);
  CHECK(nanosleep(&(struct timespec){ .tv_sec = 20 }, 0) < 0 && errno == EINTR && seen == 1);
}

static void a_semaphore_times_out(void) {
  sem_t sem;
  struct timespec until;
  sem_init(&sem, 0, 0);
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec = (until.tv_nsec + 10000000) % 1000000000;
  if (until.tv_nsec < 10000000) until.tv_sec++;
  CHECK(sem_timedwait(&sem, &until) < 0 && errno == ETIMEDOUT);
}

static void *nothing(void *arg) { return arg; }

static void what_there_is_not_fails_cleanly(void) {
  pthread_t thread;
  stack_t stack = { .ss_sp = (char[SIGSTKSZ]){ 0 }, .ss_size = SIGSTKSZ }, old;
  int r = pthread_create(&thread, 0, nothing, 0);
  CHECK(r == EAGAIN || r == 0);
  CHECK(sigaltstack(&stack, &old) == 0 && (old.ss_flags & SS_DISABLE));
}

int main(void) {
  a_handler_runs_at_once_and_its_mask_is_undone();
  blocked_signals_wait();
  a_handler_can_be_left_by_a_jump();
  a_handler_sees_and_changes_its_context();
  a_one_shot_handler_is_gone();
  a_sleep_is_interrupted();
  a_semaphore_times_out();
  what_there_is_not_fails_cleanly();
  return CHECKED();
}
