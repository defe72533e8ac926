/* wild_calls - every number with every kind of bad argument, each in a child of its own: the host lives, and
 * the sandbox goes on. */
#include "../posix/posix.h"

#include <sys/syscall.h>

static const long bad[] = { 0, 1, -1, -4096, 4095, 65536, 0x7fffffff, (long)0x80000000UL, (long)0xfffffff0UL,
                            3 };

static long pick(unsigned *state) {
  *state = *state * 1664525u + 1013904223u;
  return bad[*state / 65536 % COUNT_OF(bad)];
}

static void attack(long number) {
  unsigned state = (unsigned)number + 1;
  static char room[4096]; /* only this buffer is overwritten */
  (void)room;
  for (int round = 0; round < 60; round++)
    syscall(number, pick(&state), pick(&state), pick(&state), pick(&state), pick(&state), pick(&state));
}

int main(void) {
  int ended = 0;
  /* What kill(-1) of a child sends us, too. */
  signal(SIGHUP, SIG_IGN);
  signal(SIGQUIT, SIG_IGN);
  for (long number = 0; number < 480; number++) {
    pid_t pid = MUST(fork());
    if (pid == 0) {
      setsid();
      alarm(1);
      int null = open("/dev/null", O_RDWR);
      dup2(null, 0);
      dup2(null, 1);
      dup2(null, 2);
      attack(number);
      _exit(0);
    }
    int status;
    for (int waited = 0; waitpid(pid, &status, WNOHANG) == 0; waited++) {
      sleep_ms(1);
      if (waited == 3000) kill(pid, SIGKILL);
    }
    ended++;
  }
  SHOW(ended);
  put("f", "still here");
  get("f");
  return 0;
}
