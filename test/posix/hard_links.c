/* hard_links - link(2): many names, one file; the count says how many. */
#include "posix.h"

static void count(const char *path) {
  struct stat st;
  MUST(lstat(path, &st));
  say("%s has %d links\n", path, (int)st.st_nlink);
}

int main(void) {
  struct stat a, b;
  put("a", "text");
  count("a");
  SAY(link("a", "b"));
  SAY(link("b", "c"));
  count("a");
  MUST(stat("a", &a));
  MUST(stat("c", &b));
  IS(a.st_ino == b.st_ino && a.st_dev == b.st_dev);
  put("c", "changed");
  get("a");
  MUST(chmod("b", 0600));
  MUST(stat("a", &a));
  say("mode %o\n", a.st_mode & 0777);
  SAY(unlink("a"));
  count("b");
  get("c");
  SAY(rename("b", "d"));
  count("d");

  MUST(symlink("d", "s"));
  SAY(link("s", "s2"));
  count("s");
  SAY(linkat(AT_FDCWD, "s", AT_FDCWD, "d2", AT_SYMLINK_FOLLOW));
  count("d");
  MUST(lstat("s2", &a));
  IS(S_ISLNK(a.st_mode));
  return 0;
}
