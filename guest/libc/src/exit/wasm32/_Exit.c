#include <stdlib.h>

#include "cay_arch.h"
#include "syscall.h"

/* The host does not return, except from the end of a child context: then it is the child's pid, for the
 * parent. */
_Noreturn void _Exit(int status) {
  long r = __syscall(SYS_exit_group, status);
  if (r > 0 && __cay_vfork_return) __cay_vfork_return(r);
  __builtin_trap();
}
