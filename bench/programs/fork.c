/* fork.c - microseconds for fork, exec of `true` and wait. */
#include "bench.h"

#include <sys/wait.h>
#include <unistd.h>

static int spawn_true(void) {
  pid_t child = fork();
  if (child == 0) {
    execl("/bin/true", "true", (char *)NULL);
    _exit(127);
  }
  int status = -1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0 ? 0 : -1;
}

int main(int argc, char **argv) {
  unsigned long count = count_of(argc, argv, 100);
  uint64_t start = now_ns();
  for (unsigned long i = 0; i < count; i++)
    if (spawn_true() != 0) return 1;
  answer((double)(now_ns() - start) / 1e3 / (double)count);
  return 0;
}
