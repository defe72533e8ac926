/* system_popen - system(3), popen(3): a shell's exit code, its output and its input. */
#include "posix.h"

int main(void) {
  char line[64];
  IS(system(NULL) != 0);
  SHOW(WEXITSTATUS(system("exit 3")));
  SHOW(WEXITSTATUS(system("true")));
  SHOW(WEXITSTATUS(system("no-such-program-here 2>/dev/null")));
  int status = system("kill -TERM $$");
  IS(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
  SHOW(WEXITSTATUS(system("echo from the shell")));

  FILE *f = popen("echo one; echo two; exit 4", "r");
  while (fgets(line, sizeof line, f) != NULL) say("read: %s", line);
  SHOW(WEXITSTATUS(pclose(f)));
  f = popen("sort > sorted", "w");
  fputs("pear\napple\nfig\n", f);
  SHOW(pclose(f));
  get("sorted");
  f = popen("cat", "re");
  SHOW(pclose(f));
  errno = 0;
  IS(popen("x", "q") == NULL);
  say("%s\n", error_name(errno));
  return 0;
}
