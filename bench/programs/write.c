/* write.c - nanoseconds for a write of 4 KiB to a new file. */
#include "bench.h"

#include <fcntl.h>
#include <unistd.h>

int main(int argc, char **argv) {
  static char block[4096];
  unsigned long count = count_of(argc, argv, 4096);
  char name[] = "/tmp/bench-write-XXXXXX";
  int fd = mkstemp(name);
  if (fd < 0) return 1;
  uint64_t start = now_ns();
  for (unsigned long i = 0; i < count; i++)
    if (write(fd, block, sizeof block) != sizeof block) return 1;
  uint64_t end = now_ns();
  (void)unlink(name);
  answer((double)(end - start) / (double)count);
  return 0;
}
