/* mkdir_errors - mkdir(2): each of its refusals, and trailing slashes. */
#include "posix.h"

int main(void) {
  put("f", "");
  MUST(mkdir("d", 0755));
  MUST(symlink("none", "dangling"));
  MUST(symlink("d", "to-d"));
  SAY(mkdir("d", 0755));
  SAY(mkdir("f", 0755));
  SAY(mkdir("f/x", 0755));
  SAY(mkdir("none/x", 0755));
  SAY(mkdir("", 0755));
  SAY(mkdir("/", 0755));
  SAY(mkdir(".", 0755));
  SAY(mkdir("..", 0755));
  SAY(mkdir("d/.", 0755));
  SAY(mkdir("d/..", 0755));
  SAY(mkdir("none/.", 0755));
  SAY(mkdir("dangling", 0755));
  SAY(mkdir("to-d", 0755));
  SAY(mkdir("slash/", 0755));
  SAY(mkdir("slashes///", 0755));
  SAY(access("slashes", F_OK));
  SAY(mkdir("to-d/inside", 0755));
  SAY(access("d/inside", F_OK));
  SAY(mkdirat(99, "x", 0755));
  SAY(mkdirat(AT_FDCWD, "x", 0700));
  int fd = MUST(open("f", O_RDONLY));
  SAY(mkdirat(fd, "x", 0755));
  return 0;
}
