#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "cay_arch.h"
#include "syscall.h"

int fexecve(int fd, char *const argv[], char *const envp[]) {
  long r = __syscall(SYS_execveat, fd, "", argv, envp, AT_EMPTY_PATH);
  if (r > 0 && __cay_vfork_return) __cay_vfork_return(r);
  if (r != -ENOSYS) return (int)__syscall_ret((unsigned long)r);
  char path[15 + 3 * sizeof(int)];
  __procfdname(path, (unsigned)fd);
  execve(path, argv, envp);
  if (errno == ENOENT) errno = EBADF;
  return -1;
}
