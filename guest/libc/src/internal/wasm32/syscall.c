/* Every system call passes here: those on memory and on this one thread are answered in the guest, the others
 * by the host. */
#define _GNU_SOURCE
#include <errno.h>

#include "../../mman/wasm32/shared.h"
#include "cay_arch.h"
#include "syscall.h"

static long host(long n, long a, long b, long c, long d, long e, long f) {
  long r;
  do {
    r = __cay_host_syscall(n, a, b, c, d, e, f);
    if (__cay_sigpending) __cay_drain();
  } while (r == -CAY_ERESTARTSYS);
  return r;
}

/* While files are mapped to be shared. */
static long host_and_maps(long n, long a, long b, long c, long d, long e, long f) {
  __cay_shared_before(n, a, b, c, d, e);
  long r = host(n, a, b, c, d, e, f);
  if (__cay_shared_any) __cay_shared_after(n, a, c, d, e, r);
  return r;
}

static long change_memory(long n, long a, long b, long c, long d, long e, long f) {
  long r;
  __cay_busy++;
  switch (n) {
  case SYS_mmap2: r = __cay_mmap(a, b, c, d, e, f); break;
  case SYS_munmap: r = __cay_munmap(a, b); break;
  case SYS_mremap: r = __cay_mremap(a, b, c, d, e); break;
  case SYS_madvise: r = __cay_madvise(a, b, c); break;
  case SYS_mprotect: r = __cay_mprotect(a, b, c); break;
  case SYS_msync: r = __cay_msync(a, b, c); break;
  default: r = __cay_brk(a);
  }
  __cay_busy--;
  return r;
}

long __cay_syscall(long n, long a, long b, long c, long d, long e, long f) {
  switch (n) {
  case SYS_mmap2:
  case SYS_munmap:
  case SYS_mremap:
  case SYS_madvise:
  case SYS_mprotect:
  case SYS_msync:
  case SYS_brk: return change_memory(n, a, b, c, d, e, f);
  case SYS_mlock:
  case SYS_mlock2:
  case SYS_munlock:
  case SYS_mlockall:
  case SYS_munlockall:
  case SYS_membarrier: return 0;
  case SYS_futex_time64: return __cay_futex((volatile int *)a, b, c, (const void *)d);
  case SYS_sigaltstack: return __cay_sigaltstack((const void *)a, (void *)b);
  default: return __cay_shared_any ? host_and_maps(n, a, b, c, d, e, f) : host(n, a, b, c, d, e, f);
  }
}
