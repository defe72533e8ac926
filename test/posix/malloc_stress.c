/* malloc_stress - malloc(3): blocks never overlap, keep their contents, and are reused. */
#include "posix.h"

#include <malloc.h>

enum { SLOTS = 500, ROUNDS = 40000 };

static uint32_t state = 12345;

static uint32_t next(void) { return state = state * 1664525u + 1013904223u, state >> 8; }

static struct {
  unsigned char *p;
  size_t len;
  unsigned char fill;
} slot[SLOTS];

static bool intact(int i) {
  for (size_t k = 0; k < slot[i].len; k++)
    if (slot[i].p[k] != slot[i].fill) return false;
  return true;
}

int main(void) {
  int broken = 0, refused = 0;
  for (int round = 0; round < ROUNDS; round++) {
    int i = (int)(next() % SLOTS);
    if (slot[i].p != NULL && !intact(i)) broken++;
    size_t len = next() % 100 == 0 ? next() % 200000 : next() % 600;
    unsigned char *p;
    switch (next() % 4) {
    case 0:
      p = realloc(slot[i].p, len + 1);
      if (p == NULL) break;
      for (size_t k = 0; k < slot[i].len && k < len; k++) broken += p[k] != slot[i].fill;
      slot[i].p = NULL;
      break;
    case 1: p = calloc(1, len + 1); break;
    case 2: p = aligned_alloc(64, (len + 64) / 64 * 64); break;
    default: p = malloc(len + 1); break;
    }
    if (p == NULL) {
      refused++;
      continue;
    }
    free(slot[i].p);
    slot[i].p = p;
    slot[i].len = len;
    slot[i].fill = (unsigned char)round;
    memset(p, round, len);
  }
  for (int i = 0; i < SLOTS; i++) {
    broken += !intact(i);
    free(slot[i].p);
  }
  SHOW(broken);
  SHOW(refused);

  int aligned = 0;
  for (size_t align = 16; align <= 65536; align *= 2) {
    void *p = NULL;
    aligned += posix_memalign(&p, align, 100) == 0 && (uintptr_t)p % align == 0;
    free(p);
  }
  SHOW(aligned);
  for (int i = 0; i < 300; i++) { /* 3 GB in all, 10 MB at a time */
    char *p = malloc(10000000);
    if (p == NULL) {
      say("out of memory at %d\n", i);
      break;
    }
    p[0] = p[9999999] = 1;
    free(p);
  }
  unsigned char *zero = calloc(1000, 1000);
  bool clean = true;
  for (int i = 0; i < 1000000; i++) clean &= zero[i] == 0;
  IS(clean);
  free(zero);
  volatile size_t huge = SIZE_MAX / 2;
  void *volatile none = malloc(huge); /* volatile: an unused allocation could be left out */
  IS(none == NULL && errno == ENOMEM);
  none = calloc(huge, 3);
  IS(none == NULL && errno == ENOMEM);
  IS(malloc_usable_size(malloc(100)) >= 100);
  return 0;
}
