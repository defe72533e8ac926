/* nanosleep_eintr - nanosleep(2): sleeps long enough, returns the remainder when interrupted, absolute sleeps.
 */
#include "posix.h"

#include <sys/time.h>

static void ring(int sig) { (void)sig; }

static void alarm_in_ms(int ms) {
  struct itimerval t = { { 0, 0 }, { 0, ms * 1000 } };
  MUST(setitimer(ITIMER_REAL, &t, NULL));
}

int main(void) {
  struct timespec t = { 0, 20000000 }, left = { 0, 0 }, a, b;
  clock_gettime(CLOCK_MONOTONIC, &a);
  SAY(nanosleep(&t, NULL));
  clock_gettime(CLOCK_MONOTONIC, &b);
  IS((b.tv_sec - a.tv_sec) * 1000000000LL + b.tv_nsec - a.tv_nsec >= 20000000);

  struct sigaction sa = { .sa_handler = ring };
  sigemptyset(&sa.sa_mask);
  MUST(sigaction(SIGALRM, &sa, NULL));
  alarm_in_ms(20);
  t = (struct timespec){ 100, 0 };
  SAY(nanosleep(&t, &left));
  IS(left.tv_sec >= 50 && left.tv_sec < 100);
  alarm_in_ms(20);
  unsigned rest = sleep(100);
  IS(rest > 50 && rest <= 100);

  t = (struct timespec){ 0, 1000000000 };
  SAY(nanosleep(&t, NULL));
  t = (struct timespec){ -1, 0 };
  SAY(nanosleep(&t, NULL));
  t = (struct timespec){ 0, 0 };
  SAY(nanosleep(&t, NULL));

  clock_gettime(CLOCK_MONOTONIC, &t);
  SAY(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL));
  t.tv_nsec += 10000000;
  if (t.tv_nsec >= 1000000000) t.tv_sec++, t.tv_nsec -= 1000000000;
  SAY(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL));
  clock_gettime(CLOCK_MONOTONIC, &b);
  IS(b.tv_sec > t.tv_sec || (b.tv_sec == t.tv_sec && b.tv_nsec >= t.tv_nsec));
  alarm_in_ms(10);
  t.tv_sec += 100;
  say("%s\n", error_name(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL)));
  say("%s\n", error_name(clock_nanosleep(CLOCK_REALTIME, 0, &(struct timespec){ 0, -1 }, NULL)));
  SAY(usleep(1000));
  return 0;
}
