#include <setjmp.h>
#include <signal.h>

#include "syscall.h"

/* Runs before setjmp, on its argument: the macro is setjmp(__cay_sigsetjmp(env, save)). */
struct __jmp_buf_tag *__cay_sigsetjmp(struct __jmp_buf_tag *env, int save) {
  env->__fl = (unsigned long)save;
  if (save) __syscall(SYS_rt_sigprocmask, SIG_SETMASK, 0, env->__ss, _NSIG / 8);
  return env;
}
