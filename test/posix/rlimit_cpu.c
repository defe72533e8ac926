/* rlimit_cpu - setrlimit(2): RLIMIT_CPU warns with SIGXCPU and kills at the hard limit; fork and exec keep
 * it. */
#include "posix.h"

#include <sys/resource.h>

static volatile sig_atomic_t warnings;

static void warn(int sig) {
  (void)sig;
  warnings++;
}

static void limit(rlim_t soft, rlim_t hard) {
  struct rlimit l = { soft, hard };
  MUST(setrlimit(RLIMIT_CPU, &l));
}

static void compute(void) {
  for (volatile unsigned n = 0;; n++) continue;
}

int main(int argc, char **argv) {
  (void)argv;
  if (argc > 1) compute();

  pid_t pid = MUST(fork());
  if (pid == 0) {
    limit(1, 5);
    compute();
  }
  reap("soft", pid);

  pid = MUST(fork());
  if (pid == 0) {
    signal(SIGXCPU, warn);
    limit(1, 2);
    while (warnings == 0) continue;
    say("warned\n");
    compute();
  }
  reap("hard", pid);

  pid = MUST(fork());
  if (pid == 0) {
    limit(1, 1);
    execl(SELF, "again", "computes", (char *)NULL);
    _exit(127);
  }
  reap("exec", pid);

  pid = MUST(fork());
  if (pid == 0) {
    limit(1, 1);
    sleep_ms(1200);
    _exit(7);
  }
  reap("sleep", pid);

  struct rusage used;
  MUST(getrusage(RUSAGE_CHILDREN, &used));
  IS(used.ru_utime.tv_sec + used.ru_stime.tv_sec >= 3);
  return 0;
}
