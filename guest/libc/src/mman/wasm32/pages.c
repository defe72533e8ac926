#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "cay_arch.h"
#include "pages.h"

#define WASM_PAGES(n) (((n) + 15) / 16)
#define GROW_MAX (4096u * 16) /* never more than 256 MiB in advance */

extern unsigned char __heap_base[]; /* from the linker: the end of data and stack */

static uint32_t used[PAGES_END / 32 + 1];
static unsigned first;   /* 0 until the first call */
static unsigned hint;    /* no unmapped page lies below */
static unsigned limit;   /* the end of linear memory */
static unsigned touched; /* pages from here on were never mapped: they are zero */

static void setup(void) {
  first = ((unsigned)(uintptr_t)__heap_base + PAGE - 1) / PAGE;
  hint = touched = first;
  limit = (unsigned)__builtin_wasm_memory_size(0) * 16;
}

unsigned __cay_pages_first(void) {
  if (!first) setup();
  return first;
}

unsigned __cay_pages_next(unsigned page, unsigned end, int set) {
  uint32_t flip = set ? 0 : ~0u;
  while (page < end) {
    uint32_t w = (used[page / 32] ^ flip) >> (page % 32);
    if (w) {
      page += (unsigned)__builtin_ctz(w);
      return page < end ? page : end;
    }
    page = (page / 32 + 1) * 32;
  }
  return end;
}

unsigned __cay_pages_find(unsigned count) {
  unsigned page = hint < __cay_pages_first() ? first : hint;
  for (;;) {
    page = __cay_pages_next(page, PAGES_END, 0);
    if (count > PAGES_END - page) return 0;
    unsigned stop = __cay_pages_next(page, page + count, 1);
    if (stop == page + count) return page;
    page = stop;
  }
}

static void mark(unsigned page, unsigned count, int set) {
  for (unsigned end = page + count; page < end;) {
    unsigned bit = page % 32, n = 32 - bit < end - page ? 32 - bit : end - page;
    uint32_t mask = (n == 32 ? ~0u : (1u << n) - 1) << bit;
    if (set)
      used[page / 32] |= mask;
    else
      used[page / 32] &= ~mask;
    page += n;
  }
}

/* Grows a little ahead, in proportion to what there is: the host charges for it, and may refuse the surplus
 * only. */
static int reach(unsigned end) {
  if (end <= limit) return 0;
  unsigned ahead = (limit - first) / 8 < GROW_MAX ? (limit - first) / 8 : GROW_MAX;
  unsigned need = WASM_PAGES(end - limit), want = WASM_PAGES(end - limit + ahead);
  if (limit + want * 16 > PAGES_END) want = need;
  if (__cay_host_syscall(SYS_cay_memgrow, want, 0, 0, 0, 0, 0) < 0) {
    if (want == need || __cay_host_syscall(SYS_cay_memgrow, need, 0, 0, 0, 0, 0) < 0) return -ENOMEM;
  }
  limit = (unsigned)__builtin_wasm_memory_size(0) * 16;
  return 0;
}

int __cay_pages_claim(unsigned page, unsigned count, int zero) {
  unsigned end = page + count;
  if (reach(end) < 0) return -ENOMEM;
  if (zero && page < touched)
    memset((void *)(uintptr_t)(page * PAGE), 0, ((end < touched ? end : touched) - page) * PAGE);
  mark(page, count, 1);
  if (end > touched) touched = end;
  if (page == hint) hint = end;
  return 0;
}

void __cay_pages_release(unsigned page, unsigned count) {
  mark(page, count, 0);
  if (page < hint) hint = page;
}
