/* eventfd_timerfd - eventfd(2), timerfd_create(2): counters and clocks as descriptors. */
#include "posix.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

/* What fdinfo says, without taking any; -1: nothing. */
static long long counted(int fd) { return fdinfo_number(fd, "eventfd-count:", 16, -1); }

int main(void) {
  uint64_t n = 0;
  int fd = OK(eventfd(3, EFD_NONBLOCK | EFD_CLOEXEC));
  SAY(read(fd, &n, sizeof n));
  SHOW(n);
  SAY(read(fd, &n, sizeof n));
  n = 5;
  SAY(write(fd, &n, sizeof n));
  SAY(write(fd, &n, sizeof n));
  SAY(read(fd, &n, 4));
  struct pollfd p = { fd, POLLIN | POLLOUT, 0 };
  SAY(poll(&p, 1, 0));
  IS(p.revents == (POLLIN | POLLOUT));
  SAY(read(fd, &n, sizeof n));
  SHOW(n);
  n = UINT64_MAX;
  SAY(write(fd, &n, sizeof n));
  n = UINT64_MAX - 1;
  SAY(write(fd, &n, sizeof n));
  SAY(write(fd, &(uint64_t){ 1 }, sizeof n));
  SHOW(counted(fd));
  int sem = OK(eventfd(20, EFD_SEMAPHORE | EFD_NONBLOCK));
  SHOW(counted(sem));
  SAY(read(sem, &n, sizeof n));
  SHOW(n);
  SHOW(counted(sem));
  sem = OK(eventfd(2, EFD_SEMAPHORE | EFD_NONBLOCK));
  SAY(read(sem, &n, sizeof n));
  SHOW(n);
  SHOW(counted(0));
  SHOW(counted(999));
  SAY(read(sem, &n, sizeof n));
  SAY(read(sem, &n, sizeof n));

  int timer = OK(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
  SAY(read(timer, &n, sizeof n));
  struct itimerspec t = { { 0, 5000000 }, { 0, 5000000 } }, old;
  SAY(timerfd_settime(timer, 0, &t, NULL));
  sleep_ms(30);
  p = (struct pollfd){ timer, POLLIN, 0 };
  SAY(poll(&p, 1, 10000));
  SAY(read(timer, &n, sizeof n));
  IS(n >= 5);
  t = (struct itimerspec){ { 0, 0 }, { 0, 0 } };
  SAY(timerfd_settime(timer, 0, &t, &old));
  SHOW(old.it_interval.tv_nsec);
  SAY(read(timer, &n, sizeof n));
  SAY(timerfd_create(999, 0));
  return 0;
}
