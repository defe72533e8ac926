/* Every system call passes here: those on memory are answered in the guest, the others by the host. */
#define _GNU_SOURCE
#include <errno.h>

#include "../../mman/wasm32/shared.h"
#include "atomic.h"
#include "cay_arch.h"
#include "libc.h"
#include "syscall.h"

static long host(long n, long a, long b, long c, long d, long e, long f) {
  long r;
  do {
    r = __cay_host_syscall(n, a, b, c, d, e, f);
    if (__cay_sigpending) __cay_drain();
  } while (r == -CAY_ERESTARTSYS);
  return r;
}

/* The page table, and the list of shared mappings, belong to all threads. Signals at loop edges wait meanwhile, so a
 * handler of the holder cannot want it again. */
static volatile int table_lock, table_waiters;

static void lock_table(void) {
  __cay_busy++;
  while (a_swap(&table_lock, 1)) {
    a_inc(&table_waiters);
    __cay_host_syscall(SYS_futex_time64, (long)&table_lock, 0 /* wait */, 1, 0, 0, 0);
    a_dec(&table_waiters);
  }
}

static void unlock_table(void) {
  a_store(&table_lock, 0);
  if (table_waiters) __cay_host_syscall(SYS_futex_time64, (long)&table_lock, 1 /* wake */, 1, 0, 0, 0);
  __cay_busy--;
}

/* While files are mapped to be shared. */
static long host_and_maps(long n, long a, long b, long c, long d, long e, long f) {
  lock_table();
  __cay_shared_before(n, a, b, c, d, e);
  unlock_table();
  long r = host(n, a, b, c, d, e, f);
  lock_table();
  if (__cay_shared_any) __cay_shared_after(n, a, c, d, e, r);
  unlock_table();
  return r;
}

static long change_memory(long n, long a, long b, long c, long d, long e, long f) {
  long r;
  lock_table();
  switch (n) {
  case SYS_mmap2: r = __cay_mmap(a, b, c, d, e, f); break;
  case SYS_munmap: r = __cay_munmap(a, b); break;
  case SYS_mremap: r = __cay_mremap(a, b, c, d, e); break;
  case SYS_madvise: r = __cay_madvise(a, b, c); break;
  case SYS_mprotect: r = __cay_mprotect(a, b, c); break;
  case SYS_msync: r = __cay_msync(a, b, c); break;
  default: r = __cay_brk(a);
  }
  unlock_table();
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
  case SYS_sigaltstack: return __cay_sigaltstack((const void *)a, (void *)b);
  default: return __cay_shared_any ? host_and_maps(n, a, b, c, d, e, f) : host(n, a, b, c, d, e, f);
  }
}

/* A cancellation point: the flag is looked at before each try. A signal that comes between the look and the sleep ends the
 * sleep, for the host looks at pending signals before it sleeps. */
long __cay_syscall_cp(volatile int *cancel, long n, long a, long b, long c, long d, long e, long f) {
  for (;;) {
    if (*cancel) return -EINTR;
    long r = __cay_shared_any ? __cay_syscall(n, a, b, c, d, e, f) : __cay_host_syscall(n, a, b, c, d, e, f);
    if (__cay_sigpending) __cay_drain();
    if (r != -CAY_ERESTARTSYS) return r;
  }
}
