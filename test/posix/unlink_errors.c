/* unlink_errors - unlink(2): each of its refusals. */
#include "posix.h"

int main(void) {
  put("f", "");
  MUST(mkdir("d", 0755));
  put("d/x", "");
  MUST(symlink("d", "s"));
  SAY(unlink("none"));
  SAY(unlink("d"));
  SAY(unlink("f/"));
  SAY(unlink("f/x"));
  SAY(unlink(""));
  SAY(unlink("none/f"));
  SAY(unlink("s/"));
  SAY(unlink("s/x"));
  SAY(access("d/x", F_OK));
  SAY(unlink("s"));
  SAY(unlink("s"));
  SAY(unlink("."));
  SAY(unlink("/"));
  SAY(unlinkat(99, "f", 0));
  int fd = MUST(open("f", O_RDONLY));
  SAY(unlinkat(fd, "x", 0));
  SAY(remove("f"));
  SAY(remove("d"));
  SAY(remove("d"));
  return 0;
}
