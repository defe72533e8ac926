/* realpath_dirname - realpath(3), basename(3), dirname(3). */
#include "posix.h"

#include <libgen.h>

static size_t base;

static void real(const char *path) {
  char out[PATH_MAX];
  errno = 0;
  const char *r = realpath(path, out);
  say("%s -> %s\n", path, r == NULL ? error_name(errno) : strlen(r) < base ? r : r + base);
}

static void split(const char *path) {
  char a[64], b[64];
  snprintf(a, sizeof a, "%s", path);
  snprintf(b, sizeof b, "%s", path);
  say("\"%s\": dir \"%s\" base \"%s\"\n", path, dirname(a), basename(b));
}

int main(void) {
  char cwd[PATH_MAX];
  MUST(getcwd(cwd, sizeof cwd) == NULL ? -1 : 0);
  base = strlen(cwd);
  MUST(mkdir("d", 0755));
  MUST(mkdir("d/e", 0755));
  put("d/e/f", "");
  MUST(symlink("d/e", "s"));
  MUST(symlink("../f", "d/up"));
  MUST(symlink("loop", "loop"));
  real("d/e/f");
  real("s/f");
  real("s/..");
  real("./d/../d//e/.");
  real("s");
  real("none");
  real("d/none");
  real("d/up");
  real("loop");
  real("d/e/f/x");
  real("d/e/f/");
  real("");
  real("/");
  real("/..");
  split("/usr/lib");
  split("/usr/");
  split("usr");
  split("/");
  split(".");
  split("..");
  split("");
  split("a/b//");
  return 0;
}
