/* alarm_itimer - alarm(2), setitimer(2): one shot and repeating, replaced and cancelled, kept over exec, not
 * over fork. */
#include "posix.h"

#include <sys/time.h>

static volatile sig_atomic_t rings;

static void ring(int sig) {
  (void)sig;
  rings++;
}

static struct itimerval timer(int first_ms, int every_ms) {
  return (struct itimerval){ { every_ms / 1000, every_ms % 1000 * 1000 },
                             { first_ms / 1000, first_ms % 1000 * 1000 } };
}

int main(int argc, char **argv) {
  (void)argv;
  if (argc > 1) {
    struct itimerval left;
    getitimer(ITIMER_REAL, &left);
    IS(left.it_value.tv_sec > 10);
    alarm(0);
    return 0;
  }
  struct itimerval t, left;
  signal(SIGALRM, ring);
  SAY(alarm(100));
  SAY(alarm(50));
  SAY(alarm(0));
  SAY(alarm(0));

  t = timer(20, 0);
  SAY(setitimer(ITIMER_REAL, &t, NULL));
  while (rings == 0) sleep_ms(5);
  SAY(getitimer(ITIMER_REAL, &left));
  IS(left.it_value.tv_sec == 0 && left.it_value.tv_usec == 0);

  rings = 0;
  t = timer(5, 5);
  MUST(setitimer(ITIMER_REAL, &t, NULL));
  while (rings < 5) pause();
  SAY(getitimer(ITIMER_REAL, &left));
  SHOW(left.it_interval.tv_usec);
  t = timer(0, 0);
  MUST(setitimer(ITIMER_REAL, &t, &left));
  SHOW(left.it_interval.tv_usec);
  int before = rings;
  sleep_ms(20);
  IS(rings == before);

  t.it_value.tv_usec = 1000000;
  SAY(setitimer(ITIMER_REAL, &t, NULL));
  SAY(setitimer(99, &left, NULL));

  alarm(100);
  pid_t pid = MUST(fork());
  if (pid == 0) {
    SAY(alarm(60));
    execl(SELF, "again", "x", (char *)NULL);
    _exit(127);
  }
  reap("child", pid);
  IS(alarm(0) > 50);

  signal(SIGALRM, SIG_DFL);
  pid = MUST(fork());
  if (pid == 0) {
    t = timer(10, 0);
    MUST(setitimer(ITIMER_REAL, &t, NULL));
    for (;;) pause();
  }
  reap("child", pid);
  return 0;
}
