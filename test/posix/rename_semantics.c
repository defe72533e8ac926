/* rename_semantics - rename(2): replaces in one step, keeps the inode, moves directories with their contents,
 * and is a no-op for two names of one file. */
#include "posix.h"

static ino_t inode(const char *path) {
  struct stat st;
  return stat(path, &st) < 0 ? 0 : st.st_ino;
}

int main(void) {
  put("a", "text of a");
  put("b", "text of b");
  ino_t before = inode("a");
  int old_b = MUST(open("b", O_RDONLY));
  SAY(rename("a", "b"));
  SAY(access("a", F_OK));
  IS(inode("b") == before);
  get("b");
  char text[32] = "";
  SAY(read(old_b, text, sizeof text));
  TEXT(text);
  struct stat st;
  MUST(fstat(old_b, &st));
  SHOW(st.st_nlink);

  SAY(link("b", "c"));
  SAY(rename("b", "c"));
  SAY(access("b", F_OK));
  SAY(access("c", F_OK));
  SAY(rename("b", "b"));

  MUST(mkdir("d", 0755));
  MUST(mkdir("d/e", 0755));
  put("d/e/f", "deep");
  MUST(mkdir("empty", 0755));
  SAY(rename("d", "empty"));
  get("empty/e/f");
  SAY(access("d", F_OK));
  SAY(rename("empty/e/f", "f"));
  get("f");
  SAY(rename("empty/e", "e"));
  SAY(rmdir("empty"));

  MUST(symlink("nowhere", "s"));
  SAY(rename("s", "t"));
  SAY(readlink("t", text, sizeof text));
  put("target", "safe");
  SAY(rename("target", "t"));
  MUST(lstat("t", &st));
  IS(S_ISREG(st.st_mode));
  SAY(access("nowhere", F_OK));
  return 0;
}
