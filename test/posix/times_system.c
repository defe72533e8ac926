/* times(2), getrusage(2): the time of system calls and that of the program's own code are told apart. */
#include "posix.h"

#include <sys/resource.h>
#include <sys/times.h>

static double seconds(struct timeval t) { return (double)t.tv_sec + (double)t.tv_usec / 1e6; }

static struct rusage used(void) {
  struct rusage r;
  if (getrusage(RUSAGE_SELF, &r) != 0) printf("getrusage failed\n");
  return r;
}

int main(void) {
  enum { LEN = 1 << 16 };
  static char buf[LEN];
  int fd = open("/dev/zero", O_RDONLY);
  int failed = 0;
  time_t end = time(NULL) + 20;
  struct rusage r = used();
  while (seconds(r.ru_stime) < 0.05 && time(NULL) < end) {
    for (int i = 0; i < 500; i++) failed += read(fd, buf, LEN) != LEN;
    r = used();
  }
  IS(failed == 0);
  IS(seconds(r.ru_stime) >= 0.05);
  double system = seconds(r.ru_stime);
  volatile unsigned sum = 0;
  double user = seconds(r.ru_utime);
  while (seconds(r.ru_utime) < user + 0.2 && time(NULL) < end) {
    for (unsigned i = 0; i < 10000000; i++) sum += i;
    r = used();
  }
  IS(seconds(r.ru_utime) >= user + 0.2);
  IS(seconds(r.ru_stime) < system + 0.1);
  struct tms t;
  IS(times(&t) != (clock_t)-1);
  IS(t.tms_utime > 0 && t.tms_stime > 0);
  return 0;
}
