/* fork_memory - fork(2): the child has a copy of the memory, deep stacks and all, and neither sees the
 * other's writes. */
#include "posix.h"

static int global = 1;
static char big[1 << 20];

static int deep(int depth, const char *marker) {
  volatile char frame[200];
  memset((void *)(uintptr_t)frame, depth, sizeof frame);
  if (depth == 0) {
    pid_t pid = MUST(fork());
    if (pid == 0) return 1;
    reap(marker, pid);
    return 0;
  }
  int child = deep(depth - 1, marker);
  for (size_t i = 0; i < sizeof frame; i++)
    if (frame[i] != (char)depth) return 100;
  return child;
}

int main(void) {
  int local = 2, *heap = malloc(sizeof *heap);
  *heap = 3;
  memset(big, 'p', sizeof big);
  gate changed = gate_new();
  pid_t pid = MUST(fork());
  if (pid == 0) {
    gate_wait(changed);
    say("child sees %d %d %d %c\n", global, local, *heap, big[500000]);
    global = local = *heap = 7;
    memset(big, 'c', sizeof big);
    char *fresh = malloc(300000);
    memset(fresh, 1, 300000);
    _exit(global + local + *heap);
  }
  global = 10;
  local = 20;
  *heap = 30;
  big[500000] = 'q';
  gate_open(changed);
  reap("child", pid);
  say("parent sees %d %d %d %c%c\n", global, local, *heap, big[0], big[500000]);

  int result = deep(200, "from the deep");
  if (result == 1) _exit(44);
  SHOW(result);

  int depth = 0; /* each child forks the next */
  while (depth < 8) {
    pid = MUST(fork());
    if (pid != 0) {
      int status;
      MUST(waitpid(pid, &status, 0));
      if (depth > 0) _exit(WEXITSTATUS(status) + 1);
      say("a line of %d children\n", WEXITSTATUS(status) + 1);
      return 0;
    }
    depth++;
  }
  _exit(0);
}
