/* Which pages of a private mapping the guest has made its own, and which it wrote since somebody last asked.
 *
 * PAGEMAP_SCAN of Linux 6.7 answers the first for a whole memory in a few microseconds, and the second where
 * userfaultfd(2) protects pages asynchronously: the kernel itself lifts the protection of a page at the first
 * write, from the guest or from a system call, without a notification. A page is reported as written unless it is
 * protected; pages that were never the guest's own need no protection, as they are not reported before they
 * are. The headers of the C library may be older than the kernel, so its constants are here too. */
#include "engine/internal.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct scan_region {
  uint64_t start, end, categories;
};

struct scan_args {
  uint64_t size, flags, start, end, walk_end, regions, region_count, max_pages;
  uint64_t inverted, all_of, any_of, wanted;
};

#define SCAN_IOCTL _IOWR('f', 16, struct scan_args)

#define ENTRY_PRESENT (UINT64_C(1) << 63)
#define ENTRY_SWAPPED (UINT64_C(1) << 62)
#define ENTRY_FILE (UINT64_C(1) << 61)

enum {
  PAGE = 4096,
  IS_WRITTEN = 1 << 1,
  IS_FILE = 1 << 2,
  IS_PRESENT = 1 << 3,
  IS_SWAPPED = 1 << 4,
  IS_ZERO_PAGE = 1 << 5,
  SCAN_PROTECT = 1 << 0,
  SCAN_CHECK_ASYNC = 1 << 1,
  WATCH_UNPOPULATED = 1 << 13,
  WATCH_ASYNC = 1 << 15,
  USER_MODE_ONLY = 1,
  BATCH = 256,
};

/* ---- before Linux 6.7: one number for each page, a megabyte of memory in 5 us ---- */

static bool pages_is_own(uint64_t entry) {
  return (entry & (ENTRY_PRESENT | ENTRY_SWAPPED)) != 0 && (entry & ENTRY_FILE) == 0;
}

static bool visit_entries(const uint64_t *entries, size_t count, size_t offset, eng_pages_fn *visit,
                          void *ctx) {
  for (size_t i = 0, from; i < count; i++) {
    for (from = i; i < count && pages_is_own(entries[i]);) i++;
    if (i > from && !visit(ctx, offset + from * PAGE, (i - from) * PAGE)) return false;
  }
  return true;
}

static bool pages_read_map(const eng_engine *engine, uint8_t *base, size_t offset, size_t len,
                           eng_pages_fn *visit, void *ctx) {
  uint64_t entries[BATCH];
  for (size_t count; offset < len; offset += count * PAGE) {
    count = (len - offset) / PAGE < BATCH ? (len - offset) / PAGE : BATCH;
    off_t at = (off_t)(((uintptr_t)base + offset) / PAGE * sizeof *entries);
    ssize_t n = pread(engine->pagemap, entries, count * sizeof *entries, at);
    if (n != (ssize_t)(count * sizeof *entries)) return visit(ctx, offset, len - offset);
    if (!visit_entries(entries, count, offset, visit, ctx)) return false;
  }
  return true;
}

/* ---- since then ---- */

/* Pages that are there and `have` all of these and `lack` all of those properties. */
static struct scan_args pages_that(uint64_t have, uint64_t lack) {
  return (struct scan_args){
    .size = sizeof(struct scan_args),
    .inverted = lack,
    .all_of = have | lack,
    .any_of = IS_PRESENT | IS_SWAPPED,
    .wanted = IS_PRESENT,
  };
}

