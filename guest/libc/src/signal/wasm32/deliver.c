/* Handlers run in the guest: after a system call, or at a loop edge where the host calls __cay_deliver. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stddef.h>

#include "cay_arch.h"
#include "syscall.h"

struct sigframe { /* as the host writes it */
  int sig;
  unsigned flags;
  void (*handler)(int);
  unsigned oldmask[2];
  siginfo_t info;
};
_Static_assert(offsetof(struct sigframe, info) == 20 && sizeof(struct sigframe) == 148, "the host's layout");

volatile int __cay_sigpending;
volatile int __cay_busy;
int __cay_handling;

static struct sigaltstack altstack = { .ss_flags = SS_DISABLE };

/* What the host says of a handler's type. Natively a call with too many arguments or an ignored result works, and
 * programs rely on it (`void handler()`, `int handler(int)`); here the types must agree. */
#define SHAPE(taken) ((taken) >> 8)
#define KNOWN 0x10
#define RETURNS 0x08 /* an int; the lower bits count the parameters */

static inline void call(struct sigframe *f, int shape, ucontext_t *context) {
  void *h = (void *)f->handler;
  switch (shape) {
  case KNOWN: ((void (*)(void))h)(); break;
  case KNOWN | RETURNS: ((int (*)(void))h)(); break;
  case KNOWN | RETURNS | 1: ((int (*)(int))h)(f->sig); break;
  case KNOWN | 2: ((void (*)(int, int))h)(f->sig, f->info.si_code); break;
  case KNOWN | RETURNS | 2: ((int (*)(int, int))h)(f->sig, f->info.si_code); break;
  case KNOWN | RETURNS | 3: ((int (*)(int, siginfo_t *, void *))h)(f->sig, &f->info, context); break;
  case KNOWN | 3: ((void (*)(int, siginfo_t *, void *))h)(f->sig, &f->info, context); break;
  case KNOWN | 1: f->handler(f->sig); break;
  default:
    if (f->flags & SA_SIGINFO)
      ((void (*)(int, siginfo_t *, void *))h)(f->sig, &f->info, context);
    else
      f->handler(f->sig);
  }
}

static inline void run(struct sigframe *f, int shape) {
  ucontext_t context = { .uc_stack = altstack };
  unsigned *mask = (unsigned *)&context.uc_sigmask; /* a handler may change it */
  mask[0] = f->oldmask[0], mask[1] = f->oldmask[1];
  __cay_handling++;
  call(f, shape, &context);
  __cay_handling--;
  __cay_host_syscall(SYS_cay_sigreturn, (long)mask, 0, 0, 0, 0, 0);
}

/* Known by name to cay-cc: a fork never unwinds through it, or else every caller of a system call would have
 * to be able to unwind. So fork refuses while a handler runs. */
__attribute__((__noinline__)) void __cay_drain(void) {
  struct sigframe f;
  long taken;
  __cay_sigpending = 0;
  while ((taken = __cay_host_syscall(SYS_cay_sigtake, (long)&f, 0, 0, 0, 0, 0)) > 0)
    run(&f, (int)SHAPE(taken));
}

/* While the page table is half changed a handler that allocates would ruin it: the flag stays up, and the
 * next call drains it. */
__attribute__((export_name("__cay_deliver"))) void __cay_deliver(void) {
  if (!__cay_busy) __cay_drain();
}

/* The stack is kept and reported, and never switched to: a handler runs on the one stack there is. */
long __cay_sigaltstack(const void *new, void *old) {
  const struct sigaltstack *n = new;
  struct sigaltstack was = altstack;
  if (n && (n->ss_flags & ~SS_DISABLE)) return -EINVAL;
  if (n && !(n->ss_flags & SS_DISABLE) && n->ss_size < MINSIGSTKSZ) return -ENOMEM;
  if (n) altstack = *n;
  if (old) *(struct sigaltstack *)old = was;
  return 0;
}
