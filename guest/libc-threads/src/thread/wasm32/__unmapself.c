#include "cay_arch.h"
#include "pthread_impl.h"

/* One stack serves all: the list of threads is locked from before this is called until the thread has ended. */
static char last_stack[4096] __attribute__((aligned(16)));

static __attribute__((noinline)) void unmap_and_exit(void *base, size_t size) {
  __syscall(SYS_munmap, base, size);
  for (;;) __cay_host_syscall(SYS_exit, 0, 0, 0, 0, 0, 0);
}

void __unmapself(void *base, size_t size) {
  __asm__ volatile(".globaltype __stack_pointer, i32\n local.get %0\n global.set __stack_pointer" ::"r"(
      last_stack + sizeof last_stack));
  unmap_and_exit(base, size);
}
