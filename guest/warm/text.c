// text.c - the text of the program in huge pages (text.h). Of clang's 14 ms after a fork, 8 were spent on faults of pages that are in memory.

#define _GNU_SOURCE
#include "text.h"

#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE_PAGE ((uintptr_t)2 << 20)
#define LITTLE_MEMORY ((uint64_t)4 << 30)

static uintptr_t huge_page_above(uintptr_t at) { return (at + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1); }

// For memory between `from` and `to` that is read and executed only. This code is in a library that is smaller than a huge page.
static void range_copy(uintptr_t from, uintptr_t to) {
  from = huge_page_above(from);
  to &= ~(HUGE_PAGE - 1);
  if (from >= to) return;
  size_t len = to - from;
  void *room =
      mmap(NULL, len + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return;
  char *copy = (char *)huge_page_above((uintptr_t)room);
  madvise(copy, len, MADV_HUGEPAGE);
  memcpy(copy, (const void *)from, len);
  __builtin___clear_cache(copy, copy + len);
  if (mprotect(copy, len, PROT_READ | PROT_EXEC) == 0)
    mremap(copy, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)from);
  else
    munmap(room, len + HUGE_PAGE);
}

static int module_copy(struct dl_phdr_info *module, size_t size, void *unused) {
  (void)size, (void)unused;
  for (int i = 0; i < module->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &module->dlpi_phdr[i];
    uintptr_t at = module->dlpi_addr + segment->p_vaddr;
    if (segment->p_type == PT_LOAD && segment->p_flags == (PF_R | PF_X))
      range_copy(at, at + segment->p_memsz);
  }
  return 0;
}

void warm_text_copy(void) {
  uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
  if (memory >= LITTLE_MEMORY) dl_iterate_phdr(module_copy, NULL);
}
