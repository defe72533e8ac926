/* siglongjmp - sigsetjmp(3): leaving a handler by a jump, with and without the mask. */
#include "posix.h"

#include <setjmp.h>

static sigjmp_buf with_mask, without_mask;

static void jump_with(int sig) {
  say("handler: %s\n", signal_name(sig));
  siglongjmp(with_mask, 5);
}

static void jump_without(int sig) {
  say("handler: %s\n", signal_name(sig));
  siglongjmp(without_mask, 6);
}

static int blocked(int sig) {
  sigset_t now;
  sigprocmask(SIG_SETMASK, NULL, &now);
  return sigismember(&now, sig);
}

int main(void) {
  static volatile int rounds;
  signal(SIGUSR1, jump_with);
  int code = sigsetjmp(with_mask, 1);
  SHOW(code);
  SHOW(blocked(SIGUSR1));
  if (++rounds <= 3) raise(SIGUSR1);

  signal(SIGUSR2, jump_without);
  code = sigsetjmp(without_mask, 0);
  SHOW(code);
  SHOW(blocked(SIGUSR2));
  if (code == 0) raise(SIGUSR2);

  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  MUST(sigprocmask(SIG_UNBLOCK, &set, NULL));
  SHOW(blocked(SIGUSR2));
  return 0;
}
