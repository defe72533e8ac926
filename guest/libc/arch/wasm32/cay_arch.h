/* The door between a guest and the kernel that hosts it.
 *
 * Everything a guest can ask for passes through three imports of the module "linux". Signals come the other
 * way: the host raises
 * __cay_sigpending, and the libc runs the handlers after its next system call, or the host calls
 * __cay_deliver while the guest computes.
 */
#ifndef CAY_ARCH_H
#define CAY_ARCH_H

#include <features.h>

#define CAY_IMPORT(name) __attribute__((import_module("linux"), import_name(name)))

/* Our own calls, above every number that Linux uses. */
#define SYS_cay_vfork 2001 /* (mode): begin a child context, or leave it */
#define SYS_cay_sigtake                                                                                      \
  2002 /* (struct sigframe *): the next signal that has a handler, or 0; see deliver.c */
#define SYS_cay_sigreturn 2003 /* (u32 mask[2]): what the mask becomes after a handler */
#define SYS_cay_memgrow 2004   /* (pages of 64 KiB): the old size in pages, or -ENOMEM */

#define CAY_VFORK 0
#define CAY_SPAWN 1
#define CAY_ABANDON (-1)

/* For mmap: linux/mman.h's MAP_UNINITIALIZED, for anonymous pages that the caller fills before it reads them. */
#define CAY_MAP_UNINITIALIZED 0x4000000

#define CAY_ERESTARTSYS 512 /* never seen by programs: the call is made again after the handlers */

CAY_IMPORT("init") long __cay_host_init(void *);
CAY_IMPORT("syscall") long __cay_host_syscall(long, long, long, long, long, long, long);
CAY_IMPORT("fork") long __cay_host_fork(void *);

extern volatile int __cay_sigpending;
hidden extern volatile int __cay_busy; /* the libc's own tables are being changed: __cay_deliver waits */
hidden extern int __cay_handling;      /* handlers that are running; a longjmp out of one restores it */
hidden void __cay_drain(void);         /* runs every handler that is due */

/* mman/wasm32/vm.c: the calls on memory, which a guest answers itself. Values as from the kernel. */
hidden long __cay_mmap(unsigned long, unsigned long, long, long, long, unsigned long);
hidden long __cay_munmap(unsigned long, unsigned long);
hidden long __cay_mremap(unsigned long, unsigned long, unsigned long, long, unsigned long);
hidden long __cay_madvise(unsigned long, unsigned long, long);
hidden long __cay_mprotect(unsigned long, unsigned long, long);
hidden long __cay_msync(unsigned long, unsigned long, long);
hidden long __cay_mapped(unsigned long,
                         unsigned long); /* 0, or -ENOMEM when a page of the range is not mapped */
hidden long __cay_brk(unsigned long);

hidden long __cay_futex(volatile int *, long, long, const void *);
hidden long __cay_sigaltstack(const void *, void *);

/* A child context of vfork ends: back to where vfork was called, which answers pid. Linked only where vfork
 * is used. */
__attribute__((__weak__)) _Noreturn void __cay_vfork_return(long pid);

#endif
