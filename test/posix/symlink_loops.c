/* symlink_loops - path_resolution(7): at most 40 links are followed, a loop answers ELOOP everywhere. */
#include "posix.h"

int main(void) {
  struct stat st;
  char from[32], to[32], text[32];
  MUST(symlink("self", "self"));
  MUST(symlink("b", "a"));
  MUST(symlink("a", "b"));
  SAY(open("self", O_RDONLY));
  SAY(open("a", O_RDONLY));
  SAY(open("a", O_WRONLY | O_CREAT, 0644));
  SAY(open("a/x", O_RDONLY));
  SAY(stat("a", &st));
  SAY(lstat("a", &st));
  SAY(chdir("a"));
  SAY(chmod("a", 0644));
  SAY(truncate("a", 0));
  SAY(mkdir("a/b", 0755));
  SAY(mkdir("a", 0755));
  SAY(rename("a/b", "c"));
  SAY(link("a", "hard"));
  SAY(readlink("a", text, sizeof text));
  SAY(access("a", F_OK));
  SAY(unlink("a"));

  put("l0", "end of the chain");
  for (int i = 1; i <= 42; i++) {
    snprintf(from, sizeof from, "l%d", i);
    snprintf(to, sizeof to, "l%d", i - 1);
    MUST(symlink(to, from));
  }
  get("l39");
  get("l40");
  get("l41");
  SAY(lstat("l42", &st));

  MUST(mkdir("d", 0755));
  MUST(symlink(".", "d/here"));
  put("d/f", "found");
  get("d/here/here/here/here/f");
  SAY(open("d/here/here/none", O_RDONLY));
  return 0;
}
