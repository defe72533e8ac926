/* stack.h - stacks of threads that take memory as they grow.
 *
 * A stack is reserved whole, and its upper part can be used. What lies below faults; the handler of SIGSEGV asks for more
 * (stack_grow), on a signal stack that thread_start gave the thread. So the bytes that a thread can touch are known
 * at every moment.
 *
 * System calls do not fault, they fail: code that lets the kernel of the host write into its frames makes room for them
 * first (stack_need). */
#pragma once

#include "base/defs.h"

typedef struct stack_area {
  uint8_t *low, *top; /* all that is reserved */
  uint8_t *open;      /* from here to `top` memory can be used */
  uint8_t *first;     /* `open` at the beginning */
} stack_area;

enum { STACK_FIRST = 512 << 10, STACK_SIGNAL = 256 << 10 };

/* For a stack of `len` bytes; low NULL: the host has no addresses. */
stack_area stack_reserve(size_t len);
void stack_release(const stack_area *stack);

/* That of the calling thread; NULL: it has an ordinary one. */
extern _Thread_local __attribute__((tls_model("initial-exec"), visibility("hidden")))
stack_area *stack_current;
void stack_enter(stack_area *stack); /* begins to be that of the calling thread, with a signal stack */
void stack_leave(void);

/* In a handler of SIGSEGV: makes the page of `address` usable, and at least doubles the usable part. The bytes that were added; 0: the
 * address is not of this stack, or at its end. Async-signal-safe. */
size_t stack_grow(stack_area *stack, const void *address);
/* Room for `len` bytes below the caller's frame; the bytes that were added. */
size_t stack_extend(stack_area *stack, size_t len);
static inline size_t stack_need(stack_area *s, size_t len) {
  const uint8_t *here = __builtin_frame_address(0);
  return s == NULL || (size_t)(here - s->open) >= len ? 0 : stack_extend(s, len);
}
uint8_t *stack_end(const stack_area *stack); /* its lowest byte that can be used at all */
static inline bool stack_is_long(void) {
  return stack_current != NULL && stack_current->open != stack_current->first;
}
/* Gives the added part back. Its bytes. */
size_t stack_trim(stack_area *stack);
