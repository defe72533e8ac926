/* files.c - microseconds to make, write, stat, read and remove a small file. */
#include "bench.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int use_file(const char *name) {
  char text[] = "a few bytes", back[sizeof text];
  struct stat st;
  int fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
  if (fd < 0) return -1;
  int wrong = write(fd, text, sizeof text) != sizeof text || fstat(fd, &st) != 0 ||
              pread(fd, back, sizeof back, 0) != sizeof back || memcmp(text, back, sizeof back) != 0;
  return close(fd) != 0 || unlink(name) != 0 || wrong ? -1 : 0;
}

int main(int argc, char **argv) {
  unsigned long count = count_of(argc, argv, 10000);
  char name[64];
  (void)snprintf(name, sizeof name, "/tmp/bench-files-%ld", (long)getpid());
  uint64_t start = now_ns();
  for (unsigned long i = 0; i < count; i++)
    if (use_file(name) != 0) return 1;
  answer((double)(now_ns() - start) / 1e3 / (double)count);
  return 0;
}
