#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdarg.h>

#include "cay_arch.h"
#include "pthread_impl.h"
#include "syscall.h"

/* Only threads: fork and vfork have entrances of their own. */
int __clone(int (*func)(void *), void *stack, int flags, void *arg, ...) {
  if (!(flags & CLONE_THREAD)) return -ENOSYS;
  va_list ap;
  va_start(ap, arg);
  int *parent = va_arg(ap, int *);
  void *variables = va_arg(ap, void *);
  int *child = va_arg(ap, int *);
  va_end(ap);
  return (int)__cay_host_syscall(SYS_cay_clone, (long)stack & -16, (long)variables, (long)func, (long)arg,
                                 (long)parent, (long)child);
}

/* What the host calls on the new thread, with its stack pointer set and nothing else. */
__attribute__((export_name("__cay_thread"))) void __cay_thread(int (*func)(void *), void *arg,
                                                               void *variables) {
  __set_thread_area(variables);
  __cay_host_syscall(SYS_cay_flag, (long)&__cay_sigpending, 0, 0, 0, 0, 0);
  func(arg);
  for (;;) __cay_host_syscall(SYS_exit, 0, 0, 0, 0, 0, 0);
}

/* What the host calls on the first thread of a process that begins as a memory image, in which another number stands. The
 * address of its flag. */
__attribute__((export_name("__cay_again"))) volatile int *__cay_again(int tid) {
  __pthread_self()->tid = tid;
  return &__cay_sigpending;
}
