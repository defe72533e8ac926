/* mmap and its family over the page table of the guest. A file is mapped by reading it: the mapping is
 * private whatever was asked, and one that would have to be written back is refused. Protections are accepted
 * and have no effect.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "cay_arch.h"
#include "pages.h"
#include "syscall.h"

/* Room that brk may grow into before the first mapping; the allocator falls back to mmap when it is used up.
 */
#define BRK_PAGES 16

static unsigned brk_start, brk_end; /* addresses; 0 until the first call */

static void *address(unsigned page) { return (void *)(uintptr_t)(page * PAGE); }

static int range_ok(unsigned long a, unsigned long len) {
  return a % PAGE == 0 && len && len <= (unsigned long)PAGES_END * PAGE &&
         a / PAGE <= PAGES_END - (len + PAGE - 1) / PAGE;
}

static unsigned count_of(unsigned long len) { return (unsigned)((len + PAGE - 1) / PAGE); }

static void brk_reserve(void) {
  if (brk_start) return;
  unsigned page = __cay_pages_first();
  if (__cay_pages_claim(page, BRK_PAGES, 1) == 0)
    brk_start = brk_end = page * PAGE;
  else
    brk_start = brk_end = 1; /* no memory: brk answers the same address for ever */
}

long __cay_brk(unsigned long to) {
  brk_reserve();
  if (to < brk_start || to > brk_start + BRK_PAGES * PAGE || brk_start == 1) return (long)brk_end;
  if (to < brk_end) memset((void *)to, 0, brk_end - to);
  brk_end = (unsigned)to;
  return (long)to;
}

static long read_file(char *at, unsigned long len, int fd, uint64_t off) {
  while (len) {
    long r = __cay_host_syscall(SYS_pread64, fd, (long)at, (long)len, (long)off, (long)(off >> 32), 0);
    if (r == -EINTR || r == -CAY_ERESTARTSYS) continue;
    if (r == -EISDIR || r == -ESPIPE || r == -EINVAL) return -ENODEV;
    if (r == -EBADF) return -EACCES;
    if (r <= 0) return r;
    at += r, len -= (unsigned long)r, off += (unsigned long)r;
  }
  return 0;
}

static long file_mappable(int prot, int flags, int fd) {
  long mode = __cay_host_syscall(SYS_fcntl64, fd, 3 /* F_GETFL */, 0, 0, 0, 0);
  if (mode < 0) return mode;
  if ((mode & 3) == 1 /* O_WRONLY */) return -EACCES;
  if ((flags & MAP_TYPE) == MAP_PRIVATE || !(prot & PROT_WRITE)) return 0;
  return (mode & 3) == 2 /* O_RDWR */ ? -ENODEV : -EACCES;
}

/* Where a mapping goes: a page number, or -errno. A fixed place is emptied first. */
static long place(unsigned long a, unsigned long len, long flags) {
  unsigned count = count_of(len);
  if (!(flags & (MAP_FIXED | MAP_FIXED_NOREPLACE))) {
    unsigned page = __cay_pages_find(count);
    return page ? (long)page : -ENOMEM;
  }
  if (a % PAGE) return -EINVAL;
  if (!range_ok(a, len) || a / PAGE < __cay_pages_first()) return -ENOMEM;
  unsigned page = (unsigned)(a / PAGE);
  if (flags & MAP_FIXED)
    __cay_pages_release(page, count);
  else if (__cay_pages_next(page, page + count, 1) != page + count)
    return -EEXIST;
  return (long)page;
}

long __cay_mmap(unsigned long a, unsigned long len, long prot, long flags, long fd,
                unsigned long page_offset) {
  long type = flags & MAP_TYPE;
  if (!len || (type != MAP_PRIVATE && type != MAP_SHARED && type != MAP_SHARED_VALIDATE)) return -EINVAL;
  if (len > (unsigned long)PAGES_END * PAGE) return -ENOMEM;
  brk_reserve();
  if (!(flags & MAP_ANONYMOUS)) {
    long r = file_mappable(prot, flags, (int)fd);
    if (r < 0) return r;
  }
  long page = place(a, len, flags);
  if (page < 0) return page;
  unsigned count = count_of(len);
  if (__cay_pages_claim((unsigned)page, count, 1) < 0) return -ENOMEM;
  if (!(flags & MAP_ANONYMOUS)) {
    long r = read_file(address((unsigned)page), len, (int)fd, (uint64_t)page_offset * PAGE);
    if (r < 0) {
      __cay_pages_release((unsigned)page, count);
      return r;
    }
  }
  return (long)address((unsigned)page);
}

long __cay_munmap(unsigned long a, unsigned long len) {
  if (!range_ok(a, len) || a / PAGE < __cay_pages_first()) return -EINVAL;
  __cay_pages_release((unsigned)(a / PAGE), count_of(len));
  return 0;
}

static long move(unsigned long a, unsigned long old, unsigned long len, long flags, unsigned long to) {
  unsigned long fixed = flags & MREMAP_FIXED ? MAP_FIXED : 0;
  long page = place(to, len, (long)fixed);
  if (page < 0) return page;
  if (__cay_pages_claim((unsigned)page, count_of(len), 1) < 0) return -ENOMEM;
  memcpy(address((unsigned)page), (void *)a, old < len ? old : len);
  __cay_pages_release((unsigned)(a / PAGE), count_of(old));
  return (long)address((unsigned)page);
}

long __cay_mremap(unsigned long a, unsigned long old, unsigned long len, long flags, unsigned long to) {
  if (a % PAGE || !len || !old || (flags & ~(MREMAP_MAYMOVE | MREMAP_FIXED))) return -EINVAL;
  if ((flags & MREMAP_FIXED) && (!(flags & MREMAP_MAYMOVE) || (to < a + old && a < to + len))) return -EINVAL;
  if (!range_ok(a, old)) return -EFAULT;
  if (a / PAGE < __cay_pages_first()) return -ENOMEM; /* stack and data: mapped, and cannot grow or move */
  unsigned page = (unsigned)(a / PAGE), have = count_of(old), want = count_of(len);
  if (__cay_pages_next(page, page + have, 0) != page + have) return -EFAULT;
  if (flags & MREMAP_FIXED) return move(a, old, len, flags, to);
  if (want <= have) {
    __cay_pages_release(page + want, have - want);
    return (long)a;
  }
  if (want <= PAGES_END - page && __cay_pages_next(page + have, page + want, 1) == page + want &&
      __cay_pages_claim(page + have, want - have, 1) == 0)
    return (long)a;
  return flags & MREMAP_MAYMOVE ? move(a, old, len, flags, 0) : -ENOMEM;
}

long __cay_mapped(unsigned long a, unsigned long len) {
  if (!len) return 0;
  unsigned first = __cay_pages_first();
  if (len > (unsigned long)PAGES_END * PAGE || a / PAGE > PAGES_END - count_of(len)) return -ENOMEM;
  unsigned page = (unsigned)(a / PAGE), end = page + count_of(a % PAGE + len);
  if (page < first) page = first;
  return page >= end || __cay_pages_next(page, end, 0) == end ? 0 : -ENOMEM;
}

long __cay_madvise(unsigned long a, unsigned long len, long advice) {
  if (a % PAGE) return -EINVAL;
  long r = __cay_mapped(a, len);
  if (r == 0 && advice == MADV_DONTNEED && a / PAGE >= __cay_pages_first())
    memset((void *)a, 0, count_of(len) * PAGE);
  return r;
}
