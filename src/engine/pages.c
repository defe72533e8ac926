/* Which pages of a private mapping the guest has made its own: PAGEMAP_SCAN of Linux 6.7 answers for a whole
 * memory in a few microseconds. The headers of the C library may be older than the kernel, so its constants
 * are here too. */
#include "engine/internal.h"

#include <sys/ioctl.h>

struct scan_region {
  uint64_t start, end, categories;
};

struct scan_args {
  uint64_t size, flags, start, end, walk_end, regions, region_count, max_pages;
  uint64_t inverted, all_of, any_of, wanted;
};

#define SCAN_IOCTL _IOWR('f', 16, struct scan_args)

enum { IS_FILE = 1 << 2, IS_PRESENT = 1 << 3, IS_SWAPPED = 1 << 4, IS_ZERO_PAGE = 1 << 5, BATCH = 256 };

static long scan(int fd, uintptr_t start, uintptr_t end, struct scan_region *out, uint64_t *walked) {
  struct scan_args args = {
    .size = sizeof args,
    .start = start,
    .end = end,
    .regions = (uintptr_t)out,
    .region_count = BATCH,
    .inverted = IS_FILE | IS_ZERO_PAGE, /* those must be absent */
    .all_of = IS_FILE | IS_ZERO_PAGE,
    .any_of = IS_PRESENT | IS_SWAPPED,
    .wanted = IS_PRESENT,
  };
  long count = ioctl(fd, SCAN_IOCTL, &args);
  *walked = args.walk_end;
  return count;
}

bool eng_pages_changed(const eng_engine *engine, uint8_t *base, size_t len, eng_pages_fn *visit, void *ctx) {
  uintptr_t start = (uintptr_t)base, end = start + len;
  struct scan_region regions[BATCH];
  for (uint64_t walked; start < end; start = walked) {
    long count = engine->pagemap < 0 ? -1 : scan(engine->pagemap, start, end, regions, &walked);
    if (count < 0) return visit(ctx, start - (uintptr_t)base, end - start);
    for (long i = 0; i < count; i++)
      if (!visit(ctx, regions[i].start - (uintptr_t)base, regions[i].end - regions[i].start)) return false;
  }
  return true;
}
