/* stack.c - stacks of threads that take memory as they grow (stack.h). */
#include "base/stack.h"

#include <signal.h>
#include <sys/mman.h>

enum { EDGE = 64 << 10 /* never usable: what runs over it is an overflow */ };

_Thread_local __attribute__((tls_model("initial-exec"))) stack_area *stack_current;

/* The signal stack lies below the edge. */
stack_area stack_reserve(size_t len) {
  stack_area s = { .low = NULL };
  size_t all = len + EDGE + STACK_SIGNAL, first = len < STACK_FIRST ? len : STACK_FIRST;
  uint8_t *base = mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (base == MAP_FAILED) return s;
  s = (stack_area){ .low = base, .top = base + all, .open = base + all - first, .first = base + all - first };
  if (mprotect(base, STACK_SIGNAL, PROT_READ | PROT_WRITE) == 0 &&
      mprotect(s.open, first, PROT_READ | PROT_WRITE) == 0)
    return s;
  stack_release(&s);
  return (stack_area){ .low = NULL };
}

void stack_release(const stack_area *s) { (void)munmap(s->low, (size_t)(s->top - s->low)); }

/* A sanitizer has set one already, and takes it down itself. */
void stack_enter(stack_area *s) {
  stack_t signals = { .ss_sp = s->low, .ss_size = STACK_SIGNAL }, before;
  if (sigaltstack(NULL, &before) == 0 && (before.ss_flags & SS_DISABLE) != 0)
    (void)sigaltstack(&signals, NULL);
  stack_current = s;
}

void stack_leave(void) {
  stack_t signals = { .ss_flags = SS_DISABLE }, now;
  bool ours = stack_current != NULL && sigaltstack(NULL, &now) == 0 && now.ss_sp == stack_current->low;
  if (ours) (void)sigaltstack(&signals, NULL);
  stack_current = NULL;
}

/* Down to `to`, which is of a page. */
static size_t stack_open_to(stack_area *s, uint8_t *to) {
  size_t more = (size_t)(s->open - to);
  if (mprotect(to, more, PROT_READ | PROT_WRITE) != 0) return 0;
  s->open = to;
  return more;
}

uint8_t *stack_end(const stack_area *s) { return s->low + STACK_SIGNAL + EDGE; }

size_t stack_grow(stack_area *s, const void *address) {
  uint8_t *end = stack_end(s), *page = (uint8_t *)((uintptr_t)address & ~(uintptr_t)4095);
  if (page < end || page >= s->open) return 0;
  size_t used = (size_t)(s->top - s->open);
  uint8_t *twice = (size_t)(s->open - end) > used ? s->open - used : end;
  return stack_open_to(s, page < twice ? page : twice);
}

size_t stack_extend(stack_area *s, size_t len) {
  const uint8_t *here = __builtin_frame_address(0);
  if (here >= s->top || here < s->low) return 0;
  uint8_t *end = stack_end(s);
  return stack_grow(s, here > end + len ? here - len : end);
}

size_t stack_trim(stack_area *s) {
  size_t more = (size_t)(s->first - s->open);
  if (more == 0) return 0;
  (void)madvise(s->open, more, MADV_DONTNEED);
  (void)mprotect(s->open, more, PROT_NONE);
  s->open = s->first;
  return more;
}
