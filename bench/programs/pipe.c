/* pipe.c - MiB a second through a pipe between two processes, 64 KiB at a time. */
#include "bench.h"

#include <sys/wait.h>
#include <unistd.h>

enum { BLOCK = 65536 };

static void drain(int fd) {
  static char block[BLOCK];
  while (read(fd, block, BLOCK) > 0) {}
}

static int fill(int fd, unsigned long blocks) {
  static char block[BLOCK];
  for (unsigned long left = blocks * BLOCK; left > 0;) {
    ssize_t n = write(fd, block, left < BLOCK ? left : BLOCK);
    if (n <= 0) return -1;
    left -= (unsigned long)n;
  }
  return 0;
}

int main(int argc, char **argv) {
  unsigned long blocks = count_of(argc, argv, 4096);
  int ends[2], status = -1;
  if (pipe(ends) != 0) return 1;
  uint64_t start = now_ns();
  pid_t child = fork();
  if (child == 0) {
    (void)close(ends[1]);
    drain(ends[0]);
    _exit(0);
  }
  (void)close(ends[0]);
  if (child < 0 || fill(ends[1], blocks) != 0) return 1;
  (void)close(ends[1]);
  if (waitpid(child, &status, 0) != child || status != 0) return 1;
  answer((double)(blocks * BLOCK) / 1048576 / ((double)(now_ns() - start) / 1e9));
  return 0;
}