/* Of [from, len); offsets count from `base`. */
static bool scan(const eng_engine *engine, uint8_t *base, size_t from, size_t len, struct scan_args args,
                 eng_pages_fn *visit, void *ctx) {
  uintptr_t start = (uintptr_t)base + from, end = (uintptr_t)base + len;
  struct scan_region regions[BATCH];
  while (start < end) {
    args.start = start;
    args.end = end;
    args.regions = (uintptr_t)regions;
    args.region_count = BATCH;
    long count = engine->scans ? ioctl(engine->pagemap, SCAN_IOCTL, &args) : -1;
    if (count < 0) return pages_read_map(engine, base, start - (uintptr_t)base, len, visit, ctx);
    for (long i = 0; i < count; i++)
      if (!visit(ctx, regions[i].start - (uintptr_t)base, regions[i].end - regions[i].start)) return false;
    start = args.walk_end;
  }
  return true;
}

bool eng_pages_scan_works(int pagemap) {
  struct scan_args nothing = pages_that(0, IS_FILE);
  return ioctl(pagemap, SCAN_IOCTL, &nothing) == 0;
}

static bool scan_instance(const eng_instance *i, uint64_t len, struct scan_args args, eng_pages_fn *visit,
                          void *ctx) {
  return scan(i->module->engine, i->head.base, i->head.closed, len, args, visit, ctx);
}

bool eng_pages_changed(const eng_instance *i, uint64_t len, eng_pages_fn *visit, void *ctx) {
  return scan_instance(i, len, pages_that(0, IS_FILE | IS_ZERO_PAGE), visit, ctx);
}

/* ---- watching ---- */

int eng_watch_open(void) {
  int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | USER_MODE_ONLY);
  struct uffdio_api api = { .api = UFFD_API, .features = WATCH_ASYNC | WATCH_UNPOPULATED };
  if (fd < 0 || ioctl(fd, UFFDIO_API, &api) == 0) return fd;
  (void)close(fd);
  return -1;
}

/* Huge pages would be reported, protected and copied whole. */
bool eng_pages_watch(const eng_engine *engine, uint8_t *base, size_t len) {
  struct uffdio_register all = { .range = { (uintptr_t)base, len }, .mode = UFFDIO_REGISTER_MODE_WP };
  (void)madvise(base, len, MADV_NOHUGEPAGE);
  return engine->watch >= 0 && engine->scans && ioctl(engine->watch, UFFDIO_REGISTER, &all) == 0;
}

/* Whether a page is the file's is not asked: the kernel would have to look at the page itself, which makes
 * the scan five times as long. So a page that the guest has read for the first time is reported once. */
static struct scan_args written_pages(void) { return pages_that(IS_WRITTEN, IS_ZERO_PAGE); }

bool eng_pages_written(const eng_instance *i, uint64_t len, eng_pages_fn *visit, void *ctx) {
  return scan_instance(i, len, written_pages(), visit, ctx);
}

static bool pages_ignore(void *ctx, size_t offset, size_t len) {
  (void)ctx, (void)offset, (void)len;
  return true;
}

/* A page left unprotected is only compared once more. The list of regions is asked for although
 * it is not read: without it the kernel protects all of the range, and leaves a marker where there is no
 * page. */
static void protect(const eng_engine *engine, uint8_t *base, size_t len, struct scan_args args) {
  args.flags = SCAN_PROTECT | SCAN_CHECK_ASYNC;
  (void)scan(engine, base, 0, len, args, pages_ignore, NULL);
}

void eng_pages_protect(const eng_engine *engine, uint8_t *base, size_t len) {
  protect(engine, base, len, written_pages());
}

void eng_pages_protect_shared(const eng_engine *engine, uint8_t *base, size_t len) {
  protect(engine, base, len, pages_that(IS_WRITTEN | IS_FILE, 0));
}

/* Protection is lifted first: the kernel would keep a marker for each protected page that it drops. */
void eng_pages_drop(const eng_engine *watcher, uint8_t *base, size_t len) {
  struct uffdio_writeprotect lift = { .range = { (uintptr_t)base, len } };
  if (watcher != NULL) (void)ioctl(watcher->watch, UFFDIO_WRITEPROTECT, &lift);
  (void)madvise(base, len, MADV_DONTNEED);
}
