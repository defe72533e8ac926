/* pipe_basics - pipe(2): order, end of file, broken pipe, and what cannot be done with a pipe. */
#include "posix.h"

#include <sys/ioctl.h>

int main(void) {
  int fd[2];
  char text[32] = "";
  struct stat st;
  SAY(pipe(fd));
  SAY(write(fd[1], "hello", 5));
  SAY(write(fd[1], " world", 6));
  int queued = 0;
  SAY(ioctl(fd[0], FIONREAD, &queued));
  SHOW(queued);
  SAY(read(fd[0], text, 8));
  TEXT(text);
  memset(text, 0, sizeof text);
  SAY(read(fd[0], text, sizeof text));
  TEXT(text);

  SAY(lseek(fd[0], 0, SEEK_SET));
  SAY(pread(fd[0], text, 1, 0));
  SAY(pwrite(fd[1], text, 1, 0));
  SAY(ftruncate(fd[1], 0));
  SAY(read(fd[1], text, 1));
  SAY(write(fd[0], text, 1));
  SAY(fstat(fd[0], &st));
  IS(S_ISFIFO(st.st_mode));
  SHOW(st.st_size);

  SAY(write(fd[1], "last", 4));
  SAY(close(fd[1]));
  memset(text, 0, sizeof text);
  SAY(read(fd[0], text, sizeof text));
  TEXT(text);
  SAY(read(fd[0], text, sizeof text));
  SAY(close(fd[0]));

  signal(SIGPIPE, SIG_IGN);
  MUST(pipe(fd));
  SAY(close(fd[0]));
  SAY(write(fd[1], "x", 1));
  SAY(close(fd[1]));
  SAY(close(fd[1]));
  SAY(pipe2(fd, 0x40000000));
  SAY(pipe2(fd, O_CLOEXEC | O_NONBLOCK));
  IS(fcntl(fd[0], F_GETFD) == FD_CLOEXEC);
  IS(fcntl(fd[1], F_GETFL) == (O_WRONLY | O_NONBLOCK));
  SAY(read(fd[0], text, 1));
  return 0;
}
