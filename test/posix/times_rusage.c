/* times_rusage - times(2), getrusage(2), wait4(2): time used is counted, a child's after it was waited for.
 */
#include "posix.h"

#include <sys/resource.h>
#include <sys/times.h>

static double used(int who) {
  struct rusage u;
  MUST(getrusage(who, &u));
  return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
         (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void burn(double seconds) {
  volatile unsigned work = 1;
  double until = used(RUSAGE_SELF) + seconds;
  while (used(RUSAGE_SELF) < until)
    for (int i = 0; i < 100000; i++) work = work * 33 + 1;
}

int main(void) {
  struct rusage u;
  struct tms t;
  IS(used(RUSAGE_CHILDREN) == 0);
  double before = used(RUSAGE_SELF);
  burn(0.05);
  IS(used(RUSAGE_SELF) - before >= 0.05);
  IS(times(&t) != (clock_t)-1);
  IS(t.tms_utime + t.tms_stime > 0);
  SHOW(t.tms_cutime + t.tms_cstime);
  SHOW(sysconf(_SC_CLK_TCK));

  pid_t pid = MUST(fork());
  if (pid == 0) {
    IS(used(RUSAGE_SELF) < 0.04); /* a child starts from zero */
    burn(0.05);
    _exit(0);
  }
  IS(wait4(pid, NULL, 0, &u) == pid);
  IS((double)u.ru_utime.tv_sec + (double)u.ru_utime.tv_usec / 1e6 + (double)u.ru_stime.tv_sec +
         (double)u.ru_stime.tv_usec / 1e6 >
     0.04);
  IS(used(RUSAGE_CHILDREN) > 0.04);
  times(&t);
  IS(t.tms_cutime + t.tms_cstime > 0);
  SAY(getrusage(77, &u));
  return 0;
}
