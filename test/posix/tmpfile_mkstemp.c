/* tmpfile_mkstemp - mkstemp(3), mkdtemp(3): names that are new, files that are private. */
#include "posix.h"

int main(void) {
  char names[50][16], dir[] = "dirXXXXXX", bad[] = "noXXXX", suffix[] = "aXXXXXX.txt";
  struct stat st;
  int made = 0, same = 0;
  for (int i = 0; i < 50; i++) {
    strcpy(names[i], "fXXXXXX");
    int fd = mkstemp(names[i]);
    made += fd >= 0;
    close(fd);
    for (int k = 0; k < i; k++) same += strcmp(names[i], names[k]) == 0;
  }
  SHOW(made);
  SHOW(same);
  MUST(stat(names[0], &st));
  say("%04o, %d bytes\n", st.st_mode & 07777, (int)st.st_size);
  IS(strlen(names[0]) == 7 && strcmp(names[0], "fXXXXXX") != 0);
  IS(mkdtemp(dir) == dir);
  MUST(stat(dir, &st));
  say("%04o\n", st.st_mode & 07777);
  SAY(mkstemp(bad));
  OK(mkstemps(suffix, 4));
  IS(strcmp(suffix + 7, ".txt") == 0);
  char flags[] = "gXXXXXX";
  int fd = OK(mkostemp(flags, O_APPEND | O_CLOEXEC));
  IS(fcntl(fd, F_GETFL) & O_APPEND);
  SAY(fcntl(fd, F_GETFD));
  char gone[] = "none/xXXXXXX";
  SAY(mkstemp(gone));
  return 0;
}
