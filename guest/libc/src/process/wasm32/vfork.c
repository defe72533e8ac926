/* vfork without unwinding: from vfork to exec or _exit the child runs in the caller's frame, in the same
 * memory, while the host keeps a second process context for it. Then the parent goes on by a longjmp to the
 * call of vfork. A child may call vfork in turn.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <unistd.h>

#include "cay_arch.h"
#include "syscall.h"

#define DEPTH_MAX 4

static jmp_buf frames[DEPTH_MAX + 1]; /* the last is for a call that will fail */
static int depth;
static pid_t pid;

struct __jmp_buf_tag *__cay_vfork_frame(void) { return frames[depth]; }

pid_t __cay_vfork_begin(void) {
  if (depth == DEPTH_MAX) return (pid_t)__syscall_ret(-EAGAIN);
  long r = __syscall(SYS_cay_vfork, CAY_VFORK);
  if (r < 0) return (pid_t)__syscall_ret((unsigned long)r);
  depth++;
  return 0;
}

pid_t __cay_vfork_pid(void) { return pid; }

_Noreturn void __cay_vfork_return(long child) {
  pid = (pid_t)child;
  longjmp(frames[--depth], 1);
}

/* For those who take its address. */
#undef vfork
pid_t vfork(void) { return fork(); }
