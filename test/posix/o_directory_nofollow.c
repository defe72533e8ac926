/* o_directory_nofollow - open(2): O_DIRECTORY wants a directory, O_NOFOLLOW no link as the last part, O_PATH
 * less. */
#include "posix.h"

int main(void) {
  struct stat st;
  put("f", "");
  MUST(mkdir("d", 0755));
  put("d/x", "");
  MUST(symlink("f", "to-f"));
  MUST(symlink("d", "to-d"));
  MUST(symlink("none", "dangling"));
  OK(open("d", O_RDONLY | O_DIRECTORY));
  OK(open("to-d", O_RDONLY | O_DIRECTORY));
  SAY(open("f", O_RDONLY | O_DIRECTORY));
  SAY(open("to-f", O_RDONLY | O_DIRECTORY));
  SAY(open("none", O_RDONLY | O_DIRECTORY));
  SAY(open("/dev/null", O_RDONLY | O_DIRECTORY));

  OK(open("f", O_RDONLY | O_NOFOLLOW));
  SAY(open("to-f", O_RDONLY | O_NOFOLLOW));
  SAY(open("to-d", O_RDONLY | O_NOFOLLOW));
  SAY(open("dangling", O_RDONLY | O_NOFOLLOW));
  SAY(open("dangling", O_WRONLY | O_CREAT | O_NOFOLLOW, 0644));
  OK(open("to-d/x", O_RDONLY | O_NOFOLLOW));
  SAY(open("to-d", O_RDONLY | O_NOFOLLOW | O_DIRECTORY));
  OK(open("to-d/", O_RDONLY | O_NOFOLLOW));

  int fd = OK(open("to-f", O_PATH | O_NOFOLLOW));
  SAY(fstat(fd, &st));
  IS(S_ISLNK(st.st_mode));
  char text[8] = "";
  SAY(readlinkat(fd, "", text, sizeof text));
  TEXT(text);
  fd = OK(open("to-f", O_PATH));
  SAY(fstat(fd, &st));
  IS(S_ISREG(st.st_mode));
  SAY(open("dangling", O_PATH));
  return 0;
}
