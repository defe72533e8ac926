/* sa_restart - signal(7): a handler interrupts a blocked read, and with SA_RESTART the read goes on;
 * nanosleep and poll are interrupted either way. */
#include "posix.h"

#include <poll.h>
#include <sys/time.h>

static volatile sig_atomic_t ticks;

static void tick(int sig) {
  (void)sig;
  ticks++;
}

static void install(int flags) {
  struct sigaction sa = { .sa_handler = tick, .sa_flags = flags };
  sigemptyset(&sa.sa_mask);
  MUST(sigaction(SIGALRM, &sa, NULL));
}

static void every_ms(int ms) {
  struct itimerval timer = { { 0, ms * 1000 }, { 0, ms * 1000 } };
  MUST(setitimer(ITIMER_REAL, &timer, NULL));
}

int main(void) {
  int fd[2];
  char byte;
  struct timespec second = { 1, 0 };
  MUST(pipe(fd));
  pid_t writer = MUST(fork());
  if (writer == 0) {
    sleep_ms(150);
    MUST(write(fd[1], "x", 1));
    _exit(0);
  }
  install(SA_RESTART);
  every_ms(10);
  SAY(read(fd[0], &byte, 1));
  IS(ticks > 0);
  SAY(nanosleep(&second, NULL));
  struct pollfd p = { fd[0], POLLIN, 0 };
  SAY(poll(&p, 1, 5000));
  every_ms(0);
  reap("writer", writer);

  install(0);
  every_ms(10);
  SAY(read(fd[0], &byte, 1));
  SAY(nanosleep(&second, NULL));
  SAY(poll(&p, 1, 5000));
  SAY(pause());
  pid_t sleeper = MUST(fork());
  if (sleeper == 0) {
    for (;;) pause();
  }
  SAY(waitpid(sleeper, NULL, 0));
  every_ms(0);
  MUST(kill(sleeper, SIGKILL));
  reap("sleeper", sleeper);

  install(SA_RESTART);
  every_ms(10);
  sleeper = MUST(fork());
  if (sleeper == 0) {
    sleep_ms(80);
    _exit(4);
  }
  int status;
  IS(waitpid(sleeper, &status, 0) == sleeper);
  say_status("sleeper", status);
  return 0;
}
