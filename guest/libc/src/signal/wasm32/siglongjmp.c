#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>

#include "syscall.h"

_Noreturn void siglongjmp(sigjmp_buf env, int value) {
  if (env->__fl) __syscall(SYS_rt_sigprocmask, SIG_SETMASK, env->__ss, 0, _NSIG / 8);
  longjmp(env, value);
}

_Noreturn void _longjmp(jmp_buf env, int value) { longjmp(env, value); }
