/* timers - timer_create(2): signals from timers, their values, and counts of overruns. */
#include "posix.h"

static volatile sig_atomic_t count, code, value;

static void on_signal(int sig, siginfo_t *info, void *context) {
  (void)sig, (void)context;
  code = info->si_code;
  value = info->si_value.sival_int;
  count++;
}

static struct itimerspec in_ms(long first, long interval) {
  return (struct itimerspec){ .it_value = { first / 1000, first % 1000 * 1000000 },
                              .it_interval = { interval / 1000, interval % 1000 * 1000000 } };
}

static void wait_for(int n) {
  for (int i = 0; i < 2000 && count < n; i++) sleep_ms(5);
}

static timer_t create(int clock, int how, int sig, int number) {
  struct sigevent event = { .sigev_notify = how, .sigev_signo = sig, .sigev_value.sival_int = number };
  timer_t t;
  MUST(timer_create(clock, &event, &t));
  return t;
}

static void once(void) {
  timer_t t = create(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIGUSR1, 42);
  struct itimerspec now, first = in_ms(20, 0);
  SAY(timer_gettime(t, &now));
  SHOW(now.it_value.tv_sec + now.it_value.tv_nsec);
  SAY(timer_settime(t, 0, &first, NULL));
  SAY(timer_gettime(t, &now));
  IS(now.it_value.tv_nsec > 0 && now.it_value.tv_nsec <= 20000000);
  wait_for(1);
  SHOW(count);
  IS(code == SI_TIMER);
  SHOW(value);
  SHOW(timer_getoverrun(t));
  SAY(timer_gettime(t, &now));
  SHOW(now.it_value.tv_sec + now.it_value.tv_nsec);
  SAY(timer_delete(t));
  IS(timer_delete(t) != 0);
  SAY(timer_gettime(t, &now));
}

static void repeated(int clock) {
  timer_t t = create(clock, SIGEV_SIGNAL, SIGRTMIN + 1, 7);
  struct itimerspec old, steady = in_ms(5, 5), off = { 0 };
  count = 0;
  SAY(timer_settime(t, 0, &steady, NULL));
  wait_for(3);
  IS(count >= 3);
  SAY(timer_settime(t, 0, &off, &old));
  SHOW(old.it_interval.tv_nsec);
  IS(old.it_value.tv_nsec > 0);
  SAY(timer_delete(t));
}

static void absolute(void) {
  timer_t t = create(CLOCK_REALTIME, SIGEV_SIGNAL, SIGUSR1, 1);
  struct itimerspec at = { 0 };
  count = 0;
  clock_gettime(CLOCK_REALTIME, &at.it_value);
  at.it_value.tv_sec--;
  SAY(timer_settime(t, TIMER_ABSTIME, &at, NULL));
  wait_for(1);
  SHOW(count);
  SAY(timer_delete(t));
}

/* While its signal is blocked, expiries are counted and one signal waits. */
static void overrun(void) {
  timer_t t = create(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIGRTMIN + 2, 9);
  struct itimerspec steady = in_ms(2, 2);
  sigset_t set;
  siginfo_t info;
  sigemptyset(&set);
  sigaddset(&set, SIGRTMIN + 2);
  sigprocmask(SIG_BLOCK, &set, NULL);
  SAY(timer_settime(t, 0, &steady, NULL));
  sleep_ms(60);
  IS(sigwaitinfo(&set, &info) == SIGRTMIN + 2);
  IS(info.si_code == SI_TIMER);
  IS(info.si_overrun >= 5);
  IS(info.si_overrun == timer_getoverrun(t));
  SHOW(info.si_value.sival_int);
  SAY(timer_delete(t));
}

static void silent(void) {
  timer_t t = create(CLOCK_MONOTONIC, SIGEV_NONE, 0, 0);
  struct itimerspec now, first = in_ms(5, 0);
  SAY(timer_settime(t, 0, &first, NULL));
  sleep_ms(20);
  SAY(timer_gettime(t, &now));
  SHOW(now.it_value.tv_sec + now.it_value.tv_nsec);
}

static timer_t inherited;
static void in_child(void) {
  struct itimerspec now;
  SAY(timer_gettime(inherited, &now));
}

static void not_inherited(void) {
  inherited = create(CLOCK_MONOTONIC, SIGEV_NONE, 0, 0);
  reap_child("child", in_child);
}

static void default_action(void) {
  timer_t t;
  struct itimerspec first = in_ms(5, 0);
  MUST(timer_create(CLOCK_MONOTONIC, NULL, &t));
  MUST(timer_settime(t, 0, &first, NULL));
  sleep_ms(10000);
}

static void errors(void) {
  timer_t t = create(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIGUSR1, 0), other;
  struct itimerspec bad = { .it_value.tv_nsec = 1000000000 };
  struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = 100 };
  SAY(timer_create(999, NULL, &other));
  SAY(timer_create(CLOCK_MONOTONIC, &event, &other));
  SAY(timer_settime(t, 0, &bad, NULL));
  bad = (struct itimerspec){ .it_value.tv_sec = -1 };
  SAY(timer_settime(t, 0, &bad, NULL));
}

int main(void) {
  struct sigaction act = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART };
  sigaction(SIGUSR1, &act, NULL);
  sigaction(SIGRTMIN + 1, &act, NULL);
  once();
  repeated(CLOCK_MONOTONIC);
  repeated(CLOCK_REALTIME);
  absolute();
  overrun();
  silent();
  not_inherited();
  errors();
  reap_child("default action", default_action);
  return 0;
}
