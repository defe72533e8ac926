/* link_errors - link(2): each of its refusals. */
#include "posix.h"

int main(void) {
  put("f", "");
  put("g", "");
  MUST(mkdir("d", 0755));
  SAY(link("none", "x"));
  SAY(link("f", "g"));
  SAY(link("f", "f"));
  SAY(link("f", "none/x"));
  SAY(link("f", "g/x"));
  SAY(link("f/x", "x"));
  SAY(link("d", "x"));
  SAY(link("f", "d"));
  SAY(link("", "x"));
  SAY(link("f", ""));
  SAY(link("f", "d/"));
  SAY(link("f", "x/"));
  SAY(link("f/", "x"));
  SAY(linkat(AT_FDCWD, "f", AT_FDCWD, "x", 0x8000));
  SAY(linkat(99, "f", AT_FDCWD, "x", 0));
  SAY(linkat(99, "/none", AT_FDCWD, "x", 0));
  struct stat st;
  MUST(stat("f", &st));
  SHOW(st.st_nlink);
  return 0;
}
