/* spawn.c - microseconds for posix_spawn of `true` and wait. */
#include "bench.h"

#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

static int spawn_true(void) {
  char *arguments[] = { "true", NULL };
  pid_t child = 0;
  int status = -1;
  if (posix_spawn(&child, "/bin/true", NULL, NULL, arguments, environ) != 0) return -1;
  return waitpid(child, &status, 0) == child && status == 0 ? 0 : -1;
}

int main(int argc, char **argv) {
  unsigned long count = count_of(argc, argv, 100);
  uint64_t start = now_ns();
  for (unsigned long i = 0; i < count; i++)
    if (spawn_true() != 0) return 1;
  answer((double)(now_ns() - start) / 1e3 / (double)count);
  return 0;
}
