/* syscall.c - nanoseconds for the shortest system call there is. */
#include "bench.h"

#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv) {
  unsigned long count = count_of(argc, argv, 1000000);
  uint64_t start = now_ns();
  for (unsigned long i = 0; i < count; i++) (void)syscall(SYS_getppid);
  answer((double)(now_ns() - start) / (double)count);
  return 0;
}
