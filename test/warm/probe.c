// probe.c - tells what a process has from the one that started it, or ends in a given way. test/warm/run runs it cold and warm.

#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int state_tell(void) {
  sigset_t blocked;
  struct sigaction action;
  char cwd[4096];
  for (int fd = 0; fd < 200; fd++) {
    struct stat file;
    if (fstat(fd, &file) == 0)
      printf("descriptor %d: %lu %lu %d\n", fd, file.st_dev, file.st_ino, fcntl(fd, F_GETFL));
  }
  printf("folder %s\n", getcwd(cwd, sizeof cwd));
  printf("umask %o\n", umask(0));
  for (int i = 0; i < RLIM_NLIMITS; i++) {
    struct rlimit limit;
    getrlimit((__rlimit_resource_t)i, &limit);
    printf("limit %d: %lu %lu\n", i, limit.rlim_cur, limit.rlim_max);
  }
  sigprocmask(SIG_BLOCK, NULL, &blocked);
  for (int sig = 1; sig < NSIG; sig++) {
    if (sigismember(&blocked, sig) == 1) printf("blocked %d\n", sig);
    if (sigaction(sig, NULL, &action) == 0 && action.sa_handler != SIG_DFL) printf("ignored %d\n", sig);
  }
  return 0;
}

static int strings_tell(int argc, char **argv) {
  for (int i = 0; i < argc; i++) printf("argument <%s>\n", argv[i]);
  for (char **e = environ; *e; e++) printf("environment <%s>\n", *e);
  return printf("name %s\n", getenv("PROBE_NAME")) < 0;
}

static int program_spawn(char **argv) {
  pid_t child;
  int status;
  fflush(stdout);
  if (posix_spawn(&child, argv[0], NULL, NULL, argv, environ) != 0) return 1;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int input_copy(void) {
  char buffer[4096];
  size_t n;
  while ((n = fread(buffer, 1, sizeof buffer, stdin)) > 0) fwrite(buffer, 1, n, stdout);
  return 0;
}

// Ends when SIGKILL ends it.
static _Noreturn void for_ever(bool deaf) {
  if (deaf) signal(SIGTERM, SIG_IGN);
  puts("here");
  fflush(stdout);
  for (;;) pause();
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  if (!strcmp(what, "state")) return state_tell();
  if (!strcmp(what, "strings")) return strings_tell(argc, argv);
  if (!strcmp(what, "parent")) return printf("%d\n", getppid()) < 0;
  if (!strcmp(what, "exit")) return atoi(argv[2]);
  if (!strcmp(what, "raise")) return raise(atoi(argv[2]));
  if (!strcmp(what, "copy")) return input_copy();
  if (!strcmp(what, "stay")) for_ever(false);
  if (!strcmp(what, "stay-deaf")) for_ever(true);
  if (!strcmp(what, "spawn")) return program_spawn(argv + 2);
  return 0;
}
