/* The page allocator under mmap: unmapped pages are used again, mapped pages are zero, partial and fixed
 * mappings hold. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

#define PAGE 4096
#define MIB (1 << 20)

static char *map(size_t len) {
  return mmap(0, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static int all(const char *p, int byte, size_t len) {
  for (size_t i = 0; i < len; i++)
    if (p[i] != byte) return 0;
  return 1;
}

static void freed_memory_is_used_again(void) {
  size_t before = 0;
  for (int i = 0; i < 200; i++) {
    char *p = map(4 * MIB);
    CHECK(p != MAP_FAILED && all(p, 0, 4 * MIB));
    memset(p, 1, 4 * MIB);
    CHECK(munmap(p, 4 * MIB) == 0);
    if (i == 1) before = (uintptr_t)p;
    if (i > 1) CHECK((uintptr_t)p == before);
  }
}

static void holes_can_be_cut_and_filled(void) {
  char *p = map(8 * PAGE);
  memset(p, 7, 8 * PAGE);
  CHECK(munmap(p + 2 * PAGE, 2 * PAGE) == 0);
  CHECK(msync(p, 8 * PAGE, MS_SYNC) < 0 && errno == ENOMEM);
  CHECK(mprotect(p + 4 * PAGE, PAGE, PROT_READ) == 0);
  CHECK(map(2 * PAGE) == p + 2 * PAGE);
  CHECK(all(p + 2 * PAGE, 0, 2 * PAGE) && all(p, 7, 2 * PAGE) && all(p + 4 * PAGE, 7, 4 * PAGE));
  CHECK(munmap(p, 8 * PAGE) == 0);
}

static void fixed_mappings_replace(void) {
  int flags = MAP_PRIVATE | MAP_ANONYMOUS;
  char *p = map(4 * PAGE);
  memset(p, 9, 4 * PAGE);
  CHECK(mmap(p + PAGE, PAGE, PROT_READ, flags | MAP_FIXED, -1, 0) == p + PAGE);
  CHECK(all(p + PAGE, 0, PAGE) && p[0] == 9 && p[2 * PAGE] == 9);
  CHECK(mmap(p, PAGE, PROT_READ, flags | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED && errno == EEXIST);
  CHECK(mmap(p + 1, PAGE, PROT_READ, flags | MAP_FIXED, -1, 0) == MAP_FAILED && errno == EINVAL);
  CHECK(munmap(p, 4 * PAGE) == 0);
}

static void remapping_keeps_the_contents(void) {
  char *p = map(2 * PAGE), *wall;
  memset(p, 3, 2 * PAGE);
  CHECK(mremap(p, 2 * PAGE, 4 * PAGE, 0) == p && all(p + 2 * PAGE, 0, 2 * PAGE));
  wall = map(PAGE);
  CHECK(mremap(p, 4 * PAGE, 64 * PAGE, 0) == MAP_FAILED && errno == ENOMEM);
  char *q = mremap(p, 4 * PAGE, 64 * PAGE, MREMAP_MAYMOVE);
  CHECK(q != MAP_FAILED && all(q, 3, 2 * PAGE) && all(q + 2 * PAGE, 0, 62 * PAGE));
  CHECK(mremap(q, 64 * PAGE, PAGE, 0) == q);
  CHECK(msync(q + PAGE, PAGE, MS_SYNC) < 0);
  CHECK(munmap(q, PAGE) == 0 && munmap(wall, PAGE) == 0);
}

static void a_file_is_mapped_by_its_contents(void) {
  char path[] = "/tmp/memory.XXXXXX";
  int fd = mkstemp(path), ro;
  CHECK(fd >= 0 && ftruncate(fd, 3 * PAGE) == 0);
  CHECK(pwrite(fd, "here", 4, 2 * PAGE) == 4);
  char *p = mmap(0, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 2 * PAGE);
  CHECK(p != MAP_FAILED && memcmp(p, "here", 5) == 0);
  p[0] = 'w';
  char byte;
  CHECK(pread(fd, &byte, 1, 2 * PAGE) == 1 && byte == 'h');
  CHECK(munmap(p, PAGE) == 0);
  p = mmap(0, PAGE, PROT_READ, MAP_SHARED, fd, 2 * PAGE);
  CHECK(p != MAP_FAILED && p[0] == 'h');
  ro = open(path, O_RDONLY);
  CHECK(mmap(0, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, ro, 0) == MAP_FAILED && errno == EACCES);
  CHECK(mmap(0, PAGE, PROT_READ, MAP_PRIVATE, 999, 0) == MAP_FAILED && errno == EBADF);
  CHECK(mmap(0, 0, PROT_READ, MAP_PRIVATE, ro, 0) == MAP_FAILED && errno == EINVAL);
  CHECK(unlink(path) == 0);
}

static void malloc_gives_back_and_fails_cleanly(void) {
  for (int i = 0; i < 100; i++) {
    char *p = malloc(8 * MIB);
    CHECK(p);
    if (p) p[5 * MIB] = 1;
    free(p);
  }
  void *(*volatile allocate)(size_t) = malloc; /* else the compiler knows that it succeeds */
  CHECK(allocate((size_t)-1 / 2 + 1000) == 0 && errno == ENOMEM);
  char *p = malloc(100);
  CHECK(p && (p = realloc(p, 3 * MIB)) && (p = realloc(p, 10)));
  free(p);
}

int main(void) {
  freed_memory_is_used_again();
  holes_can_be_cut_and_filled();
  fixed_mappings_replace();
  remapping_keeps_the_contents();
  a_file_is_mapped_by_its_contents();
  malloc_gives_back_and_fails_cleanly();
  return CHECKED();
}
