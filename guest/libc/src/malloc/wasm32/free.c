/* free, and small blocks that are used again at once: a stack of freed slots for each small size, in front of mallocng.
 *
 * Shells, awk and JavaScript free a small block and ask for one of its size a moment later. In mallocng the two cost a hundred
 * instructions, most of which find the slot's group and prove that it is one. A slot that waits here stays allocated to mallocng: taking it
 * again is a matter of its header. The checks that a program's own mistakes meet stay: a block that is freed twice, or that was
 * written beyond its end, ends the program as before.
 *
 * With threads everything goes to mallocng, which has the lock.
 */
#include <stdlib.h>

#include "../mallocng/meta.h"

#undef malloc
#undef free

enum {
  CLASSES = 20,      /* of mallocng's sizes, to 1,004 bytes */
  LARGEST = 1004,    /* the largest block of these classes */
  KEPT_BYTES = 2048, /* that wait in one stack, and at least KEPT_MIN slots */
  KEPT_MIN = 8,
  FREED = 255 /* in the header of a block that was freed, as in mallocng */
};

/* At the start of a slot that waits. */
struct waiting {
  struct waiting *next;
  unsigned char index; /* of the slot in its group */
};

static struct waiting *stacks[CLASSES];
static unsigned char heights[CLASSES];

/* NULL: there is none that waits. */
void *__malloc_quick(size_t n) {
  if (n > LARGEST || MT) return 0;
  int class = size_to_class(n);
  if (!stacks[class]) {
    class |= 1; /* mallocng, too, takes the next larger size while there are few blocks */
    if (!stacks[class]) return 0;
  }
  struct waiting *slot = stacks[class];
  unsigned char *p = (unsigned char *)slot;
  stacks[class] = slot->next;
  heights[class]--;
  p[-3] = slot->index;
  set_size(p, p + UNIT * size_classes[class] - IB, n);
  return p;
}

/* Whether the block waits now. If not, it is mallocng's to free, or to complain of. */
static int keep(unsigned char *p) {
  if (((uintptr_t)p & 15) || p[-3] == FREED || p[-4]) return 0;
  unsigned offset = *(const uint16_t *)(p - 2);
  struct group *group = (void *)(p - UNIT * offset - UNIT);
  const struct meta *g = group->meta;
  if (g->mem != group || g->sizeclass >= CLASSES || (!g->last_idx && g->maplen)) return 0;
  unsigned class = g->sizeclass, index = p[-3] & 31, stride = UNIT * size_classes[class];
  if (heights[class] >= KEPT_MIN && heights[class] * stride >= KEPT_BYTES) return 0;
  unsigned char *start = group->storage + stride * index;
  if (index > g->last_idx || p < start || p >= start + stride) return 0;
  get_nominal_size(p, start + stride - IB); /* traps if what stands behind the block is damaged */
  p[-3] = FREED;
  *(uint16_t *)(p - 2) = 0;
  *(uint16_t *)(start - 2) = (uint16_t)((unsigned)(start - group->storage) / UNIT);
  start[-3] = FREED;
  struct waiting *slot = (void *)start;
  slot->next = stacks[class];
  slot->index = (unsigned char)index;
  stacks[class] = slot;
  heights[class]++;
  return 1;
}

void free(void *p) {
  if (!p || (!MT && keep(p))) return;
  __libc_free(p);
}
