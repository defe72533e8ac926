/* openat_flags - openat(2): relative to a directory, to the working directory, and absolute paths. */
#include "posix.h"

int main(void) {
  struct stat st;
  char text[16] = "", cwd[PATH_MAX], path[PATH_MAX + 8];
  MUST(mkdir("d", 0755));
  put("d/f", "in d");
  put("f", "above");
  int d = MUST(open("d", O_RDONLY | O_DIRECTORY)), file = MUST(open("f", O_RDONLY));
  int fd = OK(openat(d, "f", O_RDONLY));
  SAY(read(fd, text, sizeof text));
  TEXT(text);
  fd = OK(openat(d, "../f", O_RDONLY));
  memset(text, 0, sizeof text);
  SAY(read(fd, text, sizeof text));
  TEXT(text);
  OK(openat(AT_FDCWD, "d/f", O_RDONLY));
  SAY(openat(d, "none", O_RDONLY));
  SAY(openat(file, "f", O_RDONLY));
  SAY(openat(99, "f", O_RDONLY));
  MUST(getcwd(cwd, sizeof cwd) == NULL ? -1 : 0);
  snprintf(path, sizeof path, "%s/f", cwd);
  OK(openat(99, path, O_RDONLY));
  OK(openat(file, path, O_RDONLY));
  OK(openat(d, ".", O_RDONLY));
  SAY(openat(d, "", O_RDONLY));

  MUST(rename("d", "moved"));
  OK(openat(d, "f", O_RDONLY));
  SAY(mkdirat(d, "sub", 0755));
  SAY(access("moved/sub", F_OK));
  SAY(fstatat(d, "f", &st, 0));
  SAY(faccessat(d, "f", R_OK, 0));
  SAY(renameat(d, "f", AT_FDCWD, "out"));
  get("out");
  SAY(linkat(AT_FDCWD, "out", d, "back", 0));
  get("moved/back");
  SAY(symlinkat("back", d, "s"));
  SAY(readlinkat(d, "s", text, sizeof text));
  SAY(unlinkat(d, "s", 0));
  SAY(unlinkat(d, "sub", AT_REMOVEDIR));
  SAY(fchmodat(d, "back", 0600, 0));
  OK(openat(d, "new", O_CREAT | O_WRONLY, 0644));
  SAY(access("moved/new", F_OK));

  SAY(open("out", O_RDONLY | O_CREAT | O_EXCL, 0644));
  SAY(open("moved", O_WRONLY));
  SAY(open("moved", O_RDWR));
  SAY(open("moved", O_RDONLY | O_CREAT, 0644));
  SAY(open("x/", O_CREAT | O_WRONLY, 0644));
  SAY(open("out/", O_RDONLY));
  SAY(open("", O_RDONLY));
  int path_only = MUST(open("moved", O_PATH));
  OK(openat(path_only, "back", O_RDONLY));
  return 0;
}
