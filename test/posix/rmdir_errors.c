/* rmdir_errors - rmdir(2): each of its refusals. */
#include "posix.h"

int main(void) {
  put("f", "");
  MUST(mkdir("d", 0755));
  MUST(mkdir("d/e", 0755));
  MUST(mkdir("x", 0755));
  MUST(symlink("x", "s"));
  SAY(rmdir("d"));
  SAY(rmdir("f"));
  SAY(rmdir("f/x"));
  SAY(rmdir("none"));
  SAY(rmdir(""));
  SAY(rmdir("."));
  SAY(rmdir("d/."));
  SAY(rmdir("d/e/.."));
  SAY(rmdir("s"));
  SAY(rmdir("s/"));
  SAY(rmdir("/"));
  SAY(unlinkat(AT_FDCWD, "x", AT_REMOVEDIR));
  SAY(unlinkat(AT_FDCWD, "d", 0));
  SAY(unlinkat(AT_FDCWD, "d", 0x4000));
  SAY(rmdir("d/e/"));
  SAY(rmdir("d"));
  SAY(access("d", F_OK));
  SAY(unlink("s"));
  return 0;
}
