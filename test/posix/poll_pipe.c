/* poll_pipe - poll(2): what each kind of descriptor reports, the wake-up by another process, and timeouts. */
#include "posix.h"

#include <poll.h>

static void ask(const char *who, int fd, short events) {
  struct pollfd p = { fd, events, 0 };
  int n = poll(&p, 1, 0);
  say("%s: %d%s%s%s%s%s\n", who, n, p.revents & POLLIN ? " IN" : "", p.revents & POLLOUT ? " OUT" : "",
      p.revents & POLLHUP ? " HUP" : "", p.revents & POLLERR ? " ERR" : "",
      p.revents & POLLNVAL ? " NVAL" : "");
}

int main(void) {
  int fd[2], other[2];
  MUST(pipe(fd));
  ask("empty, read end", fd[0], POLLIN);
  ask("empty, write end", fd[1], POLLOUT);
  MUST(write(fd[1], "x", 1));
  ask("one byte, read end", fd[0], POLLIN | POLLOUT);
  ask("asking nothing", fd[0], 0);
  char byte;
  MUST(read(fd[0], &byte, 1));
  MUST(pipe2(other, O_NONBLOCK));
  while (write(other[1], "0123456789abcdef", 16) == 16) {}
  ask("full, write end", other[1], POLLOUT);
  close(other[1]);
  ask("data left, no writer", other[0], POLLIN);
  char block[4096];
  while (read(other[0], block, sizeof block) > 0) {}
  ask("no writer", other[0], POLLIN);
  MUST(pipe(other));
  close(other[0]);
  ask("no reader", other[1], POLLOUT);
  ask("closed", other[0], POLLIN);
  ask("negative", -1, POLLIN);
  put("f", "");
  int file = MUST(open("f", O_RDWR));
  ask("file", file, POLLIN | POLLOUT);
  int null = MUST(open("/dev/null", O_RDWR));
  ask("/dev/null", null, POLLIN | POLLOUT);

  struct pollfd many[3] = { { fd[0], POLLIN, 0 }, { -1, POLLIN, 0 }, { file, POLLIN, 0 } };
  SAY(poll(many, 3, 1000));
  SHOW(many[0].revents);
  SHOW(many[1].revents);
  SAY(poll(NULL, 0, 1));
  many[0].revents = 77;
  SAY(poll(many, 1, 20));
  SHOW(many[0].revents);

  pid_t pid = MUST(fork());
  if (pid == 0) {
    sleep_ms(30);
    MUST(write(fd[1], "y", 1));
    _exit(0);
  }
  SAY(poll(many, 1, -1));
  IS(many[0].revents == POLLIN);
  reap("writer", pid);
  MUST(read(fd[0], &byte, 1));

  pid = MUST(fork());
  if (pid == 0) {
    close(fd[0]);
    sleep_ms(30);
    _exit(0);
  }
  close(fd[1]);
  SAY(poll(many, 1, 10000));
  IS(many[0].revents == POLLHUP);
  reap("writer", pid);
  return 0;
}
