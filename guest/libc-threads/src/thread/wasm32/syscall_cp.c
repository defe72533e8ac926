#include "cay_arch.h"
#include "pthread_impl.h"
#include "syscall.h"

/* A cancellation comes from the thread itself, before a try. The labels are what musl's handler compares its program
 * counter to. */
hidden const char __cp_begin[1], __cp_end[1], __cp_cancel[1];
hidden long __cancel();

hidden long __syscall_cp_asm(volatile void *cancel, syscall_arg_t n, syscall_arg_t a, syscall_arg_t b,
                             syscall_arg_t c, syscall_arg_t d, syscall_arg_t e, syscall_arg_t f) {
  if (*(volatile int *)cancel) return __cancel();
  return __cay_syscall_cp(cancel, n, a, b, c, d, e, f);
}
