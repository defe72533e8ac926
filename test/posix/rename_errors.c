/* rename_errors - rename(2): each of its refusals, and that a refusal changes nothing. */
#include "posix.h"

int main(void) {
  put("file", "f");
  MUST(mkdir("dir", 0755));
  MUST(mkdir("dir/sub", 0755));
  MUST(mkdir("full", 0755));
  put("full/x", "x");

  SAY(rename("none", "a"));
  SAY(rename("file", "none/a"));
  SAY(rename("file", "file/a"));
  SAY(rename("file", "dir"));
  SAY(rename("dir", "file"));
  SAY(rename("dir", "full"));
  SAY(rename("dir", "dir/sub/inner"));
  SAY(rename("dir", "dir/inner"));
  SAY(rename("", "a"));
  SAY(rename("file", ""));
  SAY(rename("dir/.", "a"));
  SAY(rename("dir/..", "a"));
  SAY(rename("file", "a/"));
  SAY(rename("file/", "a"));
  SAY(rename("dir", "other/"));
  SAY(access("other", F_OK));
  SAY(rename("file", "/proc/self/x"));

  SAY(renameat2(AT_FDCWD, "file", AT_FDCWD, "other", RENAME_NOREPLACE));
  SAY(renameat2(AT_FDCWD, "file", AT_FDCWD, "fresh", RENAME_NOREPLACE));
  SAY(renameat2(AT_FDCWD, "fresh", AT_FDCWD, "full", RENAME_EXCHANGE));
  struct stat st;
  SAY(lstat("fresh", &st));
  IS(S_ISDIR(st.st_mode));
  get("full");
  get("fresh/x");
  SAY(renameat2(AT_FDCWD, "fresh", AT_FDCWD, "x", 0x100));
  SAY(renameat(99, "fresh", AT_FDCWD, "x"));
  return 0;
}
