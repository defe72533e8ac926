/* fork_unprepared - a program that was not compiled for it calls the fork import: refused or ended, alone. */
#include "../posix/posix.h"

__attribute__((import_module("linux"), import_name("fork"))) int linux_fork(void *buffer);

int main(int argc, char **argv) {
  (void)argv;
  if (argc > 1) {
    void *buffer = argc == 2 ? WILD : (void *)(uintptr_t)argc;
    say("answer %s\n", linux_fork(buffer) < 0 ? "refused" : "something");
    return 0;
  }
  for (int i = 0; i < 2; i++) {
    pid_t pid = MUST(vfork());
    if (pid == 0) {
      if (i == 0)
        execl(SELF, "again", "wild", (char *)NULL);
      else
        execl(SELF, "again", "low", "x", (char *)NULL);
      _exit(127);
    }
    int status;
    MUST(waitpid(pid, &status, 0));
    say("%s\n", WIFEXITED(status) && WEXITSTATUS(status) == 0 ? "it was told" : "it was ended");
  }
  return 0;
}
