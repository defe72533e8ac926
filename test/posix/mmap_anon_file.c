/* mmap_anon_file - mmap(2): zeroed memory, private copies of files, memory given back, and each refusal. */
#include "posix.h"

#include <sys/mman.h>

enum { PAGE = 65536 };

static bool all(const char *p, size_t len, char byte) {
  for (size_t i = 0; i < len; i++)
    if (p[i] != byte) return false;
  return true;
}

int main(void) {
  char *a = mmap(NULL, 10 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  IS(a != MAP_FAILED);
  IS((uintptr_t)a % 4096 == 0);
  IS(all(a, 10 * PAGE, 0));
  memset(a, 'x', 10 * PAGE);
  SAY(munmap(a, 10 * PAGE));
  a = mmap(NULL, 10 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  IS(all(a, 10 * PAGE, 0));
  memset(a, 'y', 10 * PAGE);
  SAY(munmap(a + 2 * PAGE, PAGE));
  IS(all(a, 2 * PAGE, 'y') && all(a + 3 * PAGE, 7 * PAGE, 'y'));
  char *bigger = mremap(a + 3 * PAGE, 7 * PAGE, 40 * PAGE, MREMAP_MAYMOVE);
  IS(bigger != MAP_FAILED);
  IS(all(bigger, 7 * PAGE, 'y') && all(bigger + 7 * PAGE, 33 * PAGE, 0));
  char *smaller = mremap(bigger, 40 * PAGE, PAGE, 0);
  IS(smaller == bigger);
  SAY(munmap(bigger, PAGE));
  SAY(munmap(a, 2 * PAGE));

  int fd = MUST(open("f", O_RDWR | O_CREAT, 0644));
  for (int i = 0; i < 3; i++) {
    char block[4096];
    memset(block, 'a' + i, sizeof block);
    MUST(write(fd, block, sizeof block));
  }
  MUST(write(fd, "tail", 4));
  char *map = mmap(NULL, 3 * 4096 + 4, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  IS(map != MAP_FAILED);
  IS(all(map, 4096, 'a') && all(map + 8192, 4096, 'c'));
  say("%.4s, then %d\n", map + 12288, map[12292]);
  map[0] = 'Z';
  char byte;
  SAY(pread(fd, &byte, 1, 0));
  say("the file still says %c\n", byte);
  SAY(munmap(map, 3 * 4096 + 4));
  map = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 4096);
  IS(all(map, 4096, 'b'));
  close(fd);
  IS(all(map, 4096, 'b'));
  SAY(munmap(map, 4096));
  fd = MUST(open("f", O_RDONLY));
  map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
  IS(map != MAP_FAILED && all(map, 4096, 'a'));
  SAY(munmap(map, 4096));

  IS(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == EINVAL);
  IS(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 99, 0) == MAP_FAILED && errno == EBADF);
  IS(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 7) == MAP_FAILED && errno == EINVAL);
  int w = MUST(open("f", O_WRONLY));
  IS(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, w, 0) == MAP_FAILED && errno == EACCES);
  IS(mmap(NULL, (size_t)1 << 31, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED ||
     errno == ENOMEM);

  for (int i = 0; i < 2000; i++) { /* 1 GiB in all: it has to come back */
    char *p = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
      say("out of memory at %d\n", i);
      break;
    }
    p[i] = 1;
    munmap(p, 8 * PAGE);
  }
  return 0;
}
