/* process.c - what processes of this machine cost: the other side of the comparison.
 *
 *   process time COUNT COMMAND...   microseconds from spawn to end: a line each
 *   process idle COMMAND...         private bytes of a command, and all it started, that waits for its input
 */
#include "bench.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static pid_t spawn(char **command, posix_spawn_file_actions_t *actions) {
  pid_t child = 0;
  int error = posix_spawnp(&child, command[0], actions, NULL, command, environ);
  if (error == 0) return child;
  fprintf(stderr, "process: %s: %s\n", command[0], strerror(error));
  exit(1);
}

static int measure_time(unsigned long count, char **command) {
  for (unsigned long i = 0; i < count; i++) {
    int status = -1;
    uint64_t start = now_ns();
    pid_t child = spawn(command, NULL);
    if (waitpid(child, &status, 0) != child || status != 0) return 1;
    answer((double)(now_ns() - start) / 1e3);
  }
  return 0;
}

static unsigned long private_kib(long pid) {
  char name[64], line[256];
  unsigned long sum = 0, value = 0;
  (void)snprintf(name, sizeof name, "/proc/%ld/smaps_rollup", pid);
  FILE *f = fopen(name, "r");
  while (f != NULL && fgets(line, sizeof line, f) != NULL)
    if (sscanf(line, "Private_%*[^:]: %lu", &value) == 1) sum += value;
  if (f != NULL) (void)fclose(f);
  return sum;
}

static long parent_of(long pid) {
  char name[64];
  long parent = 0;
  (void)snprintf(name, sizeof name, "/proc/%ld/stat", pid);
  FILE *f = fopen(name, "r");
  if (f != NULL && fscanf(f, "%*d (%*[^)]) %*c %ld", &parent) != 1) parent = 0;
  if (f != NULL) (void)fclose(f);
  return parent;
}

/* It and its children, and theirs. */
static unsigned long tree_kib(long pid) {
  unsigned long sum = private_kib(pid);
  DIR *all = opendir("/proc");
  for (struct dirent *entry; all != NULL && (entry = readdir(all)) != NULL;) {
    long other = strtol(entry->d_name, NULL, 10);
    if (other > 0 && parent_of(other) == pid) sum += tree_kib(other);
  }
  if (all != NULL) (void)closedir(all);
  return sum;
}

static int measure_idle(char **command) {
  int ends[2], said[2], status;
  char byte;
  if (pipe2(ends, O_CLOEXEC) != 0 || pipe2(said, O_CLOEXEC) != 0) return 1;
  posix_spawn_file_actions_t actions;
  (void)posix_spawn_file_actions_init(&actions);
  (void)posix_spawn_file_actions_adddup2(&actions, ends[0], 0);
  (void)posix_spawn_file_actions_adddup2(&actions, said[1], 1);
  pid_t child = spawn(command, &actions);
  if (read(said[0], &byte, 1) != 1) return 1; /* its first word: it is ready */
  (void)usleep(50000);
  answer((double)tree_kib(child) * 1024);
  (void)close(ends[1]);
  return waitpid(child, &status, 0) == child ? 0 : 1;
}

int main(int argc, char **argv) {
  if (argc > 3 && strcmp(argv[1], "time") == 0) return measure_time(strtoul(argv[2], NULL, 10), argv + 3);
  if (argc > 2 && strcmp(argv[1], "idle") == 0) return measure_idle(argv + 2);
  return 2;
}
