#include <unistd.h>

#include "cay_arch.h"
#include "syscall.h"

/* In a child context a success comes back: it is the child's pid, for the parent. */
int execve(const char *path, char *const argv[], char *const envp[]) {
  long r = __syscall(SYS_execve, path, argv, envp);
  if (r > 0 && __cay_vfork_return) __cay_vfork_return(r);
  return (int)__syscall_ret((unsigned long)r);
}
