#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <time.h>

#include "cay_arch.h"
#include "futex.h"
#include "syscall.h"

#define COMMAND(op) ((op) & ~(FUTEX_PRIVATE | FUTEX_CLOCK_REALTIME))

/* With one thread only a handler can wake the sleeper: a wait is a sleep until a signal or the timeout
 * (relative, as musl asks). */
long __cay_futex(volatile int *word, long op, long value, const void *timeout) {
  switch (COMMAND(op)) {
  case FUTEX_WAIT: break;
  case FUTEX_WAKE:
  case FUTEX_REQUEUE: return 0;
  default: return -ENOSYS;
  }
  if (*word != value) return -EAGAIN;
  long r = __syscall(SYS_ppoll_time64, 0, 0, timeout, 0, _NSIG / 8);
  if (*word != value) return 0;
  return r == 0 ? -ETIMEDOUT : r;
}
