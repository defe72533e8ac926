/* fcntl_getfl - fcntl(2): which flags a description remembers, and which F_SETFL may change. */
#include "posix.h"

static void flags(const char *what, int fd) {
  int fl = MUST(fcntl(fd, F_GETFL));
  int access = fl & 3;
  say("%s: %s%s%s%s%s%s%s\n", what,
      access == O_RDONLY   ? "RDONLY"
      : access == O_WRONLY ? "WRONLY"
                           : "RDWR",
      fl & O_APPEND ? " APPEND" : "", fl & O_NONBLOCK ? " NONBLOCK" : "", fl & O_CREAT ? " CREAT" : "",
      fl & O_EXCL ? " EXCL" : "", fl & O_TRUNC ? " TRUNC" : "", fl & O_DIRECTORY ? " DIRECTORY" : "");
}

int main(void) {
  int fd = MUST(open("f", O_RDWR | O_CREAT | O_EXCL | O_TRUNC | O_APPEND | O_CLOEXEC, 0644));
  flags("all at once", fd);
  SAY(fcntl(fd, F_GETFD));
  SAY(fcntl(fd, F_SETFL, O_NONBLOCK | O_RDONLY | O_TRUNC));
  flags("changed", fd);
  SAY(write(fd, "x", 1));
  flags("read only", MUST(open("f", O_RDONLY)));
  flags("write only", MUST(open("f", O_WRONLY)));
  flags("directory", MUST(open(".", O_RDONLY | O_DIRECTORY)));
  SAY(fcntl(fd, F_SETFD, FD_CLOEXEC | 2));
  SAY(fcntl(fd, F_GETFD));
  SAY(fcntl(fd, F_SETFD, 0));
  SAY(fcntl(fd, F_GETFD));
  SAY(fcntl(99, F_GETFL));
  SAY(fcntl(99, F_GETFD));
  SAY(fcntl(fd, 9999));

  int path = MUST(open("f", O_PATH));
  char byte;
  SAY(read(path, &byte, 1));
  SAY(write(path, &byte, 1));
  struct stat st;
  SAY(fstat(path, &st));
  SHOW(fcntl(path, F_GETFL) & 3);
  return 0;
}
