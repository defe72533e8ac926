/* fork: the host unwinds this program into a buffer, copies its memory, and winds both up again from their
 * copy of the buffer. The program must have been linked with `cay-cc --fork`; in another one the host answers
 * ENOSYS. In a signal handler the answer is EAGAIN: what runs handlers cannot be unwound.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../mman/wasm32/shared.h"
#include "aio_impl.h"
#include "cay_arch.h"
#include "fork_impl.h"
#include "libc.h"
#include "lock.h"
#include "pthread_impl.h"
#include "syscall.h"

#define BUFFER_MIN (256u << 10)
#define BUFFER_PER_STACK 4 /* bytes for each of the shadow stack: frames are saved with all their locals */

static void dummy(int x) {}
weak_alias(dummy, __aio_atfork);

struct unwind { /* asyncify's own header */
  char *cur, *end;
  char data[];
};

extern char __stack_high[]; /* from the linker */

void __post_Fork(int ret) {
  if (!ret) {
    pthread_t self = __pthread_self();
    self->tid = __syscall(SYS_set_tid_address, &__thread_list_lock);
    self->robust_list.off = 0;
    self->robust_list.pending = 0;
    self->next = self->prev = self;
    __thread_list_lock = 0;
    libc.threads_minus_1 = 0;
    if (libc.need_locks) libc.need_locks = -1;
  }
  UNLOCK(__abort_lock);
  if (!ret) __aio_atfork(1);
}

static size_t buffer_size(void) {
  char here;
  size_t deep = (size_t)(__stack_high - &here) * BUFFER_PER_STACK;
  return (BUFFER_MIN + deep) & ~(size_t)4095;
}

pid_t _Fork(void) {
  sigset_t set;
  if (__cay_handling) return (pid_t)__syscall_ret(-EAGAIN);
  size_t size = buffer_size();
  /* Zeroed, its pages would be changed ones, which the host copies for each child. */
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | CAY_MAP_UNINITIALIZED;
  struct unwind *b = mmap(0, size, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (b == MAP_FAILED) return -1;
  b->cur = b->data;
  b->end = (char *)b + size;
  __block_all_sigs(&set);
  if (__cay_shared_any) __cay_shared_sync_all();
  LOCK(__abort_lock);
  long ret = __cay_host_fork(b);
  __post_Fork((int)ret);
  munmap(b, size);
  __restore_sigs(&set);
  return (pid_t)__syscall_ret((unsigned long)ret);
}
