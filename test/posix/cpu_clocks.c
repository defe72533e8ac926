/* cpu_clocks - clock_getcpuclockid(3): the time that a process has computed, one's own and a child's. */
#include "posix.h"

static double now(clockid_t clock) {
  struct timespec t;
  MUST(clock_gettime(clock, &t));
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void burn(double seconds) {
  volatile unsigned work = 1;
  double until = now(CLOCK_PROCESS_CPUTIME_ID) + seconds;
  while (now(CLOCK_PROCESS_CPUTIME_ID) < until)
    for (int i = 0; i < 100000; i++) work = work * 33 + 1;
}

int main(void) {
  clockid_t own, by_pid, child;
  int gate[2], status;
  char byte;
  SHOW(clock_getcpuclockid(0, &own));
  SHOW(clock_getcpuclockid(getpid(), &by_pid));
  double before = now(own);
  burn(0.03);
  IS(now(own) - before >= 0.03);
  IS(now(by_pid) >= now(own) - 0.02);
  IS(clock_getcpuclockid(1 << 22, &child) == ESRCH);

  MUST(pipe(gate));
  pid_t pid = MUST(fork());
  if (pid == 0) {
    burn(0.05);
    MUST(write(gate[1], "x", 1));
    pause();
    _exit(0);
  }
  MUST(read(gate[0], &byte, 1));
  SHOW(clock_getcpuclockid(pid, &child));
  IS(now(child) >= 0.05);
  MUST(kill(pid, SIGKILL));
  MUST(waitpid(pid, &status, 0));
  struct timespec t;
  SAY(clock_gettime(child, &t));
  IS(now(CLOCK_BOOTTIME) >= now(CLOCK_MONOTONIC) - 0.001);
  return 0;
}
