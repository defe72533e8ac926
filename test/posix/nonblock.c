/* nonblock - O_NONBLOCK on pipes, FIFOs and sockets: EAGAIN in place of sleep, shared by duplicates, free on
 * files. */
#include "posix.h"

#include <sys/socket.h>

static void turn_on(int fd) { MUST(fcntl(fd, F_SETFL, MUST(fcntl(fd, F_GETFL)) | O_NONBLOCK)); }

int main(void) {
  int fd[2];
  char byte;
  static char block[1 << 20];
  MUST(pipe(fd));
  turn_on(fd[0]);
  SAY(read(fd[0], &byte, 1));
  int copy = MUST(dup(fd[0]));
  SAY(read(copy, &byte, 1));
  SAY(read(fd[0], &byte, 0));
  turn_on(fd[1]);
  ssize_t n = write(fd[1], block, sizeof block);
  IS(n > 0 && n < (ssize_t)sizeof block);
  SAY(write(fd[1], block, PIPE_BUF));
  SAY(read(fd[0], &byte, 1));
  MUST(close(fd[1]));
  while (read(fd[0], block, sizeof block) > 0) {}
  SAY(read(fd[0], &byte, 1));

  MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd));
  SAY(read(fd[0], &byte, 1));
  while (write(fd[1], block, 1000) > 0) {}
  say("full: %s\n", error_name(errno));
  SAY(recv(fd[1], &byte, 1, 0));

  MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, fd));
  SAY(recv(fd[0], &byte, 1, MSG_DONTWAIT));

  put("f", "x");
  int file = MUST(open("f", O_RDONLY | O_NONBLOCK));
  SAY(read(file, &byte, 1));
  SAY(read(file, &byte, 1));
  IS(fcntl(file, F_GETFL) & O_NONBLOCK);
  return 0;
}
