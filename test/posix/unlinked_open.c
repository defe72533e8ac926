/* unlinked_open - unlink(2): a file without a name lives on while it is open, and its name can be used anew.
 */
#include "posix.h"

int main(void) {
  char text[32] = "";
  struct stat st;
  put("f", "old");
  int fd = MUST(open("f", O_RDWR));
  SAY(unlink("f"));
  SAY(access("f", F_OK));
  MUST(fstat(fd, &st));
  SHOW(st.st_nlink);
  SAY(read(fd, text, sizeof text));
  TEXT(text);
  SAY(write(fd, " and more", 9));
  SAY(ftruncate(fd, 6));
  put("f", "new");
  memset(text, 0, sizeof text);
  SAY(pread(fd, text, sizeof text, 0));
  TEXT(text);
  get("f");

  MUST(mkdir("d", 0755));
  int dir = MUST(open("d", O_RDONLY | O_DIRECTORY));
  SAY(rmdir("d"));
  SAY(openat(dir, "x", O_CREAT | O_WRONLY, 0644));
  SAY(mkdirat(dir, "y", 0755));
  MUST(fstat(dir, &st));
  IS(S_ISDIR(st.st_mode));
  SHOW(st.st_nlink);

  MUST(mkdir("gone", 0755));
  MUST(chdir("gone"));
  SAY(rmdir("../gone"));
  IS(getcwd(text, sizeof text) == NULL && errno == ENOENT);
  SAY(open("x", O_CREAT | O_WRONLY, 0644));
  SAY(open(".", O_RDONLY) >= 0);
  SAY(chdir(".."));
  get("f");
  return 0;
}
