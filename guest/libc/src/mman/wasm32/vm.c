/* mmap and its family over the page table of the guest. A file is mapped by reading it; shared.h says how
 * what is written to a shared one comes into the file. Protections are accepted and have no effect.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "cay_arch.h"
#include "pages.h"
#include "shared.h"
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

/* 0, or 1 when the mapping has to be kept in step with its file: with a descriptor that can write. One that
 * only reads is not worth a descriptor of its own (libc maps the time zone so), and stays as the file was. */
static long file_mappable(int prot, int flags, int fd) {
  long mode = __cay_host_syscall(SYS_fcntl64, fd, F_GETFL, 0, 0, 0, 0);
  if (mode < 0) return mode;
  if ((mode & O_ACCMODE) == O_WRONLY) return -EACCES;
  if ((flags & MAP_TYPE) == MAP_PRIVATE) return 0;
  if ((mode & O_ACCMODE) != O_RDWR) return prot & PROT_WRITE ? -EACCES : 0;
  return 1;
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
  if (flags & MAP_FIXED) {
    if (__cay_shared_any && __cay_shared_remove(page, count) < 0) return -ENOMEM;
    __cay_pages_release(page, count);
  } else if (__cay_pages_next(page, page + count, 1) != page + count)
    return -EEXIST;
  return (long)page;
}

/* Fills pages that are there, and keeps them in step if they have to be. */
static long map_file(unsigned page, unsigned count, int fd, uint64_t off, int shared, int writable) {
  long r = read_file(address(page), count * PAGE, fd, off);
  if (r == 0 && shared) r = __cay_shared_add(page, count, fd, off, writable);
  if (r < 0) __cay_pages_release(page, count);
  return r;
}

long __cay_mmap(unsigned long a, unsigned long len, long prot, long flags, long fd,
                unsigned long page_offset) {
  long type = flags & MAP_TYPE, shared = 0;
  if (!len || (type != MAP_PRIVATE && type != MAP_SHARED && type != MAP_SHARED_VALIDATE)) return -EINVAL;
  if (len > (unsigned long)PAGES_END * PAGE) return -ENOMEM;
  brk_reserve();
  if (!(flags & MAP_ANONYMOUS)) {
    shared = file_mappable(prot, flags, (int)fd);
    if (shared < 0) return shared;
  }
  long page = place(a, len, flags);
  if (page < 0) return page;
  unsigned count = count_of(len);
  int zero = !(flags & MAP_ANONYMOUS && flags & CAY_MAP_UNINITIALIZED);
  if (__cay_pages_claim((unsigned)page, count, zero) < 0) return -ENOMEM;
  if (!(flags & MAP_ANONYMOUS)) {
    long r =
        map_file((unsigned)page, count, (int)fd, (uint64_t)page_offset * PAGE, shared, prot & PROT_WRITE);
    if (r < 0) return r;
  }
  return (long)address((unsigned)page);
}

long __cay_munmap(unsigned long a, unsigned long len) {
  if (!range_ok(a, len) || a / PAGE < __cay_pages_first()) return -EINVAL;
  unsigned page = (unsigned)(a / PAGE), count = count_of(len);
  if (__cay_shared_any && __cay_shared_remove(page, count) < 0) return -ENOMEM;
  __cay_pages_release(page, count);
  return 0;
}

static long move(unsigned long a, unsigned long old, unsigned long len, long flags, unsigned long to) {
  unsigned long fixed = flags & MREMAP_FIXED ? MAP_FIXED : 0;
  long page = place(to, len, (long)fixed);
  if (page < 0) return page;
  if (__cay_pages_claim((unsigned)page, count_of(len), 1) < 0) return -ENOMEM;
  memcpy(address((unsigned)page), (void *)a, PAGE * (old < len ? count_of(old) : count_of(len)));
  if (__cay_shared_any && __cay_shared_move((unsigned)(a / PAGE), (unsigned)page, count_of(len)) < 0) {
    __cay_pages_release((unsigned)page, count_of(len));
    return -ENOMEM;
  }
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
  if (__cay_shared_any) {
    if (!__cay_shared_is_whole(page, have)) return -EINVAL;
    __cay_shared_sync(page, have);
  }
  if (flags & MREMAP_FIXED) return move(a, old, len, flags, to);
  if (want <= have) {
    if (__cay_shared_any && want < have) __cay_shared_move(page, page, want);
    __cay_pages_release(page + want, have - want);
    return (long)a;
  }
  if (want <= PAGES_END - page && __cay_pages_next(page + have, page + want, 1) == page + want &&
      __cay_pages_claim(page + have, want - have, 1) == 0) {
    if (!__cay_shared_any || __cay_shared_move(page, page, want) == 0) return (long)a;
    __cay_pages_release(page + have, want - have);
    return -ENOMEM;
  }
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
  if (r < 0 || advice != MADV_DONTNEED || a / PAGE < __cay_pages_first()) return r;
  unsigned page = (unsigned)(a / PAGE), count = count_of(len);
  if (__cay_shared_any) __cay_shared_sync(page, count);
  memset((void *)a, 0, count * PAGE);
  if (__cay_shared_any) __cay_shared_reload(page, count);
  return 0;
}

long __cay_mprotect(unsigned long a, unsigned long len, long prot) {
  if (a % PAGE) return -EINVAL;
  long r = __cay_mapped(a, len);
  if (r < 0 || !__cay_shared_any) return r;
  return __cay_shared_protect((unsigned)(a / PAGE), count_of(len), prot & PROT_WRITE);
}

long __cay_msync(unsigned long a, unsigned long len, long flags) {
  if (a % PAGE || flags & ~(MS_ASYNC | MS_INVALIDATE | MS_SYNC)) return -EINVAL;
  if ((flags & MS_ASYNC) && (flags & MS_SYNC)) return -EINVAL;
  long r = __cay_mapped(a, len);
  if (r < 0 || !__cay_shared_any) return r;
  unsigned page = (unsigned)(a / PAGE);
  r = __cay_shared_sync(page, count_of(len));
  if (r == 0 && (flags & MS_INVALIDATE)) __cay_shared_reload(page, count_of(len));
  return r;
}
