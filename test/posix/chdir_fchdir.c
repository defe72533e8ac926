/* chdir_fchdir - chdir(2): relative paths follow, a child has its own, a symlink is resolved, each refusal.
 */
#include "posix.h"

static size_t base;

static void where(void) {
  char now[PATH_MAX];
  say("in \"%s\"\n", getcwd(now, sizeof now) == NULL ? error_name(errno) : now + base);
}

int main(void) {
  char start[PATH_MAX];
  MUST(getcwd(start, sizeof start) == NULL ? -1 : 0);
  base = strlen(start);
  MUST(mkdir("a", 0755));
  MUST(mkdir("a/b", 0755));
  MUST(symlink("a/b", "link"));
  put("a/b/f", "text");
  int here = MUST(open(".", O_RDONLY | O_DIRECTORY));
  SAY(chdir("link"));
  where();
  get("f");
  SAY(chdir(".."));
  where();
  get("b/f");

  pid_t pid = MUST(fork());
  if (pid == 0) {
    SAY(chdir("b"));
    where();
    _exit(0);
  }
  reap("child", pid);
  where();

  SAY(fchdir(here));
  where();
  SAY(chdir("none"));
  SAY(chdir("a/b/f"));
  SAY(chdir(""));
  int file = MUST(open("a/b/f", O_RDONLY));
  SAY(fchdir(file));
  SAY(fchdir(99));
  where();
  SAY(chdir("./a/./b/../b/."));
  where();
  SAY(chdir(start));
  where();
  return 0;
}
