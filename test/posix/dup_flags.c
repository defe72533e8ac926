/* dup_flags - dup(2): descriptors share offset and status flags, not FD_CLOEXEC; lowest number first. */
#include "posix.h"

int main(void) {
  char text[8] = "";
  put("f", "abcdefgh");
  int fd = MUST(open("f", O_RDWR | O_CLOEXEC));
  int other = OK(dup(fd));
  IS(other == fd + 1);
  SAY(fcntl(fd, F_GETFD));
  SAY(fcntl(other, F_GETFD));
  SAY(read(fd, text, 3));
  SAY(lseek(other, 0, SEEK_CUR));
  SAY(lseek(other, 1, SEEK_SET));
  SAY(lseek(fd, 0, SEEK_CUR));
  SAY(fcntl(other, F_SETFL, O_APPEND | O_NONBLOCK));
  IS(fcntl(fd, F_GETFL) & O_APPEND);
  IS(fcntl(fd, F_GETFL) & O_NONBLOCK);

  SAY(dup2(fd, 20));
  SAY(fcntl(20, F_GETFD));
  SAY(dup2(20, 20));
  SAY(dup2(99, 99));
  SAY(dup2(99, 20));
  SAY(dup2(fd, -1));
  SAY(dup2(fd, 1 << 30));
  SAY(dup3(fd, 21, O_CLOEXEC));
  SAY(fcntl(21, F_GETFD));
  SAY(dup3(fd, fd, 0));
  SAY(dup3(fd, 22, O_APPEND));
  SAY(dup(99));
  SAY(fcntl(fd, F_DUPFD, 30));
  SAY(fcntl(fd, F_DUPFD, 30));
  SAY(fcntl(fd, F_DUPFD_CLOEXEC, 40));
  SAY(fcntl(40, F_GETFD));
  SAY(fcntl(fd, F_DUPFD, -1));

  put("g", "other file");
  int g = MUST(open("g", O_RDONLY));
  SAY(dup2(g, 20));
  memset(text, 0, sizeof text);
  SAY(read(20, text, 5));
  TEXT(text);
  SAY(lseek(g, 0, SEEK_CUR));
  int low = MUST(dup(g));
  MUST(close(fd));
  IS(MUST(dup(g)) == fd);
  IS(MUST(dup(g)) > low);
  SAY(close(99));
  SAY(close(-1));
  return 0;
}
