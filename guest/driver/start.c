#include "start.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

__attribute__((import_module("linux"), import_name("init"))) long host_init(void *block);

/* Parts of the libc that its own _start calls. */
void __init_libc(char **environment, char *name);
void __libc_start_init(void);

char **start_process(void) {
  static int constructed;
  void *block = aligned_alloc(16, ((size_t)host_init(NULL) + 15) & ~(size_t)15);
  if (!block) abort();
  host_init(block);
  long argc = *(long *)block;
  char **argv = (char **)block + 1;
  __init_libc(argv + argc + 1, argv[0]);
  if (!constructed++) __libc_start_init();
  return argv;
}

#ifdef _REENTRANT
void __real___init_tls(size_t *aux);
void __wrap___init_tls(size_t *aux);

/* The first thread's variables are those of the image: only a program that begins from nothing makes them. */
void __wrap___init_tls(size_t *aux) {
  static int made;
  if (!made++) __real___init_tls(aux);
}
#endif

extern char __stack_low __attribute__((weak)); /* from the linker, where it knows it */

/* Only nonzero bytes are cleared: a page that is not touched costs nothing. */
static void clear(uintptr_t from, uintptr_t to) {
  for (uintptr_t word = from; word + sizeof(long) <= to; word += sizeof(long))
    if (*(volatile long *)word) *(volatile long *)word = 0;
}

/* The stack lies first in memory and grows downwards. The red zone of leaf functions is left alone. */
__attribute__((noinline)) void start_clear_stack(void) {
  uintptr_t here = (uintptr_t)__builtin_frame_address(0) & ~(uintptr_t)15, low = (uintptr_t)&__stack_low;
  if (low < 16) low = 16;
  if (here > low + 1024) clear(low, here - 1024);
}

extern char __heap_base; /* from the linker: where mappings begin */

/* Unmapped memory keeps its bytes until it is mapped again. */
void start_clear_unmapped(void) {
  enum { PAGE = 4096, WASM_PAGE = 65536 };
  uintptr_t end = (uintptr_t)__builtin_wasm_memory_size(0) * WASM_PAGE;
  for (uintptr_t page = ((uintptr_t)&__heap_base + PAGE - 1) / PAGE * PAGE; page < end; page += PAGE)
    if (madvise((void *)page, PAGE, MADV_NORMAL) < 0) clear(page, page + PAGE);
}
