/* The variables of threads: how much room they take, and those of the first thread. There are no program headers here; the
 * linker has a global for each of the two numbers, and a function that copies the initial values, on the thread itself. */
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include "atomic.h"
#include "cay_arch.h"
#include "libc.h"
#include "pthread_impl.h"
#include "syscall.h"

volatile int __thread_list_lock;

int __init_tp(void *p) {
  pthread_t self = p;
  self->self = self;
  __set_thread_area(TP_ADJ(p));
  libc.can_do_threads = 1;
  self->detach_state = DT_JOINABLE;
  self->tid = __cay_host_syscall(SYS_set_tid_address, (long)&__thread_list_lock, 0, 0, 0, 0, 0);
  __cay_host_syscall(SYS_cay_flag, (long)&__cay_sigpending, 0, 0, 0, 0, 0);
  self->locale = &libc.global_locale;
  self->robust_list.head = &self->robust_list.head;
  self->sysinfo = __sysinfo;
  self->next = self->prev = self;
  return 0;
}

static struct builtin {
  char c;
  struct pthread pt;
  void *space[64];
} builtin;
#define ALIGN_MIN offsetof(struct builtin, pt)

/* Where struct pthread begins in `mem`, which has libc.tls_size bytes of zero. */
void *__copy_tls(unsigned char *mem) {
  return mem + (-((uintptr_t)mem + sizeof(struct pthread)) & (libc.tls_align - 1));
}

void __init_tls(size_t *aux) {
  size_t align = __builtin_wasm_tls_align();
  libc.tls_align = align < ALIGN_MIN ? ALIGN_MIN : align;
  libc.tls_size =
      (sizeof(struct pthread) + __builtin_wasm_tls_size() + 2 * libc.tls_align - 1) & -libc.tls_align;
  void *mem = &builtin;
  if (libc.tls_size > sizeof builtin)
    mem = (void *)__syscall(SYS_mmap2, 0, libc.tls_size, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_PRIVATE,
                            -1, 0);
  if ((uintptr_t)mem > -4096UL) a_crash();
  __init_tp(__copy_tls(mem));
}
